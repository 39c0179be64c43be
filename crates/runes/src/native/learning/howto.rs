//! `howto`. Native: lists of either kind are collected, and their items are marked.

use super::{ItemKind, take_list_items};
use crate::expand::header::SectionHeader;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, rdfa_meta_element};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::RenderNode;

const TOOL: ItemKind =
    ItemKind { part: "tool", type_of: "HowToTool", property: "tool", text_property: "name" };
const STEP: ItemKind =
    ItemKind { part: "step", type_of: "HowToStep", property: "step", text_property: "text" };

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut header = unwrap_paragraphs(cx.render_nodes(content.take("header"))?);
    SectionHeader::set_part_names(&mut header).set_rdfa_properties(&mut header);
    let mut body = cx.render_nodes(content.take("body"))?;
    let (mut tools, mut steps) = (take_list_items(&mut body, "ul"), take_list_items(&mut body, "ol"));
    TOOL.mark_items(&mut tools);
    STEP.mark_items(&mut steps);
    Ok(RootBuilder::new("how-to", "article")
        .data_field("contentSection")
        .type_of("HowTo")
        .value_if("estimatedTime", arguments.get("estimatedTime").cloned())
        .value("difficulty", arguments.non_null_or("difficulty", ""))
        .child_if(rdfa_meta_element("totalTime", arguments.get("estimatedTime")))
        .children(header)
        .child_if((!tools.is_empty()).then(|| named_element("ul", "tools", tools)))
        .child(named_element("ol", "steps", steps))
        .build())
}
