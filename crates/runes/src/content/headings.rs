//! Nodes grouped below their headings, for runes whose headings are tabs or categories.

use quad_markdoc::{Node, NodeType};

use super::node_ext;

/// What stands before the first group, and the groups: a heading and what stands below it.
#[derive(Debug, Default)]
pub struct HeadingGroups {
    /// Nodes before the first group.
    pub before: Vec<Node>,
    /// Each group: its first node (the heading), then the rest.
    pub groups: Vec<(Node, Vec<Node>)>,
}

/// Groups nodes below the headings of a level; of the first heading's level where none is asked for. Without such a heading
/// the nodes come back.
pub fn group_by_heading(nodes: Vec<Node>, level: Option<u8>) -> Result<HeadingGroups, Vec<Node>> {
    let level = level.or_else(|| nodes.iter().find_map(node_ext::heading_level));
    let is_heading = |node: &Node| level.is_some() && node_ext::heading_level(node) == level;
    if !nodes.iter().any(is_heading) {
        return Err(nodes);
    }
    let mut grouped = HeadingGroups::default();
    for node in nodes {
        if is_heading(&node) {
            grouped.groups.push((node, Vec::new()));
        } else {
            grouped.groups.last_mut().map_or(&mut grouped.before, |(_, body)| body).push(node);
        }
    }
    Ok(grouped)
}

/// The same, but that without headings a list at the end stands for them: the first line of each item is a heading. Without
/// that too the nodes come back.
pub fn group_by_heading_or_list(nodes: Vec<Node>, level: Option<u8>) -> Result<HeadingGroups, Vec<Node>> {
    let mut nodes = match group_by_heading(nodes, level) {
        Err(nodes) => nodes,
        grouped => return grouped,
    };
    if nodes.last().is_none_or(|last| last.kind != NodeType::List) {
        return Err(nodes);
    }
    let items = nodes.pop().map(|list| list.children).unwrap_or_default();
    let groups = items.into_iter().filter_map(|item| {
        let mut children = item.children.into_iter();
        children.next().map(|first| (first, children.collect()))
    });
    Ok(HeadingGroups { groups: groups.collect(), before: nodes })
}
