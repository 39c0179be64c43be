//! Events.
//!
//! Native: parts of the header are structured data too, and the place is a nested entity.

use crate::expand::header::SectionHeader;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, rdfa_meta_element, set_rdfa_property};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut header = unwrap_paragraphs(cx.render_nodes(rune_use.content.take("header"))?);
    let section_header = SectionHeader::set_part_names(&mut header);
    for (index, rdfa_property) in [(section_header.headline, "name"), (section_header.blurb, "description")] {
        if let Some(node) = index.and_then(|node_index| header.get_mut(node_index)) {
            set_rdfa_property(node, rdfa_property);
        }
    }
    let body = cx.render_nodes(rune_use.content.take("body"))?;
    let mut root = RootBuilder::new("event", "article").data_field("contentSection").type_of("Event");
    for (name, rdfa_property) in
        [("date", "startDate"), ("endDate", "endDate"), ("location", ""), ("url", "url")]
    {
        let value = rune_use.arguments.non_null_or(name, "");
        if !rdfa_property.is_empty() {
            root = root.child_if(rdfa_meta_element(rdfa_property, Some(&value)));
        }
        root = root.value(name, value);
    }
    let place = rune_use.arguments.truthy("location").map(|location| {
        let name = Element::new("meta").with_attr("property", "name").with_attr("content", location.clone());
        Element::new("span")
            .with_attr("typeof", "Place")
            .with_attr("property", "location")
            .with_children([name.into()])
    });
    Ok(root.children(header).child(named_element("div", "body", body)).child_if(place).build())
}
