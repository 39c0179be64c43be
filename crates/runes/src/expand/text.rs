//! Text of rendered nodes.

use serde_json::Value;

use crate::js_value::{format_js_number, to_js_string};
use crate::render_tree::RenderNode;

/// An argument as a text node; empty text if it is missing.
pub fn text_node(argument: Option<&Value>) -> RenderNode {
    match argument {
        None | Some(Value::Null) => RenderNode::from(""),
        Some(value) => RenderNode::Text(to_js_string(value)),
    }
}

/// The direct text of nodes, joined, without the text of their elements.
pub fn bare_text(nodes: &[RenderNode]) -> String {
    let texts = nodes.iter().filter_map(|node| match node {
        RenderNode::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// All text within nodes, joined.
pub fn text_of(nodes: &[RenderNode]) -> String {
    let mut text = String::new();
    append_text(nodes, &mut text);
    text
}

/// All text within one node.
pub fn text_of_node(node: &RenderNode) -> String {
    text_of(std::slice::from_ref(node))
}

fn append_text(nodes: &[RenderNode], text: &mut String) {
    for node in nodes {
        match node {
            RenderNode::Text(part) => text.push_str(part),
            RenderNode::Number(number) => text.push_str(&format_js_number(*number)),
            RenderNode::Element(tag) => append_text(&tag.children, text),
            RenderNode::Null => {}
        }
    }
}
