//! What the engine reads of one rune: its element, its configuration and its values.
//!
//! Values come from [`Element::fields`], and from `meta` elements among the children, which carry the universal
//! attributes.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::catalogue::{EngineConfig, Modifier, ModifierSource, kebab_case};
use crate::js_value::{is_truthy, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// A rune before the transform.
pub(super) struct RuneInput<'a> {
    /// Its root element.
    pub tag: &'a Element,
    /// Its configuration, merged with the selected variants.
    pub config: &'a EngineConfig,
    /// Prefix of its classes: `rf-hint`.
    pub block: &'a str,
    /// The values of its fields.
    pub fields: &'a Map<String, Value>,
}

impl RuneInput<'_> {
    /// The content of the first `meta` child with this field.
    pub fn meta(&self, field: &str) -> Option<&Value> {
        meta(self.tag, field)
    }

    /// [`RuneInput::meta`] as text, if it is not empty.
    pub fn meta_text(&self, field: &str) -> Option<String> {
        self.meta(field).filter(|value| is_truthy(value)).map(to_js_string)
    }

    /// An attribute of the root, if it has a value.
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        self.tag.attributes.get(name).filter(|value| !value.is_null())
    }

    /// The value of a modifier, or its default.
    pub fn modifier(&self, name: &str, modifier: &Modifier) -> Option<Value> {
        modifier_value(self.tag, self.fields, name, modifier)
    }
}

/// The content of the first `meta` child with a field.
pub(super) fn meta<'t>(tag: &'t Element, field: &str) -> Option<&'t Value> {
    let field = to_kebab_case(field);
    let mut metas = tag.children.iter().filter_map(RenderNode::as_element).filter(|child| child.is("meta"));
    let meta = metas.find(|child| child.attr_str("data-field") == Some(&field))?;
    meta.attributes.get("content").filter(|value| !value.is_null())
}

/// The value of a modifier, or its default.
pub(super) fn modifier_value(
    tag: &Element,
    fields: &Map<String, Value>,
    name: &str,
    modifier: &Modifier,
) -> Option<Value> {
    let value = match modifier.source {
        ModifierSource::Attribute => tag.attributes.get(name).filter(|value| !value.is_null()),
        ModifierSource::Meta => {
            let scalar = |value: &&Value| !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
            fields.get(name).filter(scalar).or_else(|| meta(tag, name))
        }
    };
    value.cloned().or_else(|| modifier.default.clone().map(Value::String))
}

/// Most names are in kebab case already, so this rarely allocates.
fn to_kebab_case(name: &str) -> Cow<'_, str> {
    if name.chars().any(|letter| letter.is_ascii_uppercase()) {
        return Cow::Owned(kebab_case(name));
    }
    Cow::Borrowed(name)
}
