//! Markdoc's tables: `{% table %}` with lists as rows, separated by `---`.

use std::mem;

use crate::attribute_map::AttributeMap;
use crate::node::{Node, NodeType};

/// Turns the lists in every table tag below `node` into rows.
pub(crate) fn transform(node: &mut Node) {
    for child in node.slots.values_mut().chain(node.children.iter_mut()) {
        if child.is_tag("table") {
            convert_lists_to_rows(child);
        }
        transform(child);
    }
}

fn convert_lists_to_rows(tag: &mut Node) {
    if tag.children.first().is_none_or(|first| first.kind == NodeType::Table) {
        return;
    }
    let mut children = mem::take(&mut tag.children).into_iter();
    let mut thead = synthetic_child(tag, NodeType::Thead);
    let mut tbody = synthetic_child(tag, NodeType::Tbody);
    // The first child is the header. If it is not a list, there is no header.
    if let Some(mut first) = children.next().filter(|first| first.kind == NodeType::List) {
        convert_to_row(&mut first, NodeType::Th);
        thead.children.push(first);
    }
    for mut child in children {
        if child.kind == NodeType::List {
            convert_to_row(&mut child, NodeType::Td);
        } else if child.is_tag("if") {
            child.children.retain(|row| row.kind != NodeType::Hr);
            for row in child.children.iter_mut().filter(|row| row.kind == NodeType::List) {
                convert_to_row(row, NodeType::Td);
            }
        } else {
            continue;
        }
        tbody.children.push(child);
    }
    let mut table = synthetic_child(tag, NodeType::Table);
    table.attributes = tag.attributes.clone();
    table.children = vec![thead, tbody];
    tag.children = vec![table];
}

/// A generated node, with the position of the whole tag.
fn synthetic_child(tag: &Node, kind: NodeType) -> Node {
    let mut node = Node::new(kind);
    node.span = tag.span;
    node
}

fn convert_to_row(list: &mut Node, cell: NodeType) {
    list.kind = NodeType::Tr;
    list.attributes = AttributeMap::new();
    for item in &mut list.children {
        item.kind = cell;
    }
}
