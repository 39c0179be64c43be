//! A pull quote.
//!
//! Native: it shows the first block quote of its content, or all paragraphs if there is none.

use crate::expand::header::is_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::RootBuilder;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut nodes = cx.render_nodes(rune_use.content.take("body"))?;
    if let Some(index) = nodes.iter().position(|node| is_element(node, "blockquote")) {
        nodes = vec![nodes.swap_remove(index)];
    } else {
        nodes.retain(|node| is_element(node, "p"));
    }
    let root = RootBuilder::new("pull-quote", "blockquote")
        .value("align", rune_use.arguments.non_null_or("align", "center"))
        .value("variant", rune_use.arguments.non_null_or("variant", "default"));
    Ok(root.children(nodes).build())
}
