//! The root element of a rune, in the form that the engine expects.
//!
//! A rune passes data to the engine in three ways:
//! - **values** ([`RootBuilder::value`]): scalars that become modifiers, styles and labels, in [`Element::fields`];
//! - **named parts** ([`set_name`]): elements that the engine finds by `data-name`;
//! - **structured data** ([`set_rdfa_property`], [`rdfa_meta_element`]): RDFa `property` attributes for search engines.
//!
//! ```
//! use quad_runes::expand::root_builder::{RootBuilder, set_name};
//! use quad_runes::render_tree::{Element, RenderNode};
//!
//! let mut body: RenderNode = Element::new("div").with_children([RenderNode::from("Mind the gap")]).into();
//! set_name(&mut body, "body");
//! let root = RootBuilder::new("hint", "section").data_field("contentSection").value("hintType", "warning");
//! let root = root.child(body).build();
//! let root = root.as_element().unwrap();
//! assert_eq!(root.attr_str("data-field"), Some("content-section"));
//! assert_eq!(root.fields["hintType"], "warning");
//! ```

use serde_json::{Map, Value};

use crate::catalogue::kebab_case;
use crate::render_tree::{Element, RenderNode};

/// Builds the root element of a rune.
#[derive(Clone, Debug)]
pub struct RootBuilder {
    rune: String,
    element: String,
    id: Option<Value>,
    data_field: Option<String>,
    type_of: Option<String>,
    class: Option<Value>,
    values: Map<String, Value>,
    children: Vec<RenderNode>,
}

impl RootBuilder {
    /// A rune by the kebab-case name of its type, with its element.
    pub fn new(rune: &str, element: &str) -> RootBuilder {
        RootBuilder {
            rune: rune.to_owned(),
            element: element.to_owned(),
            id: None,
            data_field: None,
            type_of: None,
            class: None,
            values: Map::new(),
            children: Vec::new(),
        }
    }

    /// The `id` of the element, if any.
    #[must_use]
    pub fn id(mut self, id: Option<Value>) -> Self {
        self.id = id;
        self
    }

    /// The rune's field in its parent (`data-field`, in kebab case).
    #[must_use]
    pub fn data_field(mut self, property: &str) -> Self {
        self.data_field = Some(kebab_case(property));
        self
    }

    /// The schema.org type.
    #[must_use]
    pub fn type_of(mut self, type_of: impl Into<String>) -> Self {
        self.type_of = Some(type_of.into());
        self
    }

    /// The author's class, if any.
    #[must_use]
    pub fn class(mut self, class: Option<Value>) -> Self {
        self.class = class;
        self
    }

    /// Passes a value to the engine.
    #[must_use]
    pub fn value(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// Passes a value to the engine, if there is one.
    #[must_use]
    pub fn value_if(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.values.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Adds a child.
    #[must_use]
    pub fn child(mut self, child: impl Into<RenderNode>) -> Self {
        self.children.push(child.into());
        self
    }

    /// Adds a child, if there is one.
    #[must_use]
    pub fn child_if(mut self, child: Option<impl Into<RenderNode>>) -> Self {
        self.children.extend(child.map(Into::into));
        self
    }

    /// Adds children.
    #[must_use]
    pub fn children(mut self, children: impl IntoIterator<Item = RenderNode>) -> Self {
        self.children.extend(children);
        self
    }

    /// Builds the element. The output depends on the order of its attributes. An attribute without a value keeps its
    /// place, because the enclosing rune may set it.
    pub fn build(self) -> RenderNode {
        let mut tag = Element::new(self.element).with_children(self.children);
        let attributes = &mut tag.attributes;
        attributes.insert("id".to_owned(), self.id.unwrap_or_default());
        attributes.insert("data-field".to_owned(), self.data_field.map_or(Value::Null, Value::from));
        attributes.insert("data-rune".to_owned(), self.rune.into());
        attributes.insert("typeof".to_owned(), self.type_of.map_or(Value::Null, Value::from));
        attributes.insert("class".to_owned(), self.class.unwrap_or_default());
        tag.fields = self.values;
        tag.into()
    }
}

/// Names an element (`data-name`), so that the engine finds it. Call it after [`set_field`], before
/// [`set_rdfa_property`].
pub fn set_name(node: &mut RenderNode, name: &str) {
    node.set_attr("data-name", name);
}

/// Sets the `data-field` of an element.
pub fn set_field(node: &mut RenderNode, field: &str) {
    node.set_attr("data-field", kebab_case(field));
}

/// Applies a change to every element of this name, at any depth.
pub fn for_each_descendant(nodes: &mut [RenderNode], element: &str, change: &dyn Fn(&mut RenderNode)) {
    for node in nodes {
        if node.as_element().is_some_and(|tag| tag.is(element)) {
            change(node);
        }
        if let Some(tag) = node.as_element_mut() {
            for_each_descendant(&mut tag.children, element, change);
        }
    }
}

/// Sets the RDFa `property` of an element.
pub fn set_rdfa_property(node: &mut RenderNode, property: &str) {
    node.set_attr("property", property);
}

/// A `meta` element with a value.
pub fn meta_element(content: impl Into<Value>) -> RenderNode {
    Element::new("meta").with_attr("content", content).into()
}

/// A `meta` element with structured data; `None` for an empty value.
pub fn rdfa_meta_element(property: &str, content: Option<&Value>) -> Option<RenderNode> {
    let content = content.filter(|content| content.as_str() != Some(""))?;
    Some(Element::new("meta").with_attr("content", content.clone()).with_attr("property", property).into())
}

/// A `meta` element for a value that the engine reads from the children instead of the fields.
pub fn field_meta_element(field: &str, content: impl Into<Value>) -> RenderNode {
    Element::new("meta").with_attr("data-field", field).with_attr("content", content).into()
}

/// Several nodes in the place of one, without an element around them.
pub fn fragment(nodes: impl IntoIterator<Item = RenderNode>) -> RenderNode {
    Element { children: nodes.into_iter().collect(), ..Element::default() }.into()
}

/// Whether a node is the root element of this rune.
pub fn is_rune_root(node: &RenderNode, element: &str, rune: &str) -> bool {
    node.as_element().is_some_and(|tag| tag.is(element) && tag.attr_str("data-rune") == Some(rune))
}

/// An element with children.
pub fn new_element(name: &str, children: impl IntoIterator<Item = RenderNode>) -> RenderNode {
    Element::new(name).with_children(children).into()
}

/// A named element with children.
pub fn named_element(
    element: &str,
    name: &str,
    children: impl IntoIterator<Item = RenderNode>,
) -> RenderNode {
    Element::new(element).with_attr("data-name", name).with_children(children).into()
}
