//! A picture beside text.
//!
//! Native because pictures that stand alone are sorted to one side, all else to the other.

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let (mut media, mut body) = (Vec::new(), Vec::new());
    for node in out.nodes(call.content.take("body"))? {
        match node {
            Node::Tag(mut tag)
                if tag.is("p") && matches!(&tag.children[..], [only] if is_element(only, "img")) =>
            {
                media.append(&mut tag.children);
            }
            node if is_element(&node, "img") => media.push(node),
            node => body.push(node),
        }
    }
    let arguments = &call.arguments;
    let root = Component::new("media-text", "div")
        .value("align", arguments.value_or("align", "left"))
        .value("ratio", arguments.value_or("ratio", "1:1"))
        .value_if("wrap", arguments.is_given("wrap").then_some("true"));
    Ok(root.child(part("div", "media", media)).child(part("div", "body", body)).build())
}
