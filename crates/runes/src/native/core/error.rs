//! A row of the table of errors.
//!
//! Native because it reads an object.

use serde_json::Value;

use crate::schema::component::{Component, element, field};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let Some(Value::Object(error)) = call.arguments.get("error") else {
        return Err(call.error("`error` must be an object with id, level and message"));
    };
    let tag = call.arguments.get("tag");
    let cells = [
        ("tag", tag),
        ("code", error.get("id")),
        ("level", error.get("level")),
        ("message", error.get("message")),
    ];
    let cells = cells.map(|(name, value)| {
        let text =
            value.filter(|value| !value.is_null()).map_or(Node::Null, |value| Node::Text(to_text(value)));
        let mut cell = element("td", [text]);
        field(&mut cell, name);
        cell
    });
    Ok(Component::new("error", "tr").property("error").children(cells).build())
}
