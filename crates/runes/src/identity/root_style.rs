//! How a rune presents itself: everything about its root element that is worked out before its children are touched.
//!
//! Each facet adds to one [`RootStyle`], in a fixed order, since the order of classes, attributes and styles is part of the output.

use serde_json::Value;

use super::rune_input::RuneInput;
use super::surface_style::SurfaceStyle;
use super::{ParentRune, backdrop, cover, modifiers, reading_mode, surface, surface_style, tint};
use crate::render_tree::{Attributes, RenderNode};

/// What the facets of a rune add up to.
#[derive(Default)]
pub(super) struct RootStyle {
    /// Values by name, such as `media-position`: each becomes a data attribute, and blocks and styles read them.
    pub modifier_values: Attributes,
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
    pub reading_mode: String,
    /// Does the body begin with a large letter?
    pub has_dropcap: bool,
    /// Do its children appear one after another?
    pub is_staggered: bool,
    /// Does its media fill it, with the text on top?
    pub is_cover: bool,
    /// Colours of the text on top of a cover, unless others are fixed.
    pub content_color_scheme: Option<Value>,
    /// Colours that a tint or a backdrop has fixed.
    pub color_scheme: Option<String>,
    /// What goes around or behind the media.
    pub media_styles: Vec<SurfaceStyle>,
    /// What lies behind the content.
    pub backdrop: Option<RenderNode>,
}

impl RootStyle {
    /// Works out the look of a rune.
    pub fn compute(input: &RuneInput<'_>, parent: Option<ParentRune<'_>>) -> RootStyle {
        let mut root_style = RootStyle::default();
        modifiers::apply(input, parent, &mut root_style);
        tint::apply(input, &mut root_style);
        surface::apply(input, parent, &mut root_style);
        reading_mode::apply(input, &mut root_style);
        surface::apply_elevation_and_motion(input, &mut root_style);
        cover::apply(input, &mut root_style);
        surface_style::apply_frame(input, &mut root_style);
        surface_style::apply_substrate(input, &mut root_style);
        backdrop::apply(input, &mut root_style);
        root_style
    }

    /// The value of an axis as text.
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

    /// Marks fields as done with.
    pub fn mark_consumed(&mut self, fields: &[&str]) {
        self.consumed.extend(fields.iter().map(|field| (*field).to_owned()));
    }

    /// All data attributes in order: axes first.
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
