//! `steps` and `step`: native because steps are made of sections or of list items, whichever the author wrote.

use quad_markdoc::{Map, Node as Parsed};

use crate::content::{Resolved, ast};
use crate::schema::component::{element, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::header::{Header, is_heading};
use crate::schema::layout::SplitLayout;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Component, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let mut content = call.content;
    let mut header = context.nodes(content.take("header"))?;
    Header::name(&mut header);
    let bodies: Vec<Vec<Parsed>> = if content.has("sections") {
        content.take_groups("sections").into_iter().map(section).collect()
    } else {
        let items = content.take("list").into_iter().flat_map(|list| list.children);
        items.map(|item| item.children).collect()
    };
    let tags = bodies.into_iter().map(|body| ast::tag("step", Map::new(), body)).collect();
    let mut steps = context.nodes(tags)?;
    steps.retain(|step| is_rune(step, "li", "step"));
    steps.iter_mut().for_each(|step| field(step, "step"));
    Ok(Component::new("steps", "section")
        .property("contentSection")
        .children(header)
        .child(element("ol", steps))
        .build())
}

/// A section as it was written: its heading, then what stands below.
fn section(mut section: Resolved) -> Vec<Parsed> {
    let mut nodes = section.take("$headingNode");
    nodes.append(&mut section.take("body"));
    nodes
}

pub(super) fn transform_step(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut words = context.nodes(content.take_group("content").take("content"))?;
    if let Some(heading) = words.iter_mut().find(|node| is_heading(node)) {
        field(heading, "name");
    }
    let media = unwrap_paragraphs(context.nodes(content.take_group("media").take("content"))?);
    let root = Component::new("step", "li")
        .child(part("div", "content", words))
        .child_if((!media.is_empty()).then(|| part("div", "media", media)));
    Ok(SplitLayout::read_or(&arguments, "bottom").hand_to(root).build())
}
