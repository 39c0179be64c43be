//! Helpers for Markdoc nodes: queries, and constructors for nodes that are not in the source.

use std::collections::BTreeMap;

use quad_markdoc::{AttributeMap, LineNumbers, Node, NodeType, Span, Value};

use crate::js_value::JsTrim;

/// A node that is not in the source.
pub fn new_node(kind: NodeType, attributes: AttributeMap, children: Vec<Node>) -> Node {
    Node {
        kind,
        tag: None,
        inline: false,
        attributes,
        annotations: Vec::new(),
        lines: LineNumbers::default(),
        errors: Vec::new(),
        children,
        slots: BTreeMap::new(),
        span: Span::default(),
        source_parts: None,
    }
}

/// A tag that is not in the source.
pub fn new_tag(name: &str, attributes: AttributeMap, children: Vec<Node>) -> Node {
    Node { tag: Some(name.to_owned()), ..new_node(NodeType::Tag, attributes, children) }
}

/// A tag that is not in the source, with text attributes.
pub fn new_tag_with<'a>(
    name: &str,
    attributes: impl IntoIterator<Item = (&'a str, String)>,
    children: Vec<Node>,
) -> Node {
    let mut map = AttributeMap::new();
    for (name, value) in attributes {
        map.insert(name.to_owned(), Value::String(value));
    }
    new_tag(name, map, children)
}

/// The level of a heading; `None` for other nodes.
pub fn heading_level(node: &Node) -> Option<u8> {
    if node.kind != NodeType::Heading {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    node.attributes.get("level").and_then(Value::as_number).map(|level| level as u8)
}

/// Whether a list is ordered; `None` for other nodes.
pub fn list_is_ordered(node: &Node) -> Option<bool> {
    (node.kind == NodeType::List).then(|| node.attributes.get("ordered") == Some(&Value::Bool(true)))
}

/// All text within a node, joined by the separator. Headings use a space, list items the empty string.
pub fn joined_text(node: &Node, separator: &str) -> String {
    let self_if_text = std::iter::once(node).filter(|node| node.kind == NodeType::Text);
    let texts = self_if_text.chain(node.descendants().filter(|node| node.kind == NodeType::Text));
    let texts = texts.filter_map(|node| node.attributes.get_str("content")).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(separator)
}

/// The inline nodes of a block: its children, without the `inline` node between them.
pub fn inline_children(node: &Node) -> impl Iterator<Item = &Node> {
    node.children.iter().flat_map(|child| match child.kind {
        NodeType::Inline => child.children.as_slice(),
        _ => std::slice::from_ref(child),
    })
}

/// Whether a paragraph contains one image and otherwise only white space.
pub fn is_lone_image(node: &Node) -> bool {
    node.kind == NodeType::Paragraph && {
        let mut meaningful = inline_children(node).filter(|child| !is_blank(child));
        meaningful.next().is_some_and(|child| child.kind == NodeType::Image) && meaningful.next().is_none()
    }
}

/// Replaces a paragraph that contains only an image by the image. Other nodes are returned unchanged.
pub fn unwrap_lone_image(node: Node) -> Node {
    if !is_lone_image(&node) {
        return node;
    }
    let inline_nodes = node.children.into_iter().flat_map(|child| match child.kind {
        NodeType::Inline => child.children,
        _ => vec![child],
    });
    let image = inline_nodes.into_iter().find(|child| child.kind == NodeType::Image);
    image.unwrap_or_else(|| self::new_node(NodeType::Paragraph, AttributeMap::new(), Vec::new()))
}

fn is_blank(node: &Node) -> bool {
    let is_blank_text = || {
        node.kind == NodeType::Text
            && node.attributes.get_str("content").unwrap_or_default().js_trim().is_empty()
    };
    node.kind == NodeType::Softbreak || is_blank_text()
}

/// Splits nodes at every thematic break: one more group than there are breaks.
pub fn split_at_thematic_breaks(nodes: Vec<Node>) -> Vec<Vec<Node>> {
    split_by(nodes, |node| node.kind == NodeType::Hr)
}

/// Splits nodes at separators, which are dropped.
pub fn split_by(nodes: Vec<Node>, is_separator: impl Fn(&Node) -> bool) -> Vec<Vec<Node>> {
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for node in nodes {
        if is_separator(&node) {
            groups.push(std::mem::take(&mut group));
        } else {
            group.push(node);
        }
    }
    groups.push(group);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(source: &str) -> Node {
        quad_markdoc::parse(source).unwrap().root.children.remove(0)
    }

    #[test]
    fn lone_image_is_unwrapped_from_its_paragraph() {
        assert!(is_lone_image(&first("![a](b)")));
        assert!(!is_lone_image(&first("![a](b) text")));
        assert!(!is_lone_image(&first("text")));
        assert_eq!(unwrap_lone_image(first("![a](b)")).kind, NodeType::Image);
        assert_eq!(unwrap_lone_image(first("![a](b) text")).kind, NodeType::Paragraph);
    }

    #[test]
    fn joined_text_and_node_properties() {
        assert_eq!(joined_text(&first("# One *two* three"), " "), "One  two  three");
        assert_eq!(heading_level(&first("### x")), Some(3));
        assert_eq!(list_is_ordered(&first("1. x")), Some(true));
    }
}
