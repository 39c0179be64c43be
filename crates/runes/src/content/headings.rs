//! Groups nodes by heading, for runes whose headings are tabs or categories.

use quad_markdoc::{Node, NodeType};

use super::node_ext;

/// The nodes before the first group, and the groups.
#[derive(Debug, Default)]
pub struct HeadingGroups {
    /// Nodes before the first group.
    pub before: Vec<Node>,
    /// Each group: its heading, then the nodes below it.
    pub groups: Vec<(Node, Vec<Node>)>,
}

/// Groups nodes by headings of a level, or of the first heading's level if `level` is `None`. Without such a heading,
/// returns the nodes as `Err`.
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

/// Like [`group_by_heading`]. Without headings, the items of a list at the end become the groups: the first line of an
/// item is its heading. Without such a list, returns the nodes as `Err`.
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
