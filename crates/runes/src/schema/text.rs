//! The text of rendered nodes.

use crate::tree::Node;
use crate::value::number_text;

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
