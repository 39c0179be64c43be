//! Extracts parts from list items: first emphasis, links and images, then patterns over the remaining text.

use std::collections::BTreeSet;

use quad_markdoc::{Node, NodeType, Value};

use super::{ItemFields, node_ext};
use crate::catalogue::{PartExtractor, PartSource};
use crate::js_value::JsTrim;

/// The parts of one list item.
pub(super) fn resolve(model: &[PartExtractor], item: &Node) -> ItemFields {
    let nodes: Vec<&Node> = node_ext::inline_children(item).collect();
    let mut parts = ItemFields::new();
    // A node that is a part itself is used up. A node that only contains a part (a link around bold text) can match
    // again.
    let (mut used, mut partly_used) = (BTreeSet::new(), BTreeSet::new());
    for part in model {
        let PartSource::Inline { node: node_type, attribute } = &part.from else { continue };
        let candidate = nodes.iter().enumerate().find_map(|(index, node)| {
            let is_available =
                !used.contains(&index) && (!partly_used.contains(&index) || node.kind.as_str() == node_type);
            is_available
                .then(|| find_matching_node(node, node_type))
                .flatten()
                .map(|inner| (index, *node, inner))
        });
        let Some((index, node, inner)) = candidate else { continue };
        if std::ptr::eq(node, inner) {
            used.insert(index)
        } else {
            partly_used.insert(index)
        };
        let value = match attribute {
            Some(name) => {
                let value = [node, inner].into_iter().find_map(|node| node.attributes.get(name));
                value.and_then(scalar_to_string)
            }
            None => Some(node_ext::joined_text(inner, "")),
        };
        if let Some(value) = value {
            parts.insert(part.name.clone(), value);
        }
    }
    used.append(&mut partly_used);
    let remaining =
        nodes.iter().enumerate().filter(|(index, node)| !used.contains(index) && node.kind == NodeType::Text);
    let remaining: String = remaining.filter_map(|(_, node)| node.attributes.get_str("content")).collect();
    extract_from_text(model, remaining.js_trim(), &mut parts);
    parts
}

fn scalar_to_string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(crate::js_value::format_js_number(*number)),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The node itself, or a matching child of a link or of emphasis.
fn find_matching_node<'n>(node: &'n Node, kind: &str) -> Option<&'n Node> {
    if node.kind.as_str() == kind {
        return Some(node);
    }
    let may_contain_part = matches!(node.kind, NodeType::Link | NodeType::Strong | NodeType::Em);
    node.children.iter().filter(|_| may_contain_part).find(|child| child.kind.as_str() == kind)
}

fn extract_from_text(model: &[PartExtractor], text: &str, parts: &mut ItemFields) {
    let mut remaining = text.to_owned();
    for part in model {
        match &part.from {
            PartSource::Inline { .. } => {}
            PartSource::Remainder => {
                let trimmed = remaining.js_trim();
                if !trimmed.is_empty() || part.optional != Some(true) {
                    parts.insert(part.name.clone(), trimmed.to_owned());
                }
            }
            PartSource::Pattern(pattern) => {
                let Some(captures) = pattern.captures(&remaining) else { continue };
                let Some(whole_match) = captures.get(0) else { continue };
                let value = captures.get(1).unwrap_or(whole_match).as_str().to_owned();
                let without_match =
                    [&remaining[..whole_match.start()], &remaining[whole_match.end()..]].concat();
                parts.insert(part.name.clone(), value);
                remaining = without_match;
            }
        }
    }
}
