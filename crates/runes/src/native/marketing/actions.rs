//! Calls to action: links of a list, and commands to copy. `hero` and `cta` end with them.

use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::expand::render_context::{Override, Result};
use crate::expand::root_builder::{for_each_descendant, new_element, set_name};
use crate::expand::rune::Modifiers;
use crate::expand::{Arguments, RenderContext, markdown_nodes};
use crate::render_tree::{Element, RenderNode};

/// Renders lists and fences: each item is an action, each fence a command.
pub(super) fn render(actions: Vec<MarkdocNode>, cx: &mut RenderContext<'_>) -> Result<Vec<RenderNode>> {
    let mut actions = cx.render_nodes_with(render_action, actions)?;
    for_each_descendant(&mut actions, "li", &|item| set_name(item, "action"));
    for_each_descendant(&mut actions, "div", &|command| set_name(command, "command"));
    Ok(actions)
}

fn render_action(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Override> {
    Ok(match node.kind {
        NodeType::Item => {
            let (body, modifiers) = Modifiers::take(node.children);
            let label = cx.render_nodes_with(render_label, body)?;
            let mut item = Element::new("li").with_children(label);
            modifiers.append_to(&mut item, &Arguments::default(), cx)?;
            Override::Rendered(vec![item.into()])
        }
        NodeType::Fence => {
            Override::Rendered(vec![new_element("div", [markdown_nodes::render_fence(&node)])])
        }
        _ => Override::NotHandled(node),
    })
}

/// Wraps every text of an action in an element, to style it apart from an icon.
fn render_label(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Override> {
    if node.kind != NodeType::Text {
        return Ok(Override::NotHandled(node));
    }
    Ok(Override::Rendered(vec![new_element("span", [cx.text_content(&node)])]))
}
