//! The tree that all stages of rendering share: what a schema makes of a document, what the identity transform changes,
//! what is printed as HTML. Plain values, ordered as they were written.

use indexmap::IndexMap;
use serde_json::Value;

/// Attributes of a tag in the order in which they are printed. An attribute that has no value is not in the map; one that is
/// `null` or `false` is, and is not printed.
pub type Attributes = IndexMap<String, Value>;

/// One child of a tag.
#[derive(Debug, Clone, PartialEq)]
pub enum RenderNode {
    /// An element, or a rune that is one after the identity transform.
    Element(Box<Element>),
    /// Text as it is read, not escaped.
    Text(String),
    /// A number that stands as text; printed as JavaScript prints it.
    Number(f64),
    /// Nothing: keeps its place among the children and prints as nothing.
    Null,
}

/// An element: a name, attributes, children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Element {
    /// Name of the element; without one, only the children are printed.
    pub name: Option<String>,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its children.
    pub children: Vec<RenderNode>,
}

impl Element {
    /// An element without attributes and children.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// The same with one more attribute.
    #[must_use]
    pub fn with_attr(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes.insert(key.into(), value.into());
        self
    }

    /// The same with these children after its own.
    #[must_use]
    pub fn with_children(mut self, children: impl IntoIterator<Item = RenderNode>) -> Self {
        self.children.extend(children);
        self
    }

    /// An attribute that is a text.
    pub fn attr_str(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).and_then(Value::as_str)
    }

    /// Whether the element has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

impl RenderNode {
    /// The element, if it is one.
    pub fn as_element(&self) -> Option<&Element> {
        match self {
            Self::Element(tag) => Some(tag),
            _ => None,
        }
    }

    /// Sets an attribute, if it is an element. One that is there keeps its place.
    pub fn set_attr(&mut self, key: &str, value: impl Into<Value>) {
        if let Some(tag) = self.as_element_mut() {
            tag.attributes.insert(key.to_owned(), value.into());
        }
    }

    /// The same with an attribute set, if it is an element.
    #[must_use]
    pub fn with_attr(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.set_attr(key, value);
        self
    }

    /// The element, to be changed, if it is one.
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
