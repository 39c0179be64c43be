//! Text with notes beside it.
//!
//! Native: the notes among the content are marked.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut body = cx.render_nodes(rune_use.content.take("body"))?;
    for note in body.iter_mut().filter(|node| is_rune_root(node, "aside", "annotate-note")) {
        set_field(note, "note");
    }
    let root = RootBuilder::new("annotate", "div")
        .value("variant", rune_use.arguments.non_null_or("variant", "margin"));
    Ok(root.child(named_element("div", "body", body)).build())
}
