//! Storyboards: each image starts a panel.
//!
//! Native: a panel starts at an image at any position in its paragraph.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType};

use crate::content::node_ext;
use crate::expand::header::is_element;
use crate::expand::media::is_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// The storyboard.
pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut panels: Vec<Vec<MarkdocNode>> = Vec::new();
    for node in rune_use.content.take("children") {
        match panels.last_mut() {
            Some(panel) if !opens_panel(&node) => panel.push(node),
            _ => panels.push(vec![node]),
        }
    }
    let tags = panels
        .into_iter()
        .map(|nodes| node_ext::new_tag("storyboard-panel", AttributeMap::new(), nodes))
        .collect();
    let mut panels = cx.render_nodes(tags)?;
    panels.retain(|node| is_rune_root(node, "div", "storyboard-panel"));
    panels.iter_mut().for_each(|node| set_field(node, "panel"));
    let root = RootBuilder::new("storyboard", "div")
        .value("variant", rune_use.arguments.non_null_or("variant", "clean"))
        .value("columns", to_js_string(&rune_use.arguments.non_null_or("columns", 3)));
    Ok(root.child(named_element("div", "panels", panels)).build())
}

fn opens_panel(node: &MarkdocNode) -> bool {
    let contains_image = || node.descendants().any(|inner| inner.kind == NodeType::Image);
    node.kind == NodeType::Image || node.kind == NodeType::Paragraph && contains_image()
}

/// One panel: its first image and, as caption, its first paragraph.
pub(super) fn transform_panel(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut body = cx.render_nodes(rune_use.content.take("body"))?;
    if let Some(image) = first_media(&mut body) {
        set_name(image, "image");
    }
    if let Some(caption) = body.iter_mut().find(|node| is_element(node, "p")) {
        set_name(caption, "caption");
    }
    Ok(RootBuilder::new("storyboard-panel", "div").child(named_element("div", "body", body)).build())
}

/// The first image within nodes, at any depth.
fn first_media(nodes: &mut [RenderNode]) -> Option<&mut RenderNode> {
    nodes.iter_mut().find_map(|node| {
        if is_media(node) {
            return Some(node);
        }
        node.as_element_mut().and_then(|tag| first_media(&mut tag.children))
    })
}
