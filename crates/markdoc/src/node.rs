//! The tree: nodes, their annotations, and iteration.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::attribute_map::AttributeMap;
use crate::error::ParseError;
use crate::span::Span;
use crate::value::Value;

/// The type of a node. The names are Markdoc's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say what they are.
pub enum NodeType {
    Document,
    Paragraph,
    Heading,
    Inline,
    Text,
    Softbreak,
    Hardbreak,
    Em,
    Strong,
    Strikethrough,
    Code,
    Link,
    Image,
    Blockquote,
    List,
    Item,
    Hr,
    Fence,
    Table,
    Thead,
    Tbody,
    Tr,
    Th,
    Td,
    Tag,
    Comment,
    Error,
}

impl NodeType {
    /// The type as Markdoc spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeType::Document => "document",
            NodeType::Paragraph => "paragraph",
            NodeType::Heading => "heading",
            NodeType::Inline => "inline",
            NodeType::Text => "text",
            NodeType::Softbreak => "softbreak",
            NodeType::Hardbreak => "hardbreak",
            NodeType::Em => "em",
            NodeType::Strong => "strong",
            NodeType::Strikethrough => "s",
            NodeType::Code => "code",
            NodeType::Link => "link",
            NodeType::Image => "image",
            NodeType::Blockquote => "blockquote",
            NodeType::List => "list",
            NodeType::Item => "item",
            NodeType::Hr => "hr",
            NodeType::Fence => "fence",
            NodeType::Table => "table",
            NodeType::Thead => "thead",
            NodeType::Tbody => "tbody",
            NodeType::Tr => "tr",
            NodeType::Th => "th",
            NodeType::Td => "td",
            NodeType::Tag => "tag",
            NodeType::Comment => "comment",
            NodeType::Error => "error",
        }
    }
}

/// A node of the tree.
///
/// Serialised, it is the JSON of Markdoc's tree: `type`, `tag`, `inline`, `attributes`, `annotations`, `lines`,
/// `errors`, `children`. Positions that Markdoc does not have are not serialised.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its type.
    pub kind: NodeType,
    /// The name of a tag, or of the tag in a fence's info string.
    pub tag: Option<String>,
    /// Whether it is in the text of a block.
    pub inline: bool,
    /// Its attributes: those of the element (`level`, `href`, `content`, …) and those of annotations.
    pub attributes: AttributeMap,
    /// The attributes and classes as written, in order, duplicates included.
    pub annotations: Vec<Annotation>,
    /// The first line and the line after the last one. A block tag with a closing tag has both pairs.
    pub lines: LineNumbers,
    /// Errors of this node.
    pub errors: Vec<ParseError>,
    /// Its children.
    pub children: Vec<Node>,
    /// `{% slot "name" %}` children by name, if the [option](crate::Options::slots) is set.
    pub slots: BTreeMap<String, Node>,
    /// All bytes of the node and of its children.
    pub span: Span,
    /// Positions that only tags, fences and list items have.
    pub source_parts: Option<Box<SourceParts>>,
}

/// Positions within a node, for callers that edit a source in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceParts {
    /// `{% name … %}`: the opening tag, the whole self-closing tag, or the tag in a fence's info string.
    pub opening: Option<Span>,
    /// `{% /name %}`
    pub closing: Option<Span>,
    /// The checkbox that a list item begins with.
    pub task: Option<Task>,
}

/// The checkbox of a task: `[ ]` or `[x]`. It is also part of the item's text, as in Markdoc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Whether it is checked.
    pub checked: bool,
    /// Its three bytes.
    pub span: Span,
}

/// An attribute or a class as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Whether it was written as a class (`.name`).
    pub kind: AnnotationKind,
    /// Its name: `id` for `#value`, `primary` for a value without a name.
    pub name: String,
    /// Its value; `true` for a class.
    pub value: Value,
    /// All its bytes.
    pub span: Span,
    /// The bytes of the value: with quotes, without the `#` of an id or the `.` of a class.
    pub value_span: Span,
}

