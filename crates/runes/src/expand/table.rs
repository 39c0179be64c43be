//! Finds tables among rendered nodes.

use super::header::is_element;
use crate::render_tree::{Element, RenderNode};

/// Takes the first table: a node itself, or a direct child of an element. Returns all nodes as `Err` if there is none.
pub fn take_table(
    mut nodes: Vec<RenderNode>,
    may_wrap_table: impl Fn(&Element) -> bool,
) -> Result<RenderNode, Vec<RenderNode>> {
    if let Some(index) = nodes.iter().position(|node| is_element(node, "table")) {
        return Ok(nodes.swap_remove(index));
    }
    let table_child_index = |node: &RenderNode| {
        let tag = node.as_element().filter(|tag| may_wrap_table(tag))?;
        tag.children.iter().position(|child| is_element(child, "table"))
    };
    let found = nodes
        .iter()
        .enumerate()
        .find_map(|(index, node)| table_child_index(node).map(|child_index| (index, child_index)));
    match found {
        Some((index, child_index)) => match nodes.swap_remove(index) {
            RenderNode::Element(mut tag) => Ok(tag.children.swap_remove(child_index)),
            node => Ok(node),
        },
        None => Err(nodes),
    }
}
