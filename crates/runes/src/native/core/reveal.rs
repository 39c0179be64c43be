//! Content in steps.
//!
//! Native: only steps are kept, whether they come from headings or tags.

use crate::expand::header::header_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, meta_element, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let head = cx.render_nodes(rune_use.content.take("header"))?;
    let mut steps = cx.render_nodes(rune_use.content.take("items"))?;
    steps.extend(cx.render_nodes(rune_use.content.take("sections"))?);
    steps.retain(|step| is_rune_root(step, "div", "reveal-step"));
    steps.iter_mut().for_each(|step| set_field(step, "step"));
    let mode = meta_element(rune_use.arguments.non_null_or("mode", "click"));
    let root = RootBuilder::new("reveal", "section").data_field("contentSection");
    Ok(root.child_if(header_element(head)).child(mode).child(named_element("div", "steps", steps)).build())
}
