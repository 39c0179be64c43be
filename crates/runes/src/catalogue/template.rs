//! The template of a rune: its element, the values for the engine, and where its content is placed.
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
//! Values in a template: `$name` is the argument, or its fallback. `$name|word` is `word` if the argument is falsy
//! (missing, empty, zero, false). `$name ?? word` is `word` only if the argument is missing. `$name?` leaves the value
//! out if the argument is falsy. `{name}` inside text inserts the argument as text. Anything else is literal text.
//! `holds` places fields of the content model.

use serde::{Deserialize, Deserializer};

use indexmap::IndexMap;

/// The template of a rune.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuneTemplate {
    /// Element name of the root.
    pub element: String,
    /// The rune's field in its parent (`data-field`).
    pub property: Option<String>,
    /// Its schema.org type.
    pub type_of: Option<String>,
    /// Whether the root gets the author's class.
    #[serde(default)]
    pub class: bool,
    /// Whether the root is a plain element that the engine does not transform.
    #[serde(default)]
    pub plain: bool,
    /// Attributes of the root, set after all others.
    #[serde(default)]
    pub attributes: IndexMap<String, String>,
    /// Values for the engine. A value that resolves to nothing is left out.
    #[serde(default)]
    pub values: IndexMap<String, String>,
    /// Children of the root, in order.
    #[serde(default)]
    pub children: Vec<TemplatePart>,
}

/// One element of a template.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TemplatePart {
    /// Its element; without one, the content is inserted without a wrapper.
    pub element: Option<String>,
    /// Its `data-name`, by which the engine finds it.
    pub name: Option<String>,
    /// Its `data-field`.
    pub field: Option<String>,
    /// Its RDFa `property`.
    pub property: Option<String>,
    /// Attributes: `$argument`, or literal text.
    #[serde(default)]
    pub attributes: IndexMap<String, String>,
    /// Fields of the content model that are placed here: one name or several.
    #[serde(default, deserialize_with = "one_or_many")]
    pub holds: Vec<String>,
    /// Text of the element: `$argument`, or literal text.
    pub text: Option<String>,
    /// The field is a section header: its eyebrow, headline and blurb get names.
    #[serde(default)]
    pub header: bool,
    /// Images that are alone in a paragraph are unwrapped.
    #[serde(default)]
    pub unwrap: bool,
    /// The part is left out if this argument is falsy.
    pub when: Option<String>,
    /// Keep the part if it is empty. Parts with text are always kept; a `meta` is kept if its content is not empty.
    #[serde(default)]
    pub always: bool,
    /// Children of the part.
    #[serde(default)]
    pub children: Vec<TemplatePart>,
}

impl RuneTemplate {
    /// Checks the template: every field and argument must exist.
    pub(super) fn validate(&self, fields: &[&str], is_known: &dyn Fn(&str) -> bool) -> Result<(), String> {
        check_arguments(self.values.values().chain(self.attributes.values()), is_known)?;
        self.children.iter().try_for_each(|part| part.validate(fields, is_known))
    }
}

impl TemplatePart {
    fn validate(&self, fields: &[&str], is_known: &dyn Fn(&str) -> bool) -> Result<(), String> {
        if let Some(field) = self.holds.iter().find(|field| !fields.contains(&field.as_str())) {
            return Err(format!("`{field}` is not a field of the content model"));
        }
        if let Some(name) = self.when.as_deref().filter(|name| !is_known(name)) {
            return Err(format!("`{name}` is not one of the rune's attributes"));
        }
        check_arguments(self.attributes.values().chain(&self.text), is_known)?;
        self.children.iter().try_for_each(|part| part.validate(fields, is_known))
    }
}

fn check_arguments<'a>(
    mut texts: impl Iterator<Item = &'a String>,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    match texts.find_map(|text| argument_names(text).into_iter().find(|name| !is_known(name))) {
        Some(name) => Err(format!("`${name}` is not one of the rune's attributes")),
        None => Ok(()),
    }
}

/// The arguments that a text refers to.
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
