//! `timeline`. Native: entries come from headings and from tags, and are numbered.

use crate::expand::header::SectionHeader;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{is_rune_root, named_element, new_element, set_field, set_rdfa_property};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut header = cx.render_nodes(content.take("header"))?;
    SectionHeader::set_part_names(&mut header);
    let mut entries = cx.render_nodes(content.take_each(&["items", "sections"]))?;
    entries.retain(|entry| is_rune_root(entry, "li", "timeline-entry"));
    for (index, entry) in entries.iter_mut().enumerate() {
        if let Some(tag) = entry.as_element_mut() {
            let position =
                Element::new("meta").with_attr("property", "position").with_attr("content", index + 1);
            tag.children.push(position.into());
        }
        set_field(entry, "entry");
        set_rdfa_property(entry, "itemListElement");
    }
    Ok(RootBuilder::new("timeline", "section")
        .data_field("contentSection")
        .type_of("ItemList")
        .value("direction", arguments.non_null_or("direction", "vertical"))
        .child_if((!header.is_empty()).then(|| new_element("header", header)))
        .child(named_element("ol", "entries", entries))
        .build())
}
