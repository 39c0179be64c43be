//! List items taken apart: emphasis, links and pictures first, then patterns over the text that is left.

use std::collections::BTreeSet;

use quad_markdoc::{Node, NodeType, Value};

use super::{Item, ast};
use crate::catalogue::{Extract, ExtractFrom};

/// The parts of one list item.
pub(super) fn resolve(model: &[Extract], item: &Node) -> Item {
    let nodes: Vec<&Node> = ast::inline_children(item).collect();
    let mut parts = Item::new();
    // A node that is a part itself is used up; one that only holds a part (a link around bold text) can still be one.
    let (mut used, mut opened) = (BTreeSet::new(), BTreeSet::new());
    for part in model {
        let ExtractFrom::Inline { node: kind, attribute } = &part.from else { continue };
        let found = nodes.iter().enumerate().find_map(|(at, node)| {
            let free = !used.contains(&at) && (!opened.contains(&at) || node.kind.as_str() == kind);
            free.then(|| matching(node, kind)).flatten().map(|inner| (at, *node, inner))
        });
        let Some((at, node, inner)) = found else { continue };
        if std::ptr::eq(node, inner) {
            used.insert(at)
        } else {
            opened.insert(at)
        };
        let value = match attribute {
            Some(name) => {
                let value = [node, inner].into_iter().find_map(|node| node.attributes.get(name));
                value.and_then(plain_text)
            }
            None => Some(ast::text_of(inner, "")),
        };
        if let Some(value) = value {
            parts.insert(part.name.clone(), value);
        }
    }
    used.append(&mut opened);
    let left =
        nodes.iter().enumerate().filter(|(at, node)| !used.contains(at) && node.kind == NodeType::Text);
    let left: String = left.filter_map(|(_, node)| node.attributes.text("content")).collect();
    read_text(model, left.trim(), &mut parts);
    parts
}

fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(crate::value::number_text(*number)),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The node itself, or the one within a link or within emphasis.
fn matching<'n>(node: &'n Node, kind: &str) -> Option<&'n Node> {
    if node.kind.as_str() == kind {
        return Some(node);
    }
    let opens = matches!(node.kind, NodeType::Link | NodeType::Strong | NodeType::Em);
    node.children.iter().filter(|_| opens).find(|child| child.kind.as_str() == kind)
}

fn read_text(model: &[Extract], text: &str, parts: &mut Item) {
    let mut left = text.to_owned();
    for part in model {
        match &part.from {
            ExtractFrom::Inline { .. } => {}
            ExtractFrom::Remainder => {
                let rest = left.trim();
                if !rest.is_empty() || part.optional != Some(true) {
                    parts.insert(part.name.clone(), rest.to_owned());
                }
            }
            ExtractFrom::Pattern(pattern) => {
                let Some(found) = pattern.captures(&left) else { continue };
                let Some(whole) = found.get(0) else { continue };
                let value = found.get(1).unwrap_or(whole).as_str().to_owned();
                let rest = [&left[..whole.start()], &left[whole.end()..]].concat();
                parts.insert(part.name.clone(), value);
                left = rest;
            }
        }
    }
}
