//! An image beside text.
//!
//! Native: images that are alone in a paragraph go to one side, all other nodes to the other.

use crate::expand::header::is_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let (mut media, mut body) = (Vec::new(), Vec::new());
    for node in cx.render_nodes(rune_use.content.take("body"))? {
        match node {
            RenderNode::Element(mut tag)
                if tag.is("p") && matches!(&tag.children[..], [only] if is_element(only, "img")) =>
            {
                media.append(&mut tag.children);
            }
            node if is_element(&node, "img") => media.push(node),
            node => body.push(node),
        }
    }
    let arguments = &rune_use.arguments;
    let root = RootBuilder::new("media-text", "div")
        .value("align", arguments.non_null_or("align", "left"))
        .value("ratio", arguments.non_null_or("ratio", "1:1"))
        .value_if("wrap", arguments.is_truthy("wrap").then_some("true"));
    Ok(root.child(named_element("div", "media", media)).child(named_element("div", "body", body)).build())
}
