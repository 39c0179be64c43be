//! The template of a rune: which element it becomes, which values it hands to the engine, and where its content stands.
//!
//! ```toml
//! [runes.berth.emit]
//! element = "section"
//! values = { size = "$length" }
//! children = [
//!     { element = "header", name = "preamble", holds = "title" },
//!     { element = "div", name = "body", holds = "body", always = true },
//! ]
//! ```
//!
//! `$name` stands for an argument, `$name ?? text` for an argument or, where none is written, this text; a field of the content
//! model is put somewhere by `holds`.

use serde::Deserialize;

use super::engine::Ordered;

/// The template of a rune.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Emit {
    /// Element of the root.
    pub element: String,
    /// What the rune is to the one around it.
    pub property: Option<String>,
    /// Its schema.org type.
    pub type_of: Option<String>,
    /// Whether the root carries the author's class.
    #[serde(default)]
    pub class: bool,
    /// Values for the engine: `$argument`, or the text itself. An argument that has no value is not handed over.
    #[serde(default)]
    pub values: Ordered<String>,
    /// What stands in the root, in order.
    #[serde(default)]
    pub children: Vec<EmitPart>,
}

/// One element of a template.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EmitPart {
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
    pub attributes: Ordered<String>,
    /// Field of the content model that is put here.
    pub holds: Option<String>,
    /// Text that is put here: `$argument`, or the text itself.
    pub text: Option<String>,
    /// The field is the header of a section: its eyebrow, headline and blurb are named.
    #[serde(default)]
    pub header: bool,
    /// Pictures that stand alone are freed of their paragraph.
    #[serde(default)]
    pub unwrap: bool,
    /// Is there even where it holds nothing.
    #[serde(default)]
    pub always: bool,
    /// Parts within it.
    #[serde(default)]
    pub children: Vec<EmitPart>,
}

impl Emit {
    /// What is wrong with the template: a field or an argument that the rune does not have.
    pub(super) fn mistake(&self, fields: &[&str], known: &dyn Fn(&str) -> bool) -> Option<String> {
        let unknown = unknown_argument(self.values.values(), known);
        unknown.or_else(|| self.children.iter().find_map(|part| part.mistake(fields, known)))
    }
}

impl EmitPart {
    fn mistake(&self, fields: &[&str], known: &dyn Fn(&str) -> bool) -> Option<String> {
        if let Some(field) = self.holds.as_deref().filter(|field| !fields.contains(field)) {
            return Some(format!("`{field}` is not a field of the content model"));
        }
        let unknown = unknown_argument(self.attributes.values().chain(&self.text), known);
        unknown.or_else(|| self.children.iter().find_map(|part| part.mistake(fields, known)))
    }
}

fn unknown_argument<'a>(
    mut texts: impl Iterator<Item = &'a String>,
    known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let name = texts.find_map(|text| argument(text).map(|(name, _)| name).filter(|name| !known(name)))?;
    Some(format!("`${name}` is not one of the rune's attributes"))
}

/// The argument that a text of a template stands for, and the text that stands where none is written.
pub(crate) fn argument(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.strip_prefix('$')?;
    Some(match text.split_once(" ?? ") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (text, None),
    })
}
