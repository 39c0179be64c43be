//! `feature`: native because every item of its lists becomes a rune of its own, and the arrangement follows the media.

use quad_markdoc::{Map, Node as Parsed, NodeType};
use serde_json::Value;

use crate::schema::component::{each_within, element, name, part};
use crate::schema::context::{Result, Ruled};
use crate::schema::header::Header;
use crate::schema::layout::SplitLayout;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut words = content.take_group("content");
    let mut header = context.nodes(words.take_each(&["eyebrow", "headline", "blurb"]))?;
    Header::name(&mut header);
    let mut points = context.nodes_with(point, words.take("definitions"))?;
    each_within(&mut points, "div", &|item| name(item, "feature-item"));
    let media = unwrap_paragraphs(context.nodes(content.take_group("media").take("media"))?);

    let header = (!header.is_empty()).then(|| element("header", header));
    let media = (!media.is_empty()).then(|| part("div", "media", media));
    let collapsed = arguments.value_or("collapse-to", "stack");
    let root = Component::new("feature", "section")
        .property("contentSection")
        .value("layout", layout(&arguments))
        .value_if("collapse-to", Some(collapsed).filter(|form| form.as_str() != Some("stack")))
        .value("align", arguments.given_or("align", "center"))
        .child(part("div", "content", header.into_iter().chain(points)))
        .child_if(media);
    Ok(SplitLayout::read_or(&arguments, "bottom").hand_to(root).build())
}

/// Points beside or behind the media are a list, points above or below it a grid.
fn layout(arguments: &Arguments) -> Value {
    let position = arguments.value_or("media-position", "bottom");
    let stacked = matches!(position.as_str(), Some("top" | "bottom"));
    arguments.value_or("layout", if stacked { "grid" } else { "list" })
}

fn point(node: Parsed, context: &mut Context<'_>) -> Result<Ruled> {
    Ok(match node.kind {
        NodeType::List => {
            let columns = node.children.len();
            let list = Tag::new("dl").with("data-columns", columns).holding(context.nodes(node.children)?);
            Ruled::Done(vec![list.into()])
        }
        NodeType::Item => Ruled::Done(context.tag("definition", Map::new(), node.children)?),
        _ => Ruled::Pass(node),
    })
}
