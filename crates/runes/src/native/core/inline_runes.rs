//! Small inline runes and placeholders: badge, icon, xref, expand.
//!
//! Native: none has a root that [`RootBuilder`](crate::expand::RootBuilder) builds; their attributes are final.

use serde_json::Value;

use crate::expand::placeholder;
use crate::expand::render_context::Result;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform_badge(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let tag = Element::new("span")
        .with_attr("class", "rf-badge")
        .with_attr("data-rune", "badge")
        .with_attr("data-meta-sentiment", rune_use.arguments.non_null_or("sentiment", "neutral"))
        .with_attr("data-meta-type", rune_use.arguments.non_null_or("type", "tag"));
    Ok(tag.with_children(cx.render_nodes(rune_use.content.take("children"))?).into())
}

pub(super) fn transform_icon(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let Some(name) = rune_use.arguments.get("name").filter(|name| !name.is_null()) else {
        return Err(rune_use.error("an icon needs a `name`"));
    };
    Ok(placeholder::icon(&to_js_string(name), rune_use.arguments.text("size").as_deref(), ""))
}

pub(super) fn transform_xref(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let id = rune_use.arguments.get("primary").cloned().unwrap_or_default();
    let mut tag = Element::new("span").with_attr("data-rune", "xref").with_attr("data-xref-id", id.clone());
    for name in ["label", "type", "preview"] {
        if let Some(value) = rune_use.arguments.truthy(name) {
            tag = tag.with_attr(format!("data-xref-{name}"), value.clone());
        }
    }
    let label = rune_use.arguments.truthy("label").cloned().unwrap_or(id);
    let label_node = if label.is_null() { RenderNode::Null } else { RenderNode::Text(to_js_string(&label)) };
    Ok(tag.with_children([label_node]).into())
}

pub(super) fn transform_expand(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let mut tag = Element::new("div")
        .with_attr("data-rune", "expand-pending")
        .with_attr("data-expand-id", arguments.get("primary").cloned().unwrap_or_default());
    if let Some(level @ Value::Number(_)) = arguments.get("level") {
        tag = tag.with_attr("data-expand-level", to_js_string(level));
    }
    if let Some(kind) = arguments.truthy("type") {
        tag = tag.with_attr("data-expand-type", kind.clone());
    }
    if arguments.is_true("canonical") {
        tag = tag.with_attr("data-expand-canonical", "true");
    }
    if let Some(label) = arguments.truthy("label") {
        tag = tag.with_attr("data-expand-label", label.clone());
    }
    Ok(tag.into())
}
