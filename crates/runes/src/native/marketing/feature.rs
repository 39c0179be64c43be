//! `feature`. Native: every list item becomes a rune, and the layout depends on the media position.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType};
use serde_json::Value;

use crate::expand::header::SectionHeader;
use crate::expand::layout::SplitLayout;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::{Override, Result};
use crate::expand::root_builder::{for_each_descendant, named_element, new_element, set_name};
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut content_fields = content.take_group("content");
    let mut header = cx.render_nodes(content_fields.take_each(&["eyebrow", "headline", "blurb"]))?;
    SectionHeader::set_part_names(&mut header);
    let mut points = cx.render_nodes_with(render_point, content_fields.take("definitions"))?;
    for_each_descendant(&mut points, "div", &|item| set_name(item, "feature-item"));
    let media = unwrap_paragraphs(cx.render_nodes(content.take_group("media").take("media"))?);

    let header = (!header.is_empty()).then(|| new_element("header", header));
    let media = (!media.is_empty()).then(|| named_element("div", "media", media));
    let collapsed = arguments.non_null_or("collapse-to", "stack");
    let layout = SplitLayout::read_with_default(&arguments, "bottom");
    let root = RootBuilder::new("feature", "section")
        .data_field("contentSection")
        .value("media-position", layout.position.clone())
        .value("layout", layout_or_default(&arguments))
        .value_if("collapse-to", Some(collapsed).filter(|form| form.as_str() != Some("stack")))
        .value("align", arguments.truthy_or("align", "center"))
        .child(named_element("div", "content", header.into_iter().chain(points)))
        .child_if(media);
    Ok(layout.apply_to(root).build())
}

/// List if the media is beside or behind the points, grid if it is above or below.
fn layout_or_default(arguments: &Arguments) -> Value {
    let position = arguments.non_null_or("media-position", "bottom");
    let stacked = matches!(position.as_str(), Some("top" | "bottom"));
    arguments.non_null_or("layout", if stacked { "grid" } else { "list" })
}

fn render_point(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Override> {
    Ok(match node.kind {
        NodeType::List => {
            let columns = node.children.len();
            let list = Element::new("dl")
                .with_attr("data-columns", columns)
                .with_children(cx.render_nodes(node.children)?);
            Override::Rendered(vec![list.into()])
        }
        NodeType::Item => {
            Override::Rendered(cx.render_tag("definition", AttributeMap::new(), node.children)?)
        }
        _ => Override::NotHandled(node),
    })
}
