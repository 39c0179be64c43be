//! A background for the rune around.
//!
//! Native because values that are the default are left out, and because a sandbox within it becomes what stands behind the rune.

use crate::schema::component::field_meta;
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

/// Arguments with the field that the engine reads, and the value that needs no saying.
const FIELDS: [(&str, &str, &str); 14] = [
    ("preset", "bg-preset", ""),
    ("src", "bg-src", ""),
    ("video", "bg-video", ""),
    ("overlay", "bg-overlay", "none"),
    ("overlay-opacity", "bg-overlay-opacity", ""),
    ("gradient", "bg-gradient", ""),
    ("from", "bg-from", ""),
    ("to", "bg-to", ""),
    ("via", "bg-via", ""),
    ("gradient-type", "bg-gradient-type", ""),
    ("blur", "bg-blur", "none"),
    ("position", "bg-position", "center"),
    ("fit", "bg-fit", "cover"),
    ("opacity", "bg-opacity", "1"),
];

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut children = Vec::new();
    for (name, field, plain) in FIELDS {
        if let Some(value) = call.arguments.given(name).filter(|value| value.as_str() != Some(plain)) {
            children.push(field_meta(field, value.clone()));
        }
    }
    if call.arguments.is_given("fixed") {
        children.push(field_meta("bg-fixed", "true"));
    }
    let content = out.nodes(call.content.take("children"))?;
    children.extend(guest(&content).filter(|guest| is_sandbox(guest)).map(backdrop));
    Ok(Tag::new("div").with("data-bg-source", true).holding(children).into())
}

/// The first rune or player within nodes.
fn guest(nodes: &[Node]) -> Option<&Tag> {
    nodes.iter().filter_map(Node::as_tag).find_map(|tag| {
        let is_rune = tag.text("data-rune").is_some_and(|rune| !rune.is_empty());
        let is_player = ["rf-sandbox", "video", "audio", "figure"].into_iter().any(|name| tag.is(name));
        if is_rune || is_player { Some(tag) } else { guest(&tag.children) }
    })
}

/// Nothing with controls or captions of its own may stand behind text.
fn is_sandbox(tag: &Tag) -> bool {
    tag.is("rf-sandbox") || tag.text("data-rune") == Some("sandbox")
}

fn backdrop(tag: &Tag) -> Node {
    Node::from(tag.clone())
        .having("data-bg-guest", "")
        .having("data-guest-posture", "backdrop")
        .having("data-height", "fill")
        .having("data-activation", "eager")
}
