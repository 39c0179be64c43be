//! A card: media, body and footer, separated by thematic breaks; the whole card may be a link.
//!
//! Native: the meaning of a zone depends on the number of zones and on how the text starts.

use quad_markdoc::NodeType;

use crate::expand::header::is_heading;
use crate::expand::layout::{SplitLayout, Zones};
use crate::expand::media::take_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, meta_element, named_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let Zones { media, mut body, footer } = Zones::split(rune_use.content.take("body"));
    let layout = SplitLayout::read(&rune_use.arguments);
    let mut root = RootBuilder::new("card", "div").value("media-position", layout.position.clone());
    for name in ["content-place", "height", "aspect"] {
        root = root.value_if(name, rune_use.arguments.truthy(name).cloned());
    }
    for value in [layout.ratio, layout.valign, layout.collapse].into_iter().flatten() {
        root = root.child(meta_element(value));
    }
    if !media.is_empty() {
        let slot_children =
            take_media(cx.render_nodes(media)?).map_or_else(|nodes| nodes, |media| vec![media]);
        let slot = Element::new("div")
            .with_attr("data-section", "media")
            .with_attr("data-name", "media")
            .with_children(slot_children);
        root = root.child(slot);
    }
    let kinds: Vec<NodeType> = body.iter().take(2).map(|node| node.kind).collect();
    if kinds == [NodeType::Paragraph, NodeType::Heading] {
        let mut eyebrow = cx.render_nodes(vec![body.remove(0)])?;
        eyebrow.iter_mut().for_each(|node| set_name(node, "eyebrow"));
        root = root.children(eyebrow);
    }
    let mut body = cx.render_nodes(body)?;
    if let Some(title) = body.iter_mut().find(|node| is_heading(node)) {
        set_name(title, "title");
    }
    root = root.child(named_element("div", "body", body));
    if !footer.is_empty() {
        root = root.child(named_element("footer", "footer", cx.render_nodes(footer)?));
    }
    let link = rune_use.arguments.text("href").map(|href| {
        Element::new("a")
            .with_attr("data-name", "link")
            .with_attr("href", href)
            .with_attr("aria-hidden", "true")
            .with_attr("tabindex", "-1")
    });
    Ok(root.child_if(link).build())
}
