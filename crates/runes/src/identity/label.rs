//! Names for parts that have none, and words that a site may translate.

use crate::catalogue::Ordered;
use crate::tree::{Node, Tag};

/// Mark of a word that a site may translate.
pub(super) const TRANSLATED: &str = "data-i18n";

/// A word for which there is no translation: as it is, without the mark.
pub(super) fn untranslated(tag: &mut Tag) {
    tag.attributes.shift_remove(TRANSLATED);
    let text = tag.children.drain(..).find(|child| matches!(child, Node::Text(_)));
    tag.children = vec![text.unwrap_or_else(|| "".into())];
}

/// Gives a name to every part that has none, by its element or by its field.
pub(super) fn name_parts(nodes: &mut [Node], labels: &Ordered<String>) {
    for tag in nodes.iter_mut().filter_map(Node::as_tag_mut) {
        let by_element = tag.name.as_deref().and_then(|name| labels.get(name));
        let label = by_element.or_else(|| tag.text("data-field").and_then(|field| labels.get(field)));
        let is_named = tag.text("data-name").is_some_and(|name| !name.is_empty());
        if let (Some(label), false) = (label.filter(|label| !label.is_empty()), is_named) {
            tag.attributes.insert("data-name".into(), label.as_str().into());
        }
        name_parts(&mut tag.children, labels);
    }
}
