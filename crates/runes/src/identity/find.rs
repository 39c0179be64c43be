//! Finds the first element with a mark, in document order.

use crate::render_tree::{Element, RenderNode};

/// The first element with this `data-name`.
pub(super) fn find_named<'n>(nodes: &'n mut [RenderNode], name: &str) -> Option<&'n mut Element> {
    find_first(nodes, &|tag| tag.attr_str("data-name") == Some(name))
}

/// The first element that holds media.
pub(super) fn find_media(nodes: &mut [RenderNode]) -> Option<&mut Element> {
    find_first(nodes, &|tag| tag.attr_str("data-section") == Some("media"))
}

fn find_first<'n>(
    nodes: &'n mut [RenderNode],
    predicate: &dyn Fn(&Element) -> bool,
) -> Option<&'n mut Element> {
    nodes.iter_mut().filter_map(RenderNode::as_element_mut).find_map(|tag| {
        if predicate(tag) {
            return Some(tag);
        }
        find_first(&mut tag.children, predicate)
    })
}

/// The name of a part, if it has one.
pub(super) fn part_name(node: &RenderNode) -> Option<&str> {
    node.as_element()?.attr_str("data-name").filter(|name| !name.is_empty())
}
