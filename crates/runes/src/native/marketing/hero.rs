//! `hero`: native because its actions are rendered by rules of their own and a cover keeps only the picture of its media.

use super::actions;
use crate::schema::component::{element, part};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::layout::SplitLayout;
use crate::schema::media::{take_media, unwrap_paragraphs};
use crate::schema::{Call, Component, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut words = content.take_group("content");
    let mut header = context.nodes(words.take_each(&["eyebrow", "headline", "blurb"]))?;
    Header::name(&mut header);
    let actions = actions::render(words.take("actions"), context)?;
    let mut media = unwrap_paragraphs(context.nodes(content.take_group("media").take("media"))?);
    if arguments.get("media-position").and_then(|position| position.as_str()) == Some("cover") {
        media = take_media(media).map_or_else(|media| media, |picture| vec![picture]);
    }

    let header = (!header.is_empty()).then(|| element("header", header));
    let actions = (!actions.is_empty()).then(|| part("div", "actions", actions));
    let media = (!media.is_empty()).then(|| part("div", "media", media));
    let root = Component::new("hero", "section")
        .property("contentSection")
        .value("align", arguments.given_or("align", "center"))
        .value_if("content-place", arguments.given("content-place").cloned())
        .value_if("height", arguments.given("height").cloned())
        .value_if("aspect", arguments.given("aspect").cloned())
        .child(part("div", "content", header.into_iter().chain(actions)))
        .child_if(media);
    Ok(SplitLayout::read_or(&arguments, "bottom").hand_to(root).build())
}
