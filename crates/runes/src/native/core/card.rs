//! A card: media, text, footer, parted by rules; the whole of it may be a link.
//!
//! Native because what the parts mean depends on how many there are, and on what the text begins with.

use quad_markdoc::NodeType;

use crate::schema::component::{Component, meta, name, part};
use crate::schema::context::Result;
use crate::schema::header::is_heading;
use crate::schema::layout::{SplitLayout, Zones};
use crate::schema::media::take_media;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let Zones { media, mut body, footer } = Zones::split(call.content.take("body"));
    let layout = SplitLayout::read(&call.arguments);
    let mut root = Component::new("card", "div").value("media-position", layout.position.clone());
    for name in ["content-place", "height", "aspect"] {
        root = root.value_if(name, call.arguments.given(name).cloned());
    }
    for value in [layout.ratio, layout.valign, layout.collapse].into_iter().flatten() {
        root = root.child(meta(value));
    }
    if !media.is_empty() {
        let inner = take_media(out.nodes(media)?).map_or_else(|nodes| nodes, |media| vec![media]);
        let slot = Tag::new("div").with("data-section", "media").with("data-name", "media").holding(inner);
        root = root.child(slot);
    }
    let kinds: Vec<NodeType> = body.iter().take(2).map(|node| node.kind).collect();
    if kinds == [NodeType::Paragraph, NodeType::Heading] {
        let mut eyebrow = out.nodes(vec![body.remove(0)])?;
        eyebrow.iter_mut().for_each(|node| name(node, "eyebrow"));
        root = root.children(eyebrow);
    }
    let mut body = out.nodes(body)?;
    if let Some(title) = body.iter_mut().find(|node| is_heading(node)) {
        name(title, "title");
    }
    root = root.child(part("div", "body", body));
    if !footer.is_empty() {
        root = root.child(part("footer", "footer", out.nodes(footer)?));
    }
    let link = call.arguments.text("href").map(|href| {
        Tag::new("a")
            .with("data-name", "link")
            .with("href", href)
            .with("aria-hidden", "true")
            .with("tabindex", "-1")
    });
    Ok(root.child_if(link).build())
}
