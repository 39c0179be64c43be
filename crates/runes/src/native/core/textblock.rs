//! Running text in columns.
//!
//! Native because one column and text from the left are what text is anyway, and are not handed over.

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let body = out.nodes(call.content.take("body"))?;
    let arguments = &call.arguments;
    let columns =
        arguments.get("columns").filter(|_| arguments.number("columns").is_some_and(|count| count > 1.0));
    let align = arguments.get("align").filter(|align| !align.is_null() && align.as_str() != Some("left"));
    let root = Component::new("text-block", "div")
        .value_if("columns", columns.map(to_text))
        .value_if("lead", arguments.is_given("lead").then_some("lead"))
        .value_if("align", align.cloned());
    Ok(root.child(part("div", "body", body)).build())
}
