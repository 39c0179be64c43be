//! A diagram in the language of a drawing tool.
//!
//! Native: the text of the code block is kept twice: to read, and to draw from.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let fence = rune_use.content.take("source").into_iter().next();
    let source = fence.as_ref().and_then(|fence| fence.attributes.get_str("content")).unwrap_or_default();
    let title =
        rune_use.arguments.text("title").map(|title| named_element("figcaption", "title", [title.into()]));
    let source_block = (!source.is_empty()).then(|| {
        let mut pre = new_element("pre", [new_element("code", [source.into()])]);
        set_name(&mut pre, "source");
        pre
    });
    let template = (!source.is_empty())
        .then(|| Element::new("template").with_attr("data-content", "source").with_children([source.into()]));
    let root = RootBuilder::new("diagram", "rf-diagram")
        .value("language", rune_use.arguments.non_null_or("language", "mermaid"));
    Ok(root.child_if(title).child(named_element("div", "container", source_block)).child_if(template).build())
}
