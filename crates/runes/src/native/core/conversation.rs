//! A conversation: each quotation is a message.
//!
//! Native because the speaker is read off the bold beginning of a message, or comes from a list in turn and is then written there.

use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use crate::content::ast;
use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let speakers = call.arguments.text("speakers").unwrap_or_default();
    let speakers: Vec<&str> = speakers.split(',').map(str::trim).filter(|_| !speakers.is_empty()).collect();
    let mut count = 0;
    let mut nodes = Vec::new();
    for node in call.content.take("children") {
        if node.kind == NodeType::Blockquote {
            nodes.push(message(node, count, &speakers));
            count += 1;
        } else {
            nodes.push(node);
        }
    }
    let mut messages = out.nodes(nodes)?;
    messages.retain(|node| is_rune(node, "div", "conversation-message"));
    messages.iter_mut().for_each(|message| field(message, "message"));
    Ok(Component::new("conversation", "div").child(part("div", "messages", messages)).build())
}

fn message(quote: Parsed, count: usize, speakers: &[&str]) -> Parsed {
    let mut children = quote.children;
    let mut speaker =
        children.first_mut().and_then(inline_host).map(|host| named_speaker(host)).unwrap_or_default();
    if let (true, false) = (speaker.is_empty(), speakers.is_empty()) {
        let in_turn = speakers.get(count % speakers.len()).copied().unwrap_or_default();
        in_turn.clone_into(&mut speaker);
        if let Some(host) = children.first_mut().and_then(inline_host) {
            let name = ast::node(NodeType::Strong, Map::new(), vec![text(format!("{speaker}:"))]);
            host.children.splice(0..0, [name, text(" ".into())]);
        }
    }
    let align = if count.is_multiple_of(2) { "left" } else { "right" };
    ast::tag_with("conversation-message", [("speaker", speaker), ("align", align.to_owned())], children)
}

fn text(content: String) -> Parsed {
    let mut attributes = Map::new();
    attributes.insert("content", Written::String(content));
    ast::node(NodeType::Text, attributes, Vec::new())
}

/// The node that holds the text of a paragraph.
fn inline_host(node: &mut Parsed) -> Option<&mut Parsed> {
    if node.kind != NodeType::Paragraph {
        return None;
    }
    if node.children.first().is_some_and(|child| child.kind == NodeType::Inline) {
        return node.children.first_mut();
    }
    Some(node)
}

/// The bold text that a paragraph begins with, without a colon at its end.
fn named_speaker(host: &Parsed) -> String {
    let Some(strong) = host.children.first().filter(|child| child.kind == NodeType::Strong) else {
        return String::new();
    };
    let name = ast::text_of(strong, "");
    let bare = name.trim_end();
    bare.strip_suffix(':').map_or_else(|| name.clone(), str::to_owned)
}
