//! Tables among rendered nodes.

use super::header::is_element;
use crate::tree::{Node, Tag};

/// The first table, taken out: a node itself, else one directly within an element that may wrap one. All nodes come back where
/// there is none.
pub fn take_table(mut nodes: Vec<Node>, wraps: impl Fn(&Tag) -> bool) -> Result<Node, Vec<Node>> {
    if let Some(at) = nodes.iter().position(|node| is_element(node, "table")) {
        return Ok(nodes.swap_remove(at));
    }
    let inner = |node: &Node| {
        let tag = node.as_tag().filter(|tag| wraps(tag))?;
        tag.children.iter().position(|child| is_element(child, "table"))
    };
    let found = nodes.iter().enumerate().find_map(|(at, node)| inner(node).map(|within| (at, within)));
    match found {
        Some((at, within)) => match nodes.swap_remove(at) {
            Node::Tag(mut tag) => Ok(tag.children.swap_remove(within)),
            node => Ok(node),
        },
        None => Err(nodes),
    }
}
