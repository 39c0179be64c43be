//! A picture with a caption.
//!
//! Native because pictures are found wherever they stand, and the first paragraph that is not one is the caption.

use crate::schema::component::{Component, element, name, property};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::media::{collect_media, is_media};
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = out.nodes(call.content.take("body"))?;
    let mut images = collect_media(&nodes);
    let caption = match call.arguments.text("caption") {
        Some(text) => Some(element("figcaption", [text.into()])),
        None => {
            let text = nodes.into_iter().find(|node| is_element(node, "p") && !holds_one_picture(node));
            text.map(|paragraph| element("figcaption", [paragraph]))
        }
    };
    if let Some(first) = images.first_mut() {
        property(first, "contentUrl");
    }
    let caption = caption.map(|mut caption| {
        name(&mut caption, "caption");
        property(&mut caption, "caption");
        caption
    });
    let root = Component::new("figure", "figure")
        .type_of("ImageObject")
        .value_if("size", call.arguments.given("size").cloned())
        .value_if("align", call.arguments.given("align").cloned());
    Ok(root.children(images).child_if(caption).build())
}

/// Whether a paragraph's only element is a picture.
fn holds_one_picture(node: &Node) -> bool {
    let children = node.as_tag().map(|tag| tag.children.as_slice()).unwrap_or_default();
    let mut elements = children.iter().filter(|child| child.as_tag().is_some());
    elements.next().is_some_and(is_media) && elements.next().is_none()
}
