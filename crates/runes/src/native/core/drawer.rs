//! A panel that slides in from an edge.
//!
//! Native because the level of its title is clamped, and because a rule in its text opens a footer.

use serde_json::Value;

use crate::schema::component::{Component, element, name, part};
use crate::schema::context::Result;
use crate::schema::layout::split_at_first_rule;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let id = arguments.get("id").cloned();
    let id_text = id.as_ref().map_or_else(|| "undefined".to_owned(), to_text);
    let mut head = Vec::new();
    if let Some(text) = arguments.text("title") {
        let mut title: Node = match arguments.get("headingLevel").and_then(Value::as_f64) {
            Some(level) => element(&format!("h{}", level.trunc().clamp(1.0, 6.0)), [text.into()]),
            // Without the page around it, nobody knows the level; a later stage may.
            None => Tag::new("h3").with("data-drawer-title-auto", "true").holding([text.into()]).into(),
        };
        name(&mut title, "title");
        head.push(title);
    }
    let close = Tag::new("button").with("type", "button").with("aria-label", "Close").with("hidden", true);
    let mut close: Node = close.holding(["×".into()]).into();
    name(&mut close, "close");
    head.push(close);

    let root = Component::new("drawer", "section")
        .id(Some(format!("drawer-{id_text}").into()))
        .value("side", arguments.value_or("side", "right"))
        .value("size", arguments.value_or("size", "md"))
        .value_if("shortcut", arguments.given("shortcut").cloned());
    let (body, footer) = split_at_first_rule(call.content.take("body"));
    let mut root = root.child(part("header", "header", head)).child(part("div", "body", out.nodes(body)?));
    if let Some(footer) = footer {
        root = root.child(part("footer", "footer", out.nodes(footer)?));
    }
    Ok(root.build().having("data-drawer-id", id.unwrap_or_default()))
}
