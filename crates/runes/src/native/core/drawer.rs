//! A panel that slides in from an edge.
//!
//! Native: the level of its title is clamped, and a thematic break starts a footer.

use serde_json::Value;

use crate::expand::layout::split_at_first_thematic_break;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let id = arguments.get("id").cloned();
    let id_text = id.as_ref().map_or_else(|| "undefined".to_owned(), to_js_string);
    let mut head = Vec::new();
    if let Some(text) = arguments.text("title") {
        let mut title: RenderNode = match arguments.get("headingLevel").and_then(Value::as_f64) {
            Some(level) => new_element(&format!("h{}", level.trunc().clamp(1.0, 6.0)), [text.into()]),
            // The level depends on the page; a site may change it.
            None => Element::new("h3")
                .with_attr("data-drawer-title-auto", "true")
                .with_children([text.into()])
                .into(),
        };
        set_name(&mut title, "title");
        head.push(title);
    }
    let close = Element::new("button")
        .with_attr("type", "button")
        .with_attr("aria-label", "Close")
        .with_attr("hidden", true);
    let mut close: RenderNode = close.with_children(["×".into()]).into();
    set_name(&mut close, "close");
    head.push(close);

    let root = RootBuilder::new("drawer", "section")
        .id(Some(format!("drawer-{id_text}").into()))
        .value("side", arguments.non_null_or("side", "right"))
        .value("size", arguments.non_null_or("size", "md"))
        .value_if("shortcut", arguments.truthy("shortcut").cloned());
    let (body, footer) = split_at_first_thematic_break(rune_use.content.take("body"));
    let mut root = root.child(named_element("header", "header", head)).child(named_element(
        "div",
        "body",
        cx.render_nodes(body)?,
    ));
    if let Some(footer) = footer {
        root = root.child(named_element("footer", "footer", cx.render_nodes(footer)?));
    }
    Ok(root.build().with_attr("data-drawer-id", id.unwrap_or_default()))
}
