//! Resolves a sequence of fields: each takes the next matching node, or all matching nodes in a row.

use quad_markdoc::{AttributeMap, Node, NodeType, Value};

use super::{ContentFields, FieldContent, items, node_ext};
use crate::catalogue::Field;
use crate::js_value::JsTrim;

/// Drops a node that does not match a required field, and all nodes after the last field.
pub(super) fn resolve(fields: &[Field], nodes: Vec<Node>) -> ContentFields {
    let mut resolved = ContentFields::default();
    let mut nodes = nodes.into_iter().peekable();
    for field in fields {
        let Some(next) = nodes.peek() else { break };
        if !field.pattern.matches(next) {
            if field.optional != Some(true) {
                nodes.next();
            }
            continue;
        }
        let mut matched = Vec::new();
        while let Some(node) = nodes.next_if(|node| field.pattern.matches(node)) {
            matched.push(if field.pattern.is_image_only() {
                node_ext::unwrap_lone_image(node)
            } else {
                node
            });
            if !field.greedy {
                break;
            }
        }
        insert_field(&mut resolved, field, matched);
    }
    resolved
}

fn insert_field(resolved: &mut ContentFields, field: &Field, matched: Vec<Node>) {
    if field.item_model.is_empty() {
        resolved.insert(field.name.as_str(), FieldContent::Nodes(matched));
        return;
    }
    if let Some(rune) = &field.emit_tag {
        let tags = matched.into_iter().filter(|node| node.kind == NodeType::List);
        let tags = tags.flat_map(|list| list.children).map(|item| to_rune_node(field, rune, item)).collect();
        resolved.insert(field.name.as_str(), FieldContent::Nodes(tags));
        return;
    }
    // npm does not read the items of a greedy field either.
    if let ([list], false) = (matched.as_slice(), field.greedy) {
        let data = list.children.iter().map(|item| items::resolve(&field.item_model, item)).collect();
        resolved.insert(format!("{}Data", field.name), FieldContent::Items(data));
    }
    resolved.insert(field.name.as_str(), FieldContent::Nodes(matched));
}

/// Converts a list item to a tag: extracted parts become attributes, everything after the first line becomes content.
fn to_rune_node(field: &Field, rune: &str, item: Node) -> Node {
    let parts = items::resolve(&field.item_model, &item);
    let mut attributes = AttributeMap::new();
    for (name, text) in &field.emit_attributes {
        let value = match text.strip_prefix('$') {
            // `$one|$two`: the first part that is not empty.
            Some(names) => {
                let mut values = names.split('|').filter_map(|name| parts.get(name.js_trim()));
                values.find(|value| !value.is_empty()).cloned().unwrap_or_default()
            }
            None => text.clone(),
        };
        attributes.insert(name.clone(), Value::String(value));
    }
    node_ext::new_tag(rune, attributes, item.children.into_iter().skip(1).collect())
}
