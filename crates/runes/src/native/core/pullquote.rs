//! A quotation that stands out.
//!
//! Native because it is the first quotation in the content, or all its paragraphs where there is none.

use crate::schema::component::Component;
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut nodes = out.nodes(call.content.take("body"))?;
    if let Some(at) = nodes.iter().position(|node| is_element(node, "blockquote")) {
        nodes = vec![nodes.swap_remove(at)];
    } else {
        nodes.retain(|node| is_element(node, "p"));
    }
    let root = Component::new("pull-quote", "blockquote")
        .value("align", call.arguments.value_or("align", "center"))
        .value("variant", call.arguments.value_or("variant", "default"));
    Ok(root.children(nodes).build())
}
