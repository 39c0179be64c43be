//! `organization`. Native: an argument sets its schema.org type.

use crate::expand::header::SectionHeader;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, new_element};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut header = unwrap_paragraphs(cx.render_nodes(content.take("header"))?);
    SectionHeader::set_part_names(&mut header).set_rdfa_properties(&mut header);
    let body = cx.render_nodes(content.take("body"))?;
    Ok(RootBuilder::new("organization", "article")
        .data_field("contentSection")
        .type_of(arguments.text_or("type", "Organization"))
        .value("type", arguments.non_null_or("type", "Organization"))
        .child(new_element("header", header))
        .child(named_element("div", "body", body))
        .build())
}
