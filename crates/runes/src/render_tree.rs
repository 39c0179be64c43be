//! The tree that all stages of rendering share: `expand` builds it, `identity` changes it, `html` prints it. Attributes
//! and children keep their order.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::{Map, Value};

/// Attributes in print order. An attribute that is `null` or `false` is in the map but not printed.
pub type Attributes = IndexMap<String, Value>;

/// Attribute that shows the fields of an element: a JSON object as text. Written only where no engine configuration
/// consumes the fields.
pub const RUNE_FIELDS_ATTRIBUTE: &str = "data-rune-fields";

/// A node of the tree.
#[derive(Debug, Clone, PartialEq)]
pub enum RenderNode {
    /// An element. The root of a rune has a `data-rune` attribute.
    Element(Box<Element>),
    /// Unescaped text.
    Text(String),
    /// A number as text, printed as JavaScript prints it.
    Number(f64),
    /// Prints as nothing, but keeps its place among its siblings.
    Null,
}

/// An element: name, attributes, children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Element {
    /// Element name; without one, only the children are printed.
    pub name: Option<String>,
    /// Its attributes.
    pub attributes: Attributes,
    /// The values that a rune passes to the engine, on the root element of a rune.
    pub fields: Map<String, Value>,
    /// Its children.
    pub children: Vec<RenderNode>,
}

impl Element {
    /// An element without attributes and children.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with_attr(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes.insert(key.into(), value.into());
        self
    }

    /// Appends children.
    #[must_use]
    pub fn with_children(mut self, children: impl IntoIterator<Item = RenderNode>) -> Self {
        self.children.extend(children);
        self
    }

    /// An attribute whose value is text.
    pub fn attr_str(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).and_then(Value::as_str)
    }

    /// The attributes, with the fields as [`RUNE_FIELDS_ATTRIBUTE`] after `class`. Borrowed if there are no fields.
    pub fn attributes_with_fields(&self) -> Cow<'_, Attributes> {
        if self.fields.is_empty() {
            return Cow::Borrowed(&self.attributes);
        }
        let mut attributes = self.attributes.clone();
        let index = attributes.get_index_of("class").map_or(attributes.len(), |class| class + 1);
        let text = Value::Object(self.fields.clone()).to_string();
        attributes.shift_insert(index, RUNE_FIELDS_ATTRIBUTE.to_owned(), text.into());
        Cow::Owned(attributes)
    }

    /// Whether the element has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

impl RenderNode {
    /// The element, if the node is one.
    pub fn as_element(&self) -> Option<&Element> {
        match self {
            Self::Element(tag) => Some(tag),
            _ => None,
        }
    }

    /// Sets an attribute if the node is an element. An existing attribute keeps its place.
    pub fn set_attr(&mut self, key: &str, value: impl Into<Value>) {
        if let Some(tag) = self.as_element_mut() {
            tag.attributes.insert(key.to_owned(), value.into());
        }
    }

    /// [`RenderNode::set_attr`] as a builder.
    #[must_use]
    pub fn with_attr(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.set_attr(key, value);
        self
    }

    /// The element for changes, if the node is one.
    pub fn as_element_mut(&mut self) -> Option<&mut Element> {
        match self {
            Self::Element(tag) => Some(tag),
            _ => None,
        }
    }
}

impl From<Element> for RenderNode {
    fn from(tag: Element) -> Self {
        Self::Element(Box::new(tag))
    }
}

impl From<&str> for RenderNode {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for RenderNode {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
