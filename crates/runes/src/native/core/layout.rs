//! The frame of pages: regions in a plain element.
//!
//! Native: its mark is an attribute without a value.

use crate::expand::render_context::Result;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let tag = Element::new("div")
        .with_attr("data-layout-def", true)
        .with_attr("data-extends", rune_use.arguments.non_null_or("extends", "parent"));
    Ok(tag.with_children(cx.render_nodes(rune_use.content.take("body"))?).into())
}
