//! `steps` and `step`. Native: steps come from sections or from list items.

use quad_markdoc::{AttributeMap, Node as MarkdocNode};

use crate::content::{ContentFields, node_ext};
use crate::expand::header::{SectionHeader, is_heading};
use crate::expand::layout::SplitLayout;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{is_rune_root, named_element, new_element, set_field};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut content = rune_use.content;
    let mut header = cx.render_nodes(content.take("header"))?;
    SectionHeader::set_part_names(&mut header);
    let bodies: Vec<Vec<MarkdocNode>> = if content.has("sections") {
        content.take_groups("sections").into_iter().map(section_nodes).collect()
    } else {
        let items = content.take("list").into_iter().flat_map(|list| list.children);
        items.map(|item| item.children).collect()
    };
    let tags = bodies.into_iter().map(|body| node_ext::new_tag("step", AttributeMap::new(), body)).collect();
    let mut steps = cx.render_nodes(tags)?;
    steps.retain(|step| is_rune_root(step, "li", "step"));
    steps.iter_mut().for_each(|step| set_field(step, "step"));
    Ok(RootBuilder::new("steps", "section")
        .data_field("contentSection")
        .children(header)
        .child(new_element("ol", steps))
        .build())
}

/// The nodes of a section: its heading, then the nodes below.
fn section_nodes(mut section: ContentFields) -> Vec<MarkdocNode> {
    let mut nodes = section.take("$headingNode");
    nodes.append(&mut section.take("body"));
    nodes
}

pub(super) fn transform_step(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut content_nodes = cx.render_nodes(content.take_group("content").take("content"))?;
    if let Some(heading) = content_nodes.iter_mut().find(|node| is_heading(node)) {
        set_field(heading, "name");
    }
    let media = unwrap_paragraphs(cx.render_nodes(content.take_group("media").take("content"))?);
    let root = RootBuilder::new("step", "li")
        .child(named_element("div", "content", content_nodes))
        .child_if((!media.is_empty()).then(|| named_element("div", "media", media)));
    Ok(SplitLayout::read_with_default(&arguments, "bottom").apply_to(root).build())
}
