//! Content in steps.
//!
//! Native because only steps are taken, whether they come from headings or are written as tags.

use crate::schema::component::{Component, field, is_rune, meta, part};
use crate::schema::context::Result;
use crate::schema::header::header;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let head = out.nodes(call.content.take("header"))?;
    let mut steps = out.nodes(call.content.take("items"))?;
    steps.extend(out.nodes(call.content.take("sections"))?);
    steps.retain(|step| is_rune(step, "div", "reveal-step"));
    steps.iter_mut().for_each(|step| field(step, "step"));
    let mode = meta(call.arguments.value_or("mode", "click"));
    let root = Component::new("reveal", "section").property("contentSection");
    Ok(root.child_if(header(head)).child(mode).child(part("div", "steps", steps)).build())
}
