//! Accordions: a header, then one panel for each section.
//!
//! Native because only panels are taken, whether they come from headings or are written as tags, and each is marked as an answer.

use crate::schema::component::{Component, field, is_rune, part, property};
use crate::schema::context::Result;
use crate::schema::header::header;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let head = out.nodes(call.content.take("header"))?;
    let mut items = out.nodes(call.content.take("items"))?;
    items.extend(out.nodes(call.content.take("sections"))?);
    items.retain(|item| is_rune(item, "details", "accordion-item"));
    for item in &mut items {
        field(item, "item");
        property(item, "mainEntity");
    }
    let root = Component::new("accordion", "section").property("contentSection").type_of("FAQPage");
    Ok(root.child_if(header(head)).child(part("div", "items", items)).build())
}
