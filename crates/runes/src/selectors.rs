//! The selectors of a rendered page: engine classes and data attributes, each once, in a fixed order.

use indexmap::IndexSet;

use crate::collation::collation_key;
use crate::contracts::CLASS_PREFIX;
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

/// The selectors of a tree: blocks, modifiers, elements, attributes; each kind in collation order.
pub fn collect_selectors(node: &RenderNode) -> Vec<String> {
    let mut unique = IndexSet::new();
    collect_from_node(node, &mut unique);
    let mut selectors: Vec<String> = unique.into_iter().collect();
    selectors.sort_by_cached_key(|selector| (SelectorKind::classify(selector), collation_key(selector)));
    selectors
}

/// The kinds, in output order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SelectorKind {
    Block,
    Modifier,
    Element,
    Attribute,
}

impl SelectorKind {
    fn classify(selector: &str) -> SelectorKind {
        if selector.starts_with('[') {
            SelectorKind::Attribute
        } else if selector.contains("__") {
            SelectorKind::Element
        } else if selector.contains("--") {
            SelectorKind::Modifier
        } else {
            SelectorKind::Block
        }
    }
}

fn collect_from_node(node: &RenderNode, selectors: &mut IndexSet<String>) {
    let Some(tag) = node.as_element() else { return };
    collect_classes(tag, selectors);
    for (key, value) in &tag.attributes {
        if key.starts_with("data-") && !value.is_null() {
            selectors.insert(format!("[{key}=\"{}\"]", to_js_string(value)));
        }
    }
    tag.children.iter().for_each(|child| collect_from_node(child, selectors));
}

fn collect_classes(tag: &Element, selectors: &mut IndexSet<String>) {
    let names = tag.attr_str("class").unwrap_or_default().split_whitespace();
    let engine_classes =
        names.filter(|name| name.strip_prefix(CLASS_PREFIX).is_some_and(|rest| rest.starts_with('-')));
    selectors.extend(engine_classes.map(|name| format!(".{name}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_unique_and_ordered_by_kind() {
        let inner = Element::new("b").with_attr("class", "rf-a__x other rf-a--y").with_attr("data-z", false);
        let root = Element::new("p")
            .with_attr("class", "rf-b rf-a rf")
            .with_attr("data-n", serde_json::Value::Null)
            .with_attr("id", "x")
            .with_children([inner.clone().into(), inner.into()]);
        assert_eq!(
            collect_selectors(&root.into()),
            [".rf-a", ".rf-b", ".rf-a--y", ".rf-a__x", "[data-z=\"false\"]"]
        );
    }
}
