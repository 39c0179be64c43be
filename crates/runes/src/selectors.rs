//! What a theme can select in a rendered page: classes of the engine and data attributes, each once, in a fixed order.

use indexmap::IndexSet;

use crate::collation::sort_key;
use crate::contracts::PREFIX;
use crate::tree::{Node, Tag};
use crate::value::to_text;

/// The selectors of a tree: blocks, then modifiers, then elements, then attributes; each kind as a dictionary would have it.
pub fn of(node: &Node) -> Vec<String> {
    let mut found = IndexSet::new();
    collect(node, &mut found);
    let mut selectors: Vec<String> = found.into_iter().collect();
    selectors.sort_by_cached_key(|selector| (Kind::of(selector), sort_key(selector)));
    selectors
}

/// Kinds in the order in which they are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Block,
    Modifier,
    Element,
    Attribute,
}

impl Kind {
    fn of(selector: &str) -> Kind {
        if selector.starts_with('[') {
            Kind::Attribute
        } else if selector.contains("__") {
            Kind::Element
        } else if selector.contains("--") {
            Kind::Modifier
        } else {
            Kind::Block
        }
    }
}

fn collect(node: &Node, found: &mut IndexSet<String>) {
    let Some(tag) = node.as_tag() else { return };
    classes(tag, found);
    for (key, value) in &tag.attributes {
        if key.starts_with("data-") && !value.is_null() {
            found.insert(format!("[{key}=\"{}\"]", to_text(value)));
        }
    }
    tag.children.iter().for_each(|child| collect(child, found));
}

fn classes(tag: &Tag, found: &mut IndexSet<String>) {
    let names = tag.text("class").unwrap_or_default().split_whitespace();
    let ours = names.filter(|name| name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('-')));
    found.extend(ours.map(|name| format!(".{name}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_order_and_each_selector_once() {
        let inner = Tag::new("b").with("class", "rf-a__x other rf-a--y").with("data-z", false);
        let root = Tag::new("p")
            .with("class", "rf-b rf-a rf")
            .with("data-n", serde_json::Value::Null)
            .with("id", "x")
            .holding([inner.clone().into(), inner.into()]);
        assert_eq!(of(&root.into()), [".rf-a", ".rf-b", ".rf-a--y", ".rf-a__x", "[data-z=\"false\"]"]);
    }
}
