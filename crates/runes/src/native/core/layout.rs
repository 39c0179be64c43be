//! The frame of pages: regions in a plain element.
//!
//! Native because its mark is an attribute without a value.

use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let tag = Tag::new("div")
        .with("data-layout-def", true)
        .with("data-extends", call.arguments.value_or("extends", "parent"));
    Ok(tag.holding(out.nodes(call.content.take("body"))?).into())
}
