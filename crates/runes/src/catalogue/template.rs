//! The template of a rune: which element it becomes, which values it hands to the engine, and where its content stands.
//!
//! ```toml
//! [runes.berth.emit]
//! element = "section"
//! values = { size = "$length", kind = "$type|dry" }
//! children = [
//!     { element = "header", holds = ["title", "intro"], header = true },
//!     { element = "p", name = "length", text = "{length} m" },
//!     { element = "div", name = "body", holds = "body", always = true },
//! ]
//! ```
//!
//! What a text says: `$name` is the argument as it is, or its fallback; `$name|word` is the word where the argument does not
//! count as given (missing, empty, zero, false); `$name ?? word` is the word only where nothing is written; `$name?` is nothing at
//! all where the argument does not count as given. `{name}` within a text is the argument as text. Everything else is itself.
//! Fields of the content model are put somewhere by `holds`.

use serde::{Deserialize, Deserializer};

use super::engine_config::OrderedMap;

/// The template of a rune.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuneTemplate {
    /// Element of the root.
    pub element: String,
    /// What the rune is to the one around it.
    pub property: Option<String>,
    /// Its schema.org type.
    pub type_of: Option<String>,
    /// Whether the root carries the author's class.
    #[serde(default)]
    pub class: bool,
    /// Whether the root is a plain element that the engine leaves alone.
    #[serde(default)]
    pub plain: bool,
    /// Attributes of the root, set last.
    #[serde(default)]
    pub attributes: OrderedMap<String>,
    /// Values for the engine. What has no value is not handed over.
    #[serde(default)]
    pub values: OrderedMap<String>,
    /// What stands in the root, in order.
    #[serde(default)]
    pub children: Vec<TemplatePart>,
}

/// One element of a template.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TemplatePart {
    /// Its element; without one its content stands there bare.
    pub element: Option<String>,
    /// Name by which the engine finds it.
    pub name: Option<String>,
    /// Field of the rune that it is.
    pub field: Option<String>,
    /// Structured data that it is.
    pub property: Option<String>,
    /// Attributes: `$argument`, or the text itself.
    #[serde(default)]
    pub attributes: OrderedMap<String>,
    /// Fields of the content model that are put here: one name or several.
    #[serde(default, deserialize_with = "one_or_many")]
    pub holds: Vec<String>,
    /// Text that is put here: `$argument`, or the text itself.
    pub text: Option<String>,
    /// The field is the header of a section: its eyebrow, headline and blurb are named.
    #[serde(default)]
    pub header: bool,
    /// Pictures that stand alone are freed of their paragraph.
    #[serde(default)]
    pub unwrap: bool,
    /// Attribute without which the part is left out.
    pub when: Option<String>,
    /// Is there even where it holds nothing. Parts with a text always are; a `meta` is where its content is not empty.
    #[serde(default)]
    pub always: bool,
    /// Parts within it.
    #[serde(default)]
    pub children: Vec<TemplatePart>,
}

impl RuneTemplate {
    /// What is wrong with the template: a field or an argument that the rune does not have.
    pub(super) fn validation_error(
        &self,
        fields: &[&str],
        is_known: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let unknown = unknown_argument(self.values.values().chain(self.attributes.values()), is_known);
        unknown.or_else(|| self.children.iter().find_map(|part| part.validation_error(fields, is_known)))
    }
}

impl TemplatePart {
    fn validation_error(&self, fields: &[&str], is_known: &dyn Fn(&str) -> bool) -> Option<String> {
        if let Some(field) = self.holds.iter().find(|field| !fields.contains(&field.as_str())) {
            return Some(format!("`{field}` is not a field of the content model"));
        }
        if let Some(name) = self.when.as_deref().filter(|name| !is_known(name)) {
            return Some(format!("`{name}` is not one of the rune's attributes"));
        }
        let unknown = unknown_argument(self.attributes.values().chain(&self.text), is_known);
        unknown.or_else(|| self.children.iter().find_map(|part| part.validation_error(fields, is_known)))
    }
}

fn unknown_argument<'a>(
    mut texts: impl Iterator<Item = &'a String>,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let name = texts.find_map(|text| argument_names(text).into_iter().find(|name| !is_known(name)))?;
    Some(format!("`${name}` is not one of the rune's attributes"))
}

/// The arguments that a text asks for.
fn argument_names(text: &str) -> Vec<&str> {
    if let Some(name) = text.strip_prefix('$') {
        return vec![name.split(['|', '?']).next().unwrap_or(name).trim_end()];
    }
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(name) => vec![name],
        OneOrMany::Many(names) => names,
    })
}
