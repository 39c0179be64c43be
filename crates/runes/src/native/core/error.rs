//! A row of the table of errors.
//!
//! Native: its argument is an object.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, new_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let Some(Value::Object(error)) = rune_use.arguments.get("error") else {
        return Err(rune_use.error("`error` must be an object with id, level and message"));
    };
    let tag = rune_use.arguments.get("tag");
    let cells = [
        ("tag", tag),
        ("code", error.get("id")),
        ("level", error.get("level")),
        ("message", error.get("message")),
    ];
    let cells = cells.map(|(name, value)| {
        let text = value
            .filter(|value| !value.is_null())
            .map_or(RenderNode::Null, |value| RenderNode::Text(to_js_string(value)));
        let mut cell = new_element("td", [text]);
        set_field(&mut cell, name);
        cell
    });
    Ok(RootBuilder::new("error", "tr").data_field("error").children(cells).build())
}
