//! Text that unfolds.
//!
//! Native because `open` is an attribute of the element that is there or not, whatever its value.

use crate::schema::component::{Component, element, field, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let body = out.nodes(call.content.take("body"))?;
    let mut summary = element("summary", [call.arguments.text_or("summary", "Details").into()]);
    field(&mut summary, "summary");
    let root = Component::new("details", "details").child(summary).child(part("div", "body", body)).build();
    Ok(if call.arguments.is_given("open") { root.having("open", true) } else { root })
}
