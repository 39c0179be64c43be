//! Text that unfolds.
//!
//! Native: `open` is an attribute without a value, present or absent.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let body = cx.render_nodes(rune_use.content.take("body"))?;
    let mut summary = new_element("summary", [rune_use.arguments.text_or("summary", "Details").into()]);
    set_field(&mut summary, "summary");
    let root = RootBuilder::new("details", "details")
        .child(summary)
        .child(named_element("div", "body", body))
        .build();
    Ok(if rune_use.arguments.is_truthy("open") { root.with_attr("open", true) } else { root })
}
