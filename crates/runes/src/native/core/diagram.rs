//! A diagram in the language of a drawing tool.
//!
//! Native because the text of the code block is kept twice: to be read, and to be drawn from.

use crate::schema::component::{Component, element, name, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let fence = call.content.take("source").into_iter().next();
    let source = fence.as_ref().and_then(|fence| fence.attributes.text("content")).unwrap_or_default();
    let title = call.arguments.text("title").map(|title| part("figcaption", "title", [title.into()]));
    let shown = (!source.is_empty()).then(|| {
        let mut pre = element("pre", [element("code", [source.into()])]);
        name(&mut pre, "source");
        pre
    });
    let drawn = (!source.is_empty())
        .then(|| Tag::new("template").with("data-content", "source").holding([source.into()]));
    let root = Component::new("diagram", "rf-diagram")
        .value("language", call.arguments.value_or("language", "mermaid"));
    Ok(root.child_if(title).child(part("div", "container", shown)).child_if(drawn).build())
}
