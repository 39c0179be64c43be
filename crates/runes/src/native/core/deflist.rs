//! Terms and what they mean, from a list whose items begin with a bold term.
//!
//! Native because items are taken apart, and because its root is the markup that the engine makes of labelled values.

use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use crate::content::ast;
use crate::schema::component::{element, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let list = call.content.take("list").into_iter().find(|node| node.kind == NodeType::List);
    let items = list.map(|list| list.children).unwrap_or_default();
    let mut rows = Vec::new();
    for item in items.into_iter().filter(|item| item.kind == NodeType::Item) {
        let (term, value) = term_and_value(item);
        let value = unwrap_paragraph(out.nodes(value)?);
        let label = Tag::new("dt").with("data-meta-label", "").holding(term.map(Node::from));
        rows.push(part("div", "row", [label.into(), element("dd", value)]));
    }
    let root = Tag::new("dl").with("data-rune", "deflist").with("data-zone-layout", "definition-list");
    Ok(root.holding(rows).into())
}

/// The term that an item begins with, and the rest of the item; without a bold beginning that ends in a colon, all is rest.
fn term_and_value(item: Parsed) -> (Option<String>, Vec<Parsed>) {
    let mut children = item.children;
    let Some(inline) = children.first_mut().and_then(text_host) else { return (None, children) };
    let strong = inline.children.first().filter(|head| head.kind == NodeType::Strong);
    let texts = strong.map(|strong| {
        let texts = strong.children.iter().filter(|child| child.kind == NodeType::Text);
        texts.filter_map(|text| text.attributes.text("content")).collect::<String>()
    });
    let Some(term) = texts.as_deref().and_then(|text| text.strip_suffix(':')).map(str::to_owned) else {
        return (None, children);
    };
    let mut rest: Vec<Parsed> = inline.children.drain(1..).collect();
    trim_start(&mut rest);
    let blocks = children.into_iter().skip(1);
    let value = (!rest.is_empty()).then(|| {
        let inline = ast::node(NodeType::Inline, Map::new(), rest);
        ast::node(NodeType::Paragraph, Map::new(), vec![inline])
    });
    (Some(term), value.into_iter().chain(blocks).collect())
}

/// The node that holds the text of an item, tight or loose.
fn text_host(first: &mut Parsed) -> Option<&mut Parsed> {
    let host = match first.kind {
        NodeType::Inline => first,
        NodeType::Paragraph => first.children.first_mut()?,
        _ => return None,
    };
    (host.kind == NodeType::Inline).then_some(host)
}

/// Drops the space between a term and its value.
fn trim_start(nodes: &mut Vec<Parsed>) {
    let Some(first) = nodes.first_mut().filter(|node| node.kind == NodeType::Text) else { return };
    let Some(text) = first.attributes.text("content").map(|text| text.trim_start().to_owned()) else {
        return;
    };
    if text.is_empty() {
        nodes.remove(0);
    } else {
        first.attributes.insert("content", Written::String(text));
    }
}

fn unwrap_paragraph(mut nodes: Vec<Node>) -> Vec<Node> {
    match nodes.as_mut_slice() {
        [Node::Tag(tag)] if tag.is("p") => std::mem::take(&mut tag.children),
        _ => nodes,
    }
}
