//! Zones: nodes that rules part.

use quad_markdoc::{Node as Parsed, NodeType};

use crate::content::ast;

/// Nodes that rules part: one group is the body, two are media and body, of more the last is the footer.
#[derive(Debug, Default)]
pub struct Zones {
    /// Before the first rule, if there is one.
    pub media: Vec<Parsed>,
    /// The middle.
    pub body: Vec<Parsed>,
    /// After the last rule, if there are two or more.
    pub footer: Vec<Parsed>,
}

impl Zones {
    /// Splits nodes at rules.
    pub fn split(nodes: Vec<Parsed>) -> Zones {
        let mut groups = ast::split_at_rules(nodes);
        let footer = if groups.len() > 2 { groups.pop().unwrap_or_default() } else { Vec::new() };
        let media = if groups.len() > 1 { groups.remove(0) } else { Vec::new() };
        Zones { media, body: groups.into_iter().flatten().collect(), footer }
    }
}

/// Nodes before the first rule, and those after it; `None` where there is no rule.
pub fn split_at_first_rule(mut nodes: Vec<Parsed>) -> (Vec<Parsed>, Option<Vec<Parsed>>) {
    let at = nodes.iter().position(|node| node.kind == NodeType::Hr);
    match at {
        Some(at) => {
            let after = nodes.split_off(at).into_iter().skip(1).collect();
            (nodes, Some(after))
        }
        None => (nodes, None),
    }
}
