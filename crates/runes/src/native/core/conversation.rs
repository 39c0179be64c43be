//! A conversation: each block quote is a message.
//!
//! Native: the speaker is the bold start of a message, or comes from a list in turn and is then inserted.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use crate::content::node_ext;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let speakers = rune_use.arguments.text("speakers").unwrap_or_default();
    let speakers: Vec<&str> =
        speakers.split(',').map(str::js_trim).filter(|_| !speakers.is_empty()).collect();
    let mut count = 0;
    let mut nodes = Vec::new();
    for node in rune_use.content.take("children") {
        if node.kind == NodeType::Blockquote {
            nodes.push(to_message_node(node, count, &speakers));
            count += 1;
        } else {
            nodes.push(node);
        }
    }
    let mut messages = cx.render_nodes(nodes)?;
    messages.retain(|node| is_rune_root(node, "div", "conversation-message"));
    messages.iter_mut().for_each(|message| set_field(message, "message"));
    Ok(RootBuilder::new("conversation", "div").child(named_element("div", "messages", messages)).build())
}

fn to_message_node(quote: MarkdocNode, count: usize, speakers: &[&str]) -> MarkdocNode {
    let mut children = quote.children;
    let mut speaker =
        children.first_mut().and_then(text_container).map(|host| leading_bold_name(host)).unwrap_or_default();
    if let (true, false) = (speaker.is_empty(), speakers.is_empty()) {
        let next_speaker = speakers.get(count % speakers.len()).copied().unwrap_or_default();
        next_speaker.clone_into(&mut speaker);
        if let Some(host) = children.first_mut().and_then(text_container) {
            let name = node_ext::new_node(
                NodeType::Strong,
                AttributeMap::new(),
                vec![text_node(format!("{speaker}:"))],
            );
            host.children.splice(0..0, [name, text_node(" ".into())]);
        }
    }
    let align = if count.is_multiple_of(2) { "left" } else { "right" };
    node_ext::new_tag_with(
        "conversation-message",
        [("speaker", speaker), ("align", align.to_owned())],
        children,
    )
}

fn text_node(content: String) -> MarkdocNode {
    let mut attributes = AttributeMap::new();
    attributes.insert("content", MarkdocValue::String(content));
    node_ext::new_node(NodeType::Text, attributes, Vec::new())
}

/// The node with the text of a paragraph.
fn text_container(node: &mut MarkdocNode) -> Option<&mut MarkdocNode> {
    if node.kind != NodeType::Paragraph {
        return None;
    }
    if node.children.first().is_some_and(|child| child.kind == NodeType::Inline) {
        return node.children.first_mut();
    }
    Some(node)
}

/// The bold text at the start of a paragraph, without a trailing colon.
fn leading_bold_name(host: &MarkdocNode) -> String {
    let Some(strong) = host.children.first().filter(|child| child.kind == NodeType::Strong) else {
        return String::new();
    };
    let name = node_ext::joined_text(strong, "");
    let trimmed = name.js_trim_end();
    trimmed.strip_suffix(':').map_or_else(|| name.clone(), str::to_owned)
}
