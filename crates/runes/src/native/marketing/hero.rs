//! `hero`. Native: its actions need [`actions`](super::actions), and a cover keeps only the image of its media.

use super::actions;
use crate::expand::header::SectionHeader;
use crate::expand::layout::SplitLayout;
use crate::expand::media::{take_media, unwrap_paragraphs};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, new_element};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut content_fields = content.take_group("content");
    let mut header = cx.render_nodes(content_fields.take_each(&["eyebrow", "headline", "blurb"]))?;
    SectionHeader::set_part_names(&mut header);
    let actions = actions::render(content_fields.take("actions"), cx)?;
    let mut media = unwrap_paragraphs(cx.render_nodes(content.take_group("media").take("media"))?);
    if arguments.get("media-position").and_then(|position| position.as_str()) == Some("cover") {
        media = take_media(media).map_or_else(|media| media, |picture| vec![picture]);
    }

    let header = (!header.is_empty()).then(|| new_element("header", header));
    let actions = (!actions.is_empty()).then(|| named_element("div", "actions", actions));
    let media = (!media.is_empty()).then(|| named_element("div", "media", media));
    let root = RootBuilder::new("hero", "section")
        .data_field("contentSection")
        .value("align", arguments.truthy_or("align", "center"));
    let root = SplitLayout::read_with_default(&arguments, "bottom")
        .apply_to(root)
        .value_if("content-place", arguments.truthy("content-place").cloned())
        .value_if("height", arguments.truthy("height").cloned())
        .value_if("aspect", arguments.truthy("aspect").cloned())
        .child(named_element("div", "content", header.into_iter().chain(actions)))
        .child_if(media);
    Ok(root.build())
}
