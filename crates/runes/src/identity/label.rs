//! Names for parts without one, and texts that a site may translate.

use crate::render_tree::{Element, RenderNode};
use indexmap::IndexMap;

/// Marks a text that a site may translate.
pub(super) const I18N_ATTRIBUTE: &str = "data-i18n";

/// Removes the mark: there are no translations here.
pub(super) fn strip_i18n(tag: &mut Element) {
    tag.attributes.shift_remove(I18N_ATTRIBUTE);
    let text = tag.children.drain(..).find(|child| matches!(child, RenderNode::Text(_)));
    tag.children = vec![text.unwrap_or_else(|| "".into())];
}

/// Names every part without a name, by its element or its field.
pub(super) fn auto_label(nodes: &mut [RenderNode], labels: &IndexMap<String, String>) {
    for tag in nodes.iter_mut().filter_map(RenderNode::as_element_mut) {
        let by_element = tag.name.as_deref().and_then(|name| labels.get(name));
        let label = by_element.or_else(|| tag.attr_str("data-field").and_then(|field| labels.get(field)));
        let is_named = tag.attr_str("data-name").is_some_and(|name| !name.is_empty());
        if let (Some(label), false) = (label.filter(|label| !label.is_empty()), is_named) {
            tag.attributes.insert("data-name".into(), label.as_str().into());
        }
        auto_label(&mut tag.children, labels);
    }
}
