//! Storyboards: each picture opens a panel.
//!
//! Native because panels begin where a picture is, wherever in its paragraph it stands.

use quad_markdoc::{Map, Node as Parsed, NodeType};

use crate::content::ast;
use crate::schema::component::{Component, field, is_rune, name, part};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::media::is_media;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// The storyboard.
pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut panels: Vec<Vec<Parsed>> = Vec::new();
    for node in call.content.take("children") {
        match panels.last_mut() {
            Some(panel) if !opens_panel(&node) => panel.push(node),
            _ => panels.push(vec![node]),
        }
    }
    let tags = panels.into_iter().map(|nodes| ast::tag("storyboard-panel", Map::new(), nodes)).collect();
    let mut panels = out.nodes(tags)?;
    panels.retain(|node| is_rune(node, "div", "storyboard-panel"));
    panels.iter_mut().for_each(|node| field(node, "panel"));
    let root = Component::new("storyboard", "div")
        .value("variant", call.arguments.value_or("variant", "clean"))
        .value("columns", to_text(&call.arguments.value_or("columns", 3)));
    Ok(root.child(part("div", "panels", panels)).build())
}

fn opens_panel(node: &Parsed) -> bool {
    let holds_picture = || node.walk().any(|inner| inner.kind == NodeType::Image);
    node.kind == NodeType::Image || node.kind == NodeType::Paragraph && holds_picture()
}

/// One panel: the first picture in it is its image, the first paragraph its caption.
pub(super) fn panel(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut body = out.nodes(call.content.take("body"))?;
    if let Some(image) = first_media(&mut body) {
        name(image, "image");
    }
    if let Some(caption) = body.iter_mut().find(|node| is_element(node, "p")) {
        name(caption, "caption");
    }
    Ok(Component::new("storyboard-panel", "div").child(part("div", "body", body)).build())
}

/// The first picture within nodes, wherever it stands.
fn first_media(nodes: &mut [Node]) -> Option<&mut Node> {
    nodes.iter_mut().find_map(|node| {
        if is_media(node) {
            return Some(node);
        }
        node.as_tag_mut().and_then(|tag| first_media(&mut tag.children))
    })
}
