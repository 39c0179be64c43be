//! Running text in columns.
//!
//! Native: one column and start alignment are the default and are not passed to the engine.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let body = cx.render_nodes(rune_use.content.take("body"))?;
    let arguments = &rune_use.arguments;
    let columns =
        arguments.get("columns").filter(|_| arguments.number("columns").is_some_and(|count| count > 1.0));
    let align = arguments.get("align").filter(|align| !align.is_null() && align.as_str() != Some("left"));
    let root = RootBuilder::new("text-block", "div")
        .value_if("columns", columns.map(to_js_string))
        .value_if("lead", arguments.is_truthy("lead").then_some("lead"))
        .value_if("align", align.cloned());
    Ok(root.child(named_element("div", "body", body)).build())
}
