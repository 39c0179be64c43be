//! `timeline`: native because its entries come from headings and from tags alike, and are numbered.

use crate::schema::component::{element, field, is_rune, part, property};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::{Call, Component, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut header = context.nodes(content.take("header"))?;
    Header::name(&mut header);
    let mut entries = context.nodes(content.take_each(&["items", "sections"]))?;
    entries.retain(|entry| is_rune(entry, "li", "timeline-entry"));
    for (at, entry) in entries.iter_mut().enumerate() {
        if let Some(tag) = entry.as_tag_mut() {
            let position = Tag::new("meta").with("property", "position").with("content", at + 1);
            tag.children.push(position.into());
        }
        field(entry, "entry");
        property(entry, "itemListElement");
    }
    Ok(Component::new("timeline", "section")
        .property("contentSection")
        .type_of("ItemList")
        .value("direction", arguments.value_or("direction", "vertical"))
        .child_if((!header.is_empty()).then(|| element("header", header)))
        .child(part("ol", "entries", entries))
        .build())
}