/// How an annotation was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationKind {
    /// `name=value`, `#id`, or a primary value.
    Attribute,
    /// `.name`
    Class,
}

impl Node {
    pub(crate) fn new(kind: NodeType) -> Node {
        Node {
            kind,
            tag: None,
            inline: false,
            attributes: AttributeMap::new(),
            annotations: Vec::new(),
            lines: LineNumbers::default(),
            errors: Vec::new(),
            children: Vec::new(),
            slots: BTreeMap::new(),
            span: Span::default(),
            source_parts: None,
        }
    }

    pub(crate) fn source_parts_mut(&mut self) -> &mut SourceParts {
        self.source_parts.get_or_insert_default()
    }

    /// The bytes of the opening tag.
    pub fn opening(&self) -> Option<Span> {
        self.source_parts.as_ref()?.opening
    }

    /// The bytes of the closing tag.
    pub fn closing(&self) -> Option<Span> {
        self.source_parts.as_ref()?.closing
    }

    /// The checkbox, if this is a list item that begins with one.
    pub fn task(&self) -> Option<Task> {
        self.source_parts.as_ref()?.task
    }

    /// Whether it is a tag of this name.
    pub fn is_tag(&self, name: &str) -> bool {
        self.kind == NodeType::Tag && self.tag.as_deref() == Some(name)
    }

    /// The annotation that determines an attribute's value: the last one of this name.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        self.annotations
            .iter()
            .rfind(|annotation| annotation.kind == AnnotationKind::Attribute && annotation.name == name)
    }

    /// All nodes below this one in document order: parents before children, slots before children.
    pub fn descendants(&self) -> Descendants<'_> {
        let mut descendants = Descendants { stack: Vec::new() };
        descendants.push_children(self);
        descendants
    }
}

/// The iterator of [`Node::descendants`].
#[derive(Clone, Debug)]
pub struct Descendants<'n> {
    stack: Vec<&'n Node>,
}

impl<'n> Descendants<'n> {
    fn push_children(&mut self, node: &'n Node) {
        self.stack.extend(node.children.iter().rev());
        self.stack.extend(node.slots.values().rev());
    }
}

impl<'n> Iterator for Descendants<'n> {
    type Item = &'n Node;

    fn next(&mut self) -> Option<&'n Node> {
        let node = self.stack.pop()?;
        self.push_children(node);
        Some(node)
    }
}

/// The lines of a node. Nodes within a tag share the tag's lines, which are extended when the tag is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNumbers(pub(crate) LineRepr);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum LineRepr {
    #[default]
    None,
    Pair([u32; 2]),
    Shared(Arc<Vec<u32>>),
    /// While the tree is built: an index into the builder's lists.
    Unresolved(u32),
}

impl Deref for LineNumbers {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match &self.0 {
            LineRepr::Pair(pair) => pair,
            LineRepr::Shared(lines) => lines,
            LineRepr::None | LineRepr::Unresolved(_) => &[],
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("type", self.kind.as_str())?;
        if let Some(tag) = &self.tag {
            object.serialize_entry("tag", tag)?;
        }
        object.serialize_entry("inline", &self.inline)?;
        object.serialize_entry("attributes", &self.attributes)?;
        object.serialize_entry("annotations", &self.annotations)?;
        object.serialize_entry("lines", &*self.lines)?;
        object.serialize_entry("errors", &self.errors)?;
        if !self.slots.is_empty() {
            object.serialize_entry("slots", &self.slots)?;
        }
        object.serialize_entry("children", &self.children)?;
        object.end()
    }
}

impl Serialize for Annotation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match self.kind {
            AnnotationKind::Attribute => "attribute",
            AnnotationKind::Class => "class",
        };
        let mut object = serializer.serialize_map(Some(3))?;
        object.serialize_entry("type", kind)?;
        object.serialize_entry("name", &self.name)?;
        object.serialize_entry("value", &self.value)?;
        object.end()
    }
}
