//! Tabs and the rune of one tab.
//!
//! Native because a tab becomes two elements, a button and a panel, which the group puts into two lists.

use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use crate::content::ast;
use crate::content::headings::group;
use crate::schema::component::{Component, element, field, fragment, is_rune, name, part};
use crate::schema::context::Result;
use crate::schema::header::{header, is_element};
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;
use serde_json::Value;

pub(super) fn tab(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut label = Vec::new();
    if let Some(image) = call.arguments.given("image") {
        let mut attributes = Map::new();
        attributes.insert("src", Written::String(to_text(image)));
        label = out.nodes(vec![ast::node(NodeType::Image, attributes, Vec::new())])?;
    }
    label.push(element("span", [label_text(call.arguments.get("name"))]));
    for node in &mut label {
        if is_element(node, "svg") {
            field(node, "image");
        } else if is_element(node, "span") {
            name(node, "name");
        }
    }
    let panel = out.nodes(call.content.take("body"))?;
    Ok(fragment([
        Component::new("tab", "button").children(label).build(),
        Component::new("tab-panel", "div").children(panel).build(),
    ]))
}

/// The name of a tab. One that is made of a heading is a list of texts.
fn label_text(name: Option<&Value>) -> Node {
    match name {
        Some(Value::Array(texts)) => fragment(texts.iter().map(|text| Node::Text(to_text(text)))),
        Some(Value::Null) | None => Node::Text(String::new()),
        Some(text) => Node::Text(to_text(text)),
    }
}

pub(super) fn tabs(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = match group(call.content.take("children"), None) {
        Ok(grouped) => {
            let tabs = grouped.groups.into_iter().map(|(heading, body)| tab_of(&heading, body));
            grouped.before.into_iter().chain(tabs).collect()
        }
        Err(nodes) => nodes,
    };
    let (tabs, rest): (Vec<Parsed>, Vec<Parsed>) = nodes.into_iter().partition(|node| node.is_tag("tab"));
    let is_header = |node: &Parsed| matches!(node.kind, NodeType::Heading | NodeType::Paragraph);
    let head = out.nodes(rest.into_iter().filter(is_header).collect())?;
    let rendered = out.nodes(tabs)?;
    let (buttons, panels): (Vec<Node>, Vec<Node>) =
        rendered.into_iter().partition(|node| is_rune(node, "button", "tab"));
    let panels = panels.into_iter().filter(|node| is_rune(node, "div", "tab-panel"));
    let mut list: Node = Tag::new("div").with("role", "tablist").holding(buttons).into();
    name(&mut list, "tabs");
    let root = Component::new("tab-group", "section")
        .property("contentSection")
        .class(call.arguments.get("class").cloned())
        .child_if(header(head));
    Ok(root.child(list).child(part("div", "panels", panels)).build())
}

fn tab_of(heading: &Parsed, body: Vec<Parsed>) -> Parsed {
    let texts = heading.walk().filter(|node| node.kind == NodeType::Text);
    let texts = texts.filter_map(|node| node.attributes.get("content").cloned()).collect();
    let image = heading.walk().find(|node| node.kind == NodeType::Image);
    let mut attributes = Map::new();
    attributes.insert("name", Written::Array(texts));
    if let Some(source) = image.and_then(|image| image.attributes.get("src")) {
        attributes.insert("image", source.clone());
    }
    ast::tag("tab", attributes, body)
}
