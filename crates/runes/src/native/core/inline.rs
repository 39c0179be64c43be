//! The small runes that stand in a line of text or for a place that a later stage fills: badge, icon, xref, expand.
//!
//! Native because none of them has a root that the schema builds: the engine is given finished attributes.

use serde_json::Value;

use crate::schema::context::Result;
use crate::schema::placeholder;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn badge(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let tag = Tag::new("span")
        .with("class", "rf-badge")
        .with("data-rune", "badge")
        .with("data-meta-sentiment", call.arguments.value_or("sentiment", "neutral"))
        .with("data-meta-type", call.arguments.value_or("type", "tag"));
    Ok(tag.holding(out.nodes(call.content.take("children"))?).into())
}

pub(super) fn icon(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let Some(name) = call.arguments.get("name").filter(|name| !name.is_null()) else {
        return Err(call.error("an icon needs a `name`"));
    };
    Ok(placeholder::icon(&to_text(name), call.arguments.text("size").as_deref(), ""))
}

pub(super) fn xref(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let id = call.arguments.get("primary").cloned().unwrap_or_default();
    let mut tag = Tag::new("span").with("data-rune", "xref").with("data-xref-id", id.clone());
    for name in ["label", "type", "preview"] {
        if let Some(value) = call.arguments.given(name) {
            tag = tag.with(format!("data-xref-{name}"), value.clone());
        }
    }
    let shown = call.arguments.given("label").cloned().unwrap_or(id);
    let shown = if shown.is_null() { Node::Null } else { Node::Text(to_text(&shown)) };
    Ok(tag.holding([shown]).into())
}

pub(super) fn expand(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let mut tag = Tag::new("div")
        .with("data-rune", "expand-pending")
        .with("data-expand-id", arguments.get("primary").cloned().unwrap_or_default());
    if let Some(level @ Value::Number(_)) = arguments.get("level") {
        tag = tag.with("data-expand-level", to_text(level));
    }
    if let Some(kind) = arguments.given("type") {
        tag = tag.with("data-expand-type", kind.clone());
    }
    if arguments.is_true("canonical") {
        tag = tag.with("data-expand-canonical", "true");
    }
    if let Some(label) = arguments.given("label") {
        tag = tag.with("data-expand-label", label.clone());
    }
    Ok(tag.into())
}
