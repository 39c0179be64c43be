//! A row with a start group and an end group.
//!
//! Native: its root is not built by [`RootBuilder`](crate::expand::RootBuilder); it is the markup of the engine's own
//! rows.

use crate::expand::layout::split_at_first_thematic_break;
use crate::expand::render_context::Result;
use crate::expand::root_builder::new_element;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let (left, right) = split_at_first_thematic_break(rune_use.content.take("body"));
    let right = right.filter(|right| !right.is_empty());
    let mut groups = vec![new_element("div", cx.render_nodes(left)?)];
    if let Some(right) = right {
        groups.push(
            Element::new("div").with_attr("data-align", "end").with_children(cx.render_nodes(right)?).into(),
        );
    }
    Ok(Element::new("div")
        .with_attr("data-rune", "bar")
        .with_attr("data-zone-layout", "bar")
        .with_children(groups)
        .into())
}
