//! What a reader is asked to do: links of a list, and commands to copy. Both `hero` and `cta` end with it.

use quad_markdoc::{Node as Parsed, NodeType};

use crate::schema::component::{each_within, element, name};
use crate::schema::context::{Result, Ruled};
use crate::schema::{Context, nodes};
use crate::tree::Node;

/// Renders lists and fences: each item is an action, each fence a command.
pub(super) fn render(actions: Vec<Parsed>, context: &mut Context<'_>) -> Result<Vec<Node>> {
    let mut actions = context.nodes_with(action, actions)?;
    each_within(&mut actions, "li", &|item| name(item, "action"));
    each_within(&mut actions, "div", &|command| name(command, "command"));
    Ok(actions)
}

fn action(node: Parsed, context: &mut Context<'_>) -> Result<Ruled> {
    Ok(match node.kind {
        NodeType::Item => Ruled::Done(vec![element("li", context.nodes_with(label, node.children)?)]),
        NodeType::Fence => Ruled::Done(vec![element("div", [nodes::fence(&node)])]),
        _ => Ruled::Pass(node),
    })
}

/// Every text of an action is an element, so that it can be set apart from an icon beside it.
fn label(node: Parsed, context: &mut Context<'_>) -> Result<Ruled> {
    if node.kind != NodeType::Text {
        return Ok(Ruled::Pass(node));
    }
    Ok(Ruled::Done(vec![element("span", [context.text(&node)])]))
}
