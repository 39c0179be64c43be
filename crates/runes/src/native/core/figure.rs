//! An image with a caption.
//!
//! Native: images are collected at any depth; the first paragraph that is not just one image is the caption. An image in
//! the caption is shown twice, and both copies of the first image carry its structured data.

use crate::expand::header::is_element;
use crate::expand::media::{collect_media, first_media_mut, is_media};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, new_element, set_name, set_rdfa_property};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut nodes = cx.render_nodes(rune_use.content.take("body"))?;
    if let Some(first) = first_media_mut(&mut nodes) {
        set_rdfa_property(first, "contentUrl");
    }
    let images = collect_media(&nodes);
    let caption = match rune_use.arguments.text("caption") {
        Some(text) => Some(new_element("figcaption", [text.into()])),
        None => {
            let text = nodes.into_iter().find(|node| is_element(node, "p") && !is_lone_media(node));
            text.map(|paragraph| new_element("figcaption", [paragraph]))
        }
    };
    let caption = caption.map(|mut caption| {
        set_name(&mut caption, "caption");
        set_rdfa_property(&mut caption, "caption");
        caption
    });
    let root = RootBuilder::new("figure", "figure")
        .type_of("ImageObject")
        .value_if("size", rune_use.arguments.truthy("size").cloned())
        .value_if("align", rune_use.arguments.truthy("align").cloned());
    Ok(root.children(images).child_if(caption).build())
}

/// Whether the only element of a paragraph is an image.
fn is_lone_media(node: &RenderNode) -> bool {
    let children = node.as_element().map(|tag| tag.children.as_slice()).unwrap_or_default();
    let mut elements = children.iter().filter(|child| child.as_element().is_some());
    elements.next().is_some_and(is_media) && elements.next().is_none()
}
