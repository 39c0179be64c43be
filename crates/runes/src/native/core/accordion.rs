//! Accordions: a header, then one panel for each section.
//!
//! Native: only panels are kept, whether they come from headings or tags, and each is marked up as an answer.

use crate::expand::header::header_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field, set_rdfa_property};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let head = cx.render_nodes(rune_use.content.take("header"))?;
    let mut items = cx.render_nodes(rune_use.content.take("items"))?;
    items.extend(cx.render_nodes(rune_use.content.take("sections"))?);
    items.retain(|item| is_rune_root(item, "details", "accordion-item"));
    for item in &mut items {
        set_field(item, "item");
        set_rdfa_property(item, "mainEntity");
    }
    let root = RootBuilder::new("accordion", "section").data_field("contentSection").type_of("FAQPage");
    Ok(root.child_if(header_element(head)).child(named_element("div", "items", items)).build())
}
