//! How a rune presents itself: everything about its root element that is worked out before its children are touched.
//!
//! Each facet adds to one [`Look`], in a fixed order, since the order of classes, attributes and styles is part of the output.

use serde_json::Value;

use super::chrome::Chrome;
use super::subject::Subject;
use super::{Around, backdrop, chrome, cover, modifiers, reading, surface, tint};
use crate::tree::{Attributes, Node};

/// What the facets of a rune add up to.
#[derive(Default)]
pub(super) struct Look {
    /// Values by name, such as `media-position`: each becomes a data attribute, and blocks and styles read them.
    pub axes: Attributes,
    /// Modifier classes.
    pub classes: Vec<String>,
    /// Data attributes that are not values of an axis.
    pub data: Attributes,
    /// Inline styles.
    pub styles: Vec<(String, String)>,
    /// Fields whose `meta` elements have done their work.
    pub consumed: Vec<String>,
    /// How tightly the rune is set.
    pub density: String,
    /// Register of the body text.
    pub reading: String,
    /// Does the body begin with a large letter?
    pub has_dropcap: bool,
    /// Do its children appear one after another?
    pub is_staggered: bool,
    /// Does its media fill it, with the text on top?
    pub is_cover: bool,
    /// Colours of the text on top of a cover, unless others are fixed.
    pub content_scheme: Option<Value>,
    /// Colours that a tint or a backdrop has fixed.
    pub color_scheme: Option<String>,
    /// What goes around or behind the media.
    pub media_chrome: Vec<Chrome>,
    /// What lies behind the content.
    pub backdrop: Option<Node>,
}

impl Look {
    /// Works out the look of a rune.
    pub fn of(subject: &Subject<'_>, around: Option<Around<'_>>) -> Look {
        let mut look = Look::default();
        modifiers::apply(subject, around, &mut look);
        tint::apply(subject, &mut look);
        surface::apply(subject, around, &mut look);
        reading::apply(subject, &mut look);
        surface::apply_depth(subject, &mut look);
        cover::apply(subject, &mut look);
        chrome::apply_frame(subject, &mut look);
        chrome::apply_substrate(subject, &mut look);
        backdrop::apply(subject, &mut look);
        look
    }

    /// The value of an axis as text.
    pub fn axis(&self, name: &str) -> Option<&str> {
        self.axes.get(name).and_then(Value::as_str)
    }

    /// Adds a class of the block: `rf-hint--wide`.
    pub fn class(&mut self, subject: &Subject<'_>, suffix: &str) {
        self.classes.push(format!("{}--{suffix}", subject.block));
    }

    /// Sets a data attribute.
    pub fn set(&mut self, attribute: &str, value: impl Into<Value>) {
        self.data.insert(attribute.to_owned(), value.into());
    }

    /// Adds an inline style.
    pub fn style(&mut self, property: &str, value: impl Into<String>) {
        self.styles.push((property.to_owned(), value.into()));
    }

    /// Marks fields as done with.
    pub fn consume(&mut self, fields: &[&str]) {
        self.consumed.extend(fields.iter().map(|field| (*field).to_owned()));
    }

    /// All data attributes in order: axes first.
    pub fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        for (name, value) in &self.axes {
            attributes.insert(data_attribute(name), value.clone());
        }
        attributes.extend(self.data.iter().map(|(name, value)| (name.clone(), value.clone())));
        attributes
    }
}

/// `hintType` → `data-hint-type`.
fn data_attribute(name: &str) -> String {
    let mut attribute = String::with_capacity(name.len() + 8);
    attribute.push_str("data-");
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            attribute.push('-');
        }
        attribute.extend(letter.to_lowercase());
    }
    attribute
}
