//! Order that is seen: lists that count, and parts that appear one after another.

use super::style::append;
use crate::tree::{Node, Tag};

/// Marks the outermost ordered lists with how they count and which way they run.
pub(super) fn mark_lists(nodes: &mut [Node], sequence: &str, direction: Option<&str>) {
    for tag in nodes.iter_mut().filter_map(Node::as_tag_mut) {
        if tag.is("ol") {
            tag.attributes.insert("data-sequence".into(), sequence.into());
            if let Some(direction) = direction.filter(|direction| !direction.is_empty()) {
                tag.attributes.insert("data-sequence-direction".into(), direction.into());
            }
        } else {
            mark_lists(&mut tag.children, sequence, direction);
        }
    }
}

/// Numbers the parts of this name, in the order of the document. One within another belongs to that one.
pub(super) fn number_parts(nodes: &mut [Node], name: &str, next: &mut usize) {
    for tag in nodes.iter_mut().filter_map(Node::as_tag_mut) {
        if is_part(tag, name) {
            append(tag, &[("--rf-reveal-index".into(), next.to_string())]);
            *next += 1;
        } else {
            number_parts(&mut tag.children, name, next);
        }
    }
}

fn is_part(tag: &Tag, name: &str) -> bool {
    tag.text("data-field") == Some(name) || tag.text("data-name") == Some(name)
}
