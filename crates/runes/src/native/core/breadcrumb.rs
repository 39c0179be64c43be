//! The way to this page.
//!
//! Native because each item counts, and says twice where it leads: for readers and for search engines.

use serde_json::Value;

use crate::schema::component::{Component, field, field_meta, part, property};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let root = Component::new("breadcrumb", "nav")
        .type_of("BreadcrumbList")
        .value_if("separator", call.arguments.get("separator").cloned());
    if call.arguments.is_given("auto") {
        // A later stage, which knows the other pages, fills the list.
        return Ok(root
            .child(field_meta("__breadcrumb-auto", "true"))
            .child(part("ol", "items", []))
            .build());
    }
    let lists = out.nodes(call.content.take("list"))?;
    let lists = lists.into_iter().filter(|node| is_element(node, "ul") || is_element(node, "ol"));
    let items = lists.flat_map(|list| match list {
        Node::Tag(list) => list.children,
        _ => Vec::new(),
    });
    let items = items.filter_map(|item| match item {
        Node::Tag(item) if item.is("li") => Some(item.children),
        _ => None,
    });
    let items = items.enumerate().map(|(at, children)| item(at + 1, children, out));
    let items = items.collect::<Result<Vec<Node>>>()?;
    Ok(root.child(part("ol", "items", items)).build())
}

fn item(position: usize, mut children: Vec<Node>, out: &mut Context<'_>) -> Result<Node> {
    let link = children.iter_mut().filter_map(Node::as_tag_mut).find(|tag| tag.is("a")).map(std::mem::take);
    let mut item = Component::new("breadcrumb-item", "li").type_of("ListItem");
    match link {
        Some(link) => {
            let hidden = Tag::new("span").with("hidden", true).holding(out.repeated(&link.children)?);
            item = item.child(marked(hidden, "name", "name"));
            let href = link.attributes.get("href").cloned().unwrap_or_default();
            item = item.child(marked(Tag::new("a").with("href", href).holding(link.children), "url", "item"));
        }
        None => {
            let text: String = children.iter().filter_map(text).collect();
            let text = text.trim();
            let inner = if text.is_empty() { children } else { vec![text.into()] };
            item = item.child(marked(Tag::new("span").holding(inner), "name", "name"));
        }
    }
    let position = Tag::new("meta").with("content", Value::from(position)).with("property", "position");
    Ok(item.child(position).build().having("property", "itemListElement"))
}

fn text(node: &Node) -> Option<&str> {
    match node {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

fn marked(tag: Tag, name: &str, data: &str) -> Node {
    let mut node = Node::from(tag);
    field(&mut node, name);
    property(&mut node, data);
    node
}
