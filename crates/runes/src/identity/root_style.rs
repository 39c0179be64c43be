//! The root element of a rune: everything that is computed before its children are transformed.
//!
//! Each facet adds to one [`RootStyle`], in a fixed order: the output depends on the order of classes, attributes and
//! styles.

use serde_json::Value;

use super::rune_input::RuneInput;
use super::surface_style::SurfaceStyle;
use super::{ParentRune, backdrop, cover, modifiers, reading_mode, surface, surface_style, tint};
use crate::render_tree::{Attributes, RenderNode};

/// The classes, attributes and styles of a rune's root.
#[derive(Default)]
pub(super) struct RootStyle {
    /// Values by name, such as `media-position`. Each becomes a data attribute; blocks and styles read them too.
    pub modifier_values: Attributes,
    /// Modifier classes.
    pub classes: Vec<String>,
    /// Data attributes that are not modifier values.
    pub data: Attributes,
    /// Inline styles.
    pub styles: Vec<(String, String)>,
    /// Fields whose `meta` elements are consumed.
    pub consumed: Vec<String>,
    /// Density of the rune.
    pub density: String,
    /// Reading mode of the body.
    pub reading_mode: String,
    /// Whether the body starts with a drop cap.
    pub has_dropcap: bool,
    /// Whether its children are staggered.
    pub is_staggered: bool,
    /// Whether its media fills it, with the text on top.
    pub is_cover: bool,
    /// Colour scheme of the text on a cover, unless another is set.
    pub content_color_scheme: Option<Value>,
    /// Colour scheme that a tint or a backdrop sets.
    pub color_scheme: Option<String>,
    /// Attributes and styles for the media element.
    pub media_styles: Vec<SurfaceStyle>,
    /// The layer behind the content.
    pub backdrop: Option<RenderNode>,
}

impl RootStyle {
    /// Computes the root style of a rune.
    pub fn compute(input: &RuneInput<'_>, parent: Option<ParentRune<'_>>) -> RootStyle {
        let mut root_style = RootStyle::default();
        modifiers::apply(input, parent, &mut root_style);
        tint::apply(input, &mut root_style);
        surface::apply(input, parent, &mut root_style);
        reading_mode::apply(input, &mut root_style);
        surface::apply_elevation_and_motion(input, &mut root_style);
        root_style.is_cover = root_style.modifier_value("media-position") == Some("cover");
        backdrop::apply(input, &mut root_style);
        cover::apply(input, &mut root_style);
        surface_style::apply_frame(input, &mut root_style);
        surface_style::apply_substrate(input, &mut root_style);
        root_style
    }

    /// A modifier value as text.
    pub fn modifier_value(&self, name: &str) -> Option<&str> {
        self.modifier_values.get(name).and_then(Value::as_str)
    }

    /// Adds a class of the block: `rf-hint--wide`.
    pub fn add_class(&mut self, input: &RuneInput<'_>, suffix: &str) {
        self.classes.push(format!("{}--{suffix}", input.block));
    }

    /// Sets a data attribute.
    pub fn set_data_attr(&mut self, attribute: &str, value: impl Into<Value>) {
        self.data.insert(attribute.to_owned(), value.into());
    }

    /// Adds an inline style.
    pub fn add_style(&mut self, property: &str, value: impl Into<String>) {
        self.styles.push((property.to_owned(), value.into()));
    }

    /// Marks fields as consumed.
    pub fn mark_consumed(&mut self, fields: &[&str]) {
        self.consumed.extend(fields.iter().map(|field| (*field).to_owned()));
    }

    /// All data attributes in order: modifier values first.
    pub fn data_attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        for (name, value) in &self.modifier_values {
            attributes.insert(data_attribute_name(name), value.clone());
        }
        attributes.extend(self.data.iter().map(|(name, value)| (name.clone(), value.clone())));
        attributes
    }
}

/// `hintType` → `data-hint-type`.
fn data_attribute_name(name: &str) -> String {
    let mut attribute = String::with_capacity(name.len() + 8);
    attribute.push_str("data-");
    for ch in name.chars() {
        if ch.is_ascii_uppercase() {
            attribute.push('-');
        }
        attribute.extend(ch.to_lowercase());
    }
    attribute
}
