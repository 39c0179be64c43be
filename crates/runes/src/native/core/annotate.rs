//! Text with notes beside it.
//!
//! Native because the notes among the content are marked.

use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut body = out.nodes(call.content.take("body"))?;
    for note in body.iter_mut().filter(|node| is_rune(node, "aside", "annotate-note")) {
        field(note, "note");
    }
    let root =
        Component::new("annotate", "div").value("variant", call.arguments.value_or("variant", "margin"));
    Ok(root.child(part("div", "body", body)).build())
}
