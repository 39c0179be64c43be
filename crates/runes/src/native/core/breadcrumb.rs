//! The path to this page.
//!
//! Native: items are numbered, and each has its target twice: as a link and as structured data.

use serde_json::Value;

use crate::expand::header::is_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    RootBuilder, field_meta_element, named_element, set_field, set_rdfa_property,
};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let root = RootBuilder::new("breadcrumb", "nav")
        .type_of("BreadcrumbList")
        .value_if("separator", rune_use.arguments.get("separator").cloned());
    if rune_use.arguments.is_truthy("auto") {
        // A site, which knows the other pages, fills the list.
        return Ok(root
            .child(field_meta_element("__breadcrumb-auto", "true"))
            .child(named_element("ol", "items", []))
            .build());
    }
    let lists = cx.render_nodes(rune_use.content.take("list"))?;
    let lists = lists.into_iter().filter(|node| is_element(node, "ul") || is_element(node, "ol"));
    let items = lists.flat_map(|list| match list {
        RenderNode::Element(list) => list.children,
        _ => Vec::new(),
    });
    let items = items.filter_map(|item| match item {
        RenderNode::Element(item) if item.is("li") => Some(item.children),
        _ => None,
    });
    let items = items.enumerate().map(|(index, children)| breadcrumb_item(index + 1, children, cx));
    let items = items.collect::<Result<Vec<RenderNode>>>()?;
    Ok(root.child(named_element("ol", "items", items)).build())
}

fn breadcrumb_item(
    position: usize,
    mut children: Vec<RenderNode>,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    let link = children
        .iter_mut()
        .filter_map(RenderNode::as_element_mut)
        .find(|tag| tag.is("a"))
        .map(std::mem::take);
    let mut item = RootBuilder::new("breadcrumb-item", "li").type_of("ListItem");
    match link {
        Some(link) => {
            let hidden = Element::new("span")
                .with_attr("hidden", true)
                .with_children(cx.clone_counted(&link.children)?);
            item = item.child(with_field_and_property(hidden, "name", "name"));
            let href = link.attributes.get("href").cloned().unwrap_or_default();
            item = item.child(with_field_and_property(
                Element::new("a").with_attr("href", href).with_children(link.children),
                "url",
                "item",
            ));
        }
        None => {
            let text: String = children.iter().filter_map(node_text).collect();
            let text = text.js_trim();
            let inner = if text.is_empty() { children } else { vec![text.into()] };
            item = item.child(with_field_and_property(
                Element::new("span").with_children(inner),
                "name",
                "name",
            ));
        }
    }
    let position =
        Element::new("meta").with_attr("content", Value::from(position)).with_attr("property", "position");
    Ok(item.child(position).build().with_attr("property", "itemListElement"))
}

fn node_text(node: &RenderNode) -> Option<&str> {
    match node {
        RenderNode::Text(text) => Some(text),
        _ => None,
    }
}

fn with_field_and_property(tag: Element, name: &str, rdfa_property: &str) -> RenderNode {
    let mut node = RenderNode::from(tag);
    set_field(&mut node, name);
    set_rdfa_property(&mut node, rdfa_property);
    node
}
