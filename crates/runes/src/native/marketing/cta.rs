//! `cta`. Native: its actions need [`actions`](super::actions).

use super::actions;
use crate::expand::header::SectionHeader;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, new_element};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut header = cx.render_nodes(content.take("header"))?;
    SectionHeader::set_part_names(&mut header);
    let actions = actions::render(content.take("actions"), cx)?;
    Ok(RootBuilder::new("call-to-action", "section")
        .data_field("contentSection")
        .class(arguments.get("class").cloned())
        .child(new_element("header", header))
        .child(named_element("div", "actions", actions))
        .build())
}
