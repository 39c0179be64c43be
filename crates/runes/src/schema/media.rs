//! Pictures among rendered nodes.

use super::header::is_element;
use crate::tree::Node;

/// Whether a node is a drawing that stands for a picture: made of `placeholder:` or of a theme's icon.
pub fn is_drawing(node: &Node) -> bool {
    node.as_tag().is_some_and(|tag| {
        let class = tag.text("class").unwrap_or_default();
        tag.is("svg") && class.split(' ').any(|class| class == "rf-placeholder" || class == "rf-icon")
    })
}

/// Whether a node is a picture, a video or a drawing that stands for one.
pub fn is_media(node: &Node) -> bool {
    is_element(node, "img") || is_element(node, "video") || is_drawing(node)
}

/// The first picture: a node itself, or one within a paragraph. Taken out; everything else is dropped.
pub fn take_media(nodes: Vec<Node>) -> Result<Node, Vec<Node>> {
    let inner = |node: &Node| match node.as_tag() {
        Some(tag) if tag.is("p") => tag.children.iter().position(is_media),
        _ => None,
    };
    let Some(at) = nodes.iter().position(|node| is_media(node) || inner(node).is_some()) else {
        return Err(nodes);
    };
    let mut nodes = nodes;
    let node = nodes.swap_remove(at);
    match (inner(&node), node) {
        (Some(at), Node::Tag(mut tag)) => Ok(tag.children.swap_remove(at)),
        (_, node) => Ok(node),
    }
}

/// Frees pictures, drawings and runes that are alone in their paragraph of it.
pub fn unwrap_paragraphs(nodes: Vec<Node>) -> Vec<Node> {
    let stands_alone = |node: &Node| {
        is_element(node, "img")
            || is_drawing(node)
            || node.as_tag().is_some_and(|tag| tag.text("data-rune").is_some_and(|rune| !rune.is_empty()))
    };
    let unwrap = |node: Node| match node {
        Node::Tag(mut tag) if tag.is("p") && tag.children.len() == 1 => {
            if tag.children.iter().all(stands_alone) { tag.children.swap_remove(0) } else { Node::Tag(tag) }
        }
        other => other,
    };
    nodes.into_iter().map(unwrap).collect()
}

/// All pictures within nodes, wherever they stand, in order. What lies within a picture is no picture of its own.
pub fn collect_media(nodes: &[Node]) -> Vec<Node> {
    let mut found = Vec::new();
    collect(nodes, &mut found);
    found
}

fn collect(nodes: &[Node], found: &mut Vec<Node>) {
    for node in nodes {
        if is_media(node) {
            found.push(node.clone());
        }
        if let Some(tag) = node.as_tag() {
            collect(&tag.children, found);
        }
    }
}
