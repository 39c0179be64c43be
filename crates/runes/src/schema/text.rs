//! The text of rendered nodes.

use serde_json::Value;

use crate::tree::Node;
use crate::value::{number_text, to_text};

/// An argument as the text of an element; the empty text where there is none.
pub fn shown(argument: Option<&Value>) -> Node {
    match argument {
        None | Some(Value::Null) => Node::from(""),
        Some(value) => Node::Text(to_text(value)),
    }
}

/// The texts directly among nodes, joined: nothing of what their elements hold.
pub fn bare_text(nodes: &[Node]) -> String {
    let texts = nodes.iter().filter_map(|node| match node {
        Node::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// All text within nodes, in order and without anything between.
pub fn text_of(nodes: &[Node]) -> String {
    let mut text = String::new();
    collect(nodes, &mut text);
    text
}

/// All text within one node.
pub fn text_of_node(node: &Node) -> String {
    text_of(std::slice::from_ref(node))
}

fn collect(nodes: &[Node], text: &mut String) {
    for node in nodes {
        match node {
            Node::Text(part) => text.push_str(part),
            Node::Number(number) => text.push_str(&number_text(*number)),
            Node::Tag(tag) => collect(&tag.children, text),
            Node::Null => {}
        }
    }
}
