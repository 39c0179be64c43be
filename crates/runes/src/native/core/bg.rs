//! A background for the enclosing rune.
//!
//! Native: default values are left out, and a nested sandbox becomes the layer behind the rune.

use crate::expand::render_context::Result;
use crate::expand::root_builder::field_meta_element;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

/// Argument, field that the engine reads, default value that is left out.
const BACKGROUND_FIELDS: [(&str, &str, &str); 14] = [
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

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut children = Vec::new();
    for (name, field, default) in BACKGROUND_FIELDS {
        if let Some(value) = rune_use.arguments.truthy(name).filter(|value| value.as_str() != Some(default)) {
            children.push(field_meta_element(field, value.clone()));
        }
    }
    if rune_use.arguments.is_truthy("fixed") {
        children.push(field_meta_element("bg-fixed", "true"));
    }
    let content = cx.render_nodes(rune_use.content.take("children"))?;
    children.extend(
        first_background_candidate(&content).filter(|guest| is_sandbox(guest)).map(to_background_sandbox),
    );
    Ok(Element::new("div").with_attr("data-bg-source", true).with_children(children).into())
}

/// The first rune or player within nodes.
fn first_background_candidate(nodes: &[RenderNode]) -> Option<&Element> {
    nodes.iter().filter_map(RenderNode::as_element).find_map(|tag| {
        let is_rune = tag.attr_str("data-rune").is_some_and(|rune| !rune.is_empty());
        let is_player = ["rf-sandbox", "video", "audio", "figure"].into_iter().any(|name| tag.is(name));
        if is_rune || is_player { Some(tag) } else { first_background_candidate(&tag.children) }
    })
}

/// Media with controls or captions cannot be a background.
fn is_sandbox(tag: &Element) -> bool {
    tag.is("rf-sandbox") || tag.attr_str("data-rune") == Some("sandbox")
}

fn to_background_sandbox(tag: &Element) -> RenderNode {
    RenderNode::from(tag.clone())
        .with_attr("data-bg-guest", "")
        .with_attr("data-guest-posture", "backdrop")
        .with_attr("data-height", "fill")
        .with_attr("data-activation", "eager")
}
