//! The first element in the order of the document that carries a mark.

use crate::tree::{Node, Tag};

/// The first element with this `data-name`.
pub(super) fn named<'n>(nodes: &'n mut [Node], name: &str) -> Option<&'n mut Tag> {
    first(nodes, &|tag| tag.text("data-name") == Some(name))
}

/// The first element that holds media.
pub(super) fn media(nodes: &mut [Node]) -> Option<&mut Tag> {
    first(nodes, &|tag| tag.text("data-section") == Some("media"))
}

fn first<'n>(nodes: &'n mut [Node], is_wanted: &dyn Fn(&Tag) -> bool) -> Option<&'n mut Tag> {
    nodes.iter_mut().filter_map(Node::as_tag_mut).find_map(|tag| {
        if is_wanted(tag) {
            return Some(tag);
        }
        first(&mut tag.children, is_wanted)
    })
}

/// The name of a part, where it has one.
pub(super) fn name_of(node: &Node) -> Option<&str> {
    node.as_tag()?.text("data-name").filter(|name| !name.is_empty())
}
