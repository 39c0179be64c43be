//! Definition lists, from a list whose items start with a bold term.
//!
//! Native: items are split, and its root is the markup of the engine's own definition lists.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use crate::content::node_ext;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, new_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let list = rune_use.content.take("list").into_iter().find(|node| node.kind == NodeType::List);
    let items = list.map(|list| list.children).unwrap_or_default();
    let mut rows = Vec::new();
    for item in items.into_iter().filter(|item| item.kind == NodeType::Item) {
        let (term, value) = term_and_value(item);
        let value = unwrap_paragraph(cx.render_nodes(value)?);
        let label =
            Element::new("dt").with_attr("data-meta-label", "").with_children(term.map(RenderNode::from));
        rows.push(named_element("div", "row", [label.into(), new_element("dd", value)]));
    }
    let root =
        Element::new("dl").with_attr("data-rune", "deflist").with_attr("data-zone-layout", "definition-list");
    Ok(root.with_children(rows).into())
}

/// The term of an item and the rest. An item that does not start with bold text ending in a colon has no term.
fn term_and_value(item: MarkdocNode) -> (Option<String>, Vec<MarkdocNode>) {
    let mut children = item.children;
    let Some(inline) = children.first_mut().and_then(inline_node) else { return (None, children) };
    let strong = inline.children.first().filter(|head| head.kind == NodeType::Strong);
    let texts = strong.map(|strong| {
        let texts = strong.children.iter().filter(|child| child.kind == NodeType::Text);
        texts.filter_map(|text| text.attributes.get_str("content")).collect::<String>()
    });
    let Some(term) = texts.as_deref().and_then(|text| text.strip_suffix(':')).map(str::to_owned) else {
        return (None, children);
    };
    let mut rest: Vec<MarkdocNode> = inline.children.drain(1..).collect();
    trim_leading_space(&mut rest);
    let blocks = children.into_iter().skip(1);
    let value = (!rest.is_empty()).then(|| {
        let inline = node_ext::new_node(NodeType::Inline, AttributeMap::new(), rest);
        node_ext::new_node(NodeType::Paragraph, AttributeMap::new(), vec![inline])
    });
    (Some(term), value.into_iter().chain(blocks).collect())
}

/// The node with the text of an item, tight or loose.
fn inline_node(first: &mut MarkdocNode) -> Option<&mut MarkdocNode> {
    let host = match first.kind {
        NodeType::Inline => first,
        NodeType::Paragraph => first.children.first_mut()?,
        _ => return None,
    };
    (host.kind == NodeType::Inline).then_some(host)
}

/// Drops the space between a term and its value.
fn trim_leading_space(nodes: &mut Vec<MarkdocNode>) {
    let Some(first) = nodes.first_mut().filter(|node| node.kind == NodeType::Text) else { return };
    let Some(text) = first.attributes.get_str("content").map(|text| text.js_trim_start().to_owned()) else {
        return;
    };
    if text.is_empty() {
        nodes.remove(0);
    } else {
        first.attributes.insert("content", MarkdocValue::String(text));
    }
}

fn unwrap_paragraph(mut nodes: Vec<RenderNode>) -> Vec<RenderNode> {
    match nodes.as_mut_slice() {
        [RenderNode::Element(tag)] if tag.is("p") => std::mem::take(&mut tag.children),
        _ => nodes,
    }
}
