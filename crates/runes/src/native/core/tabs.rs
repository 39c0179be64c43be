//! Tabs and the rune of one tab.
//!
//! Native: a tab becomes a button and a panel, which the group puts into two lists.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use crate::content::headings::group_by_heading_or_list;
use crate::content::node_ext;
use crate::expand::header::{header_element, is_element};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    RootBuilder, fragment, is_rune_root, named_element, new_element, set_field, set_name,
};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};
use serde_json::Value;

pub(super) fn transform_tab(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut label = Vec::new();
    if let Some(image) = rune_use.arguments.truthy("image") {
        let mut attributes = AttributeMap::new();
        attributes.insert("src", MarkdocValue::String(to_js_string(image)));
        label = cx.render_nodes(vec![node_ext::new_node(NodeType::Image, attributes, Vec::new())])?;
    }
    label.push(new_element("span", [label_node(rune_use.arguments.get("name"))]));
    for node in &mut label {
        if is_element(node, "svg") {
            set_field(node, "image");
        } else if is_element(node, "span") {
            set_name(node, "name");
        }
    }
    let panel = cx.render_nodes(rune_use.content.take("body"))?;
    Ok(fragment([
        RootBuilder::new("tab", "button").children(label).build(),
        RootBuilder::new("tab-panel", "div").children(panel).build(),
    ]))
}

/// The name of a tab. A name that comes from a heading is a list of texts.
fn label_node(name: Option<&Value>) -> RenderNode {
    match name {
        Some(Value::Array(texts)) => fragment(texts.iter().map(|text| RenderNode::Text(to_js_string(text)))),
        Some(Value::Null) | None => RenderNode::Text(String::new()),
        Some(text) => RenderNode::Text(to_js_string(text)),
    }
}

pub(super) fn transform_tabs(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = match group_by_heading_or_list(rune_use.content.take("children"), None) {
        Ok(grouped) => {
            let tabs = grouped.groups.into_iter().map(|(heading, body)| heading_to_tab(&heading, body));
            grouped.before.into_iter().chain(tabs).collect()
        }
        Err(nodes) => nodes,
    };
    let (tabs, rest): (Vec<MarkdocNode>, Vec<MarkdocNode>) =
        nodes.into_iter().partition(|node| node.is_tag("tab"));
    let is_header = |node: &MarkdocNode| matches!(node.kind, NodeType::Heading | NodeType::Paragraph);
    let head = cx.render_nodes(rest.into_iter().filter(is_header).collect())?;
    let rendered = cx.render_nodes(tabs)?;
    let (buttons, panels): (Vec<RenderNode>, Vec<RenderNode>) =
        rendered.into_iter().partition(|node| is_rune_root(node, "button", "tab"));
    let panels = panels.into_iter().filter(|node| is_rune_root(node, "div", "tab-panel"));
    let mut list: RenderNode = Element::new("div").with_attr("role", "tablist").with_children(buttons).into();
    set_name(&mut list, "tabs");
    let root = RootBuilder::new("tab-group", "section")
        .data_field("contentSection")
        .class(rune_use.arguments.get("class").cloned())
        .child_if(header_element(head));
    Ok(root.child(list).child(named_element("div", "panels", panels)).build())
}

fn heading_to_tab(heading: &MarkdocNode, body: Vec<MarkdocNode>) -> MarkdocNode {
    let texts = heading.descendants().filter(|node| node.kind == NodeType::Text);
    let texts = texts.filter_map(|node| node.attributes.get("content").cloned()).collect();
    let image = heading.descendants().find(|node| node.kind == NodeType::Image);
    let mut attributes = AttributeMap::new();
    attributes.insert("name", MarkdocValue::Array(texts));
    if let Some(source) = image.and_then(|image| image.attributes.get("src")) {
        attributes.insert("image", source.clone());
    }
    node_ext::new_tag("tab", attributes, body)
}
