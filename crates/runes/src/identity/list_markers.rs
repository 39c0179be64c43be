//! Marks ordered lists, and numbers parts that appear one after another.

use super::style::append_styles;
use crate::render_tree::{Element, RenderNode};

/// Marks the outermost ordered lists with their sequence and direction.
pub(super) fn mark_lists(nodes: &mut [RenderNode], sequence: &str, direction: Option<&str>) {
    for tag in nodes.iter_mut().filter_map(RenderNode::as_element_mut) {
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

/// Numbers the parts with this name in document order. A nested part is not numbered.
pub(super) fn number_parts(nodes: &mut [RenderNode], name: &str, next: &mut usize) {
    for tag in nodes.iter_mut().filter_map(RenderNode::as_element_mut) {
        if has_field_or_name(tag, name) {
            append_styles(tag, &[("--rf-reveal-index".into(), next.to_string())]);
            *next += 1;
        } else {
            number_parts(&mut tag.children, name, next);
        }
    }
}

fn has_field_or_name(tag: &Element, name: &str) -> bool {
    tag.attr_str("data-field") == Some(name) || tag.attr_str("data-name") == Some(name)
}
