//! Finds images among rendered nodes.

use super::header::is_element;
use crate::render_tree::RenderNode;

/// Whether a node replaces an image: a `placeholder:` drawing or an `icon:` of the theme.
pub fn is_placeholder_or_icon(node: &RenderNode) -> bool {
    node.as_element().is_some_and(|tag| {
        let class = tag.attr_str("class").unwrap_or_default();
        tag.is("svg") && class.split(' ').any(|class| class == "rf-placeholder" || class == "rf-icon")
    })
}

/// Whether a node is an image, a video, a placeholder or an icon.
pub fn is_media(node: &RenderNode) -> bool {
    is_element(node, "img") || is_element(node, "video") || is_placeholder_or_icon(node)
}

/// Takes the first image: a node itself, or one in a paragraph. Drops all other nodes.
pub fn take_media(nodes: Vec<RenderNode>) -> Result<RenderNode, Vec<RenderNode>> {
    let inner = |node: &RenderNode| match node.as_element() {
        Some(tag) if tag.is("p") => tag.children.iter().position(is_media),
        _ => None,
    };
    let Some(index) = nodes.iter().position(|node| is_media(node) || inner(node).is_some()) else {
        return Err(nodes);
    };
    let mut nodes = nodes;
    let node = nodes.swap_remove(index);
    match (inner(&node), node) {
        (Some(child_index), RenderNode::Element(mut tag)) => Ok(tag.children.swap_remove(child_index)),
        (_, node) => Ok(node),
    }
}

/// Unwraps images, placeholders and runes that are alone in their paragraph.
pub fn unwrap_paragraphs(nodes: Vec<RenderNode>) -> Vec<RenderNode> {
    let is_unwrappable = |node: &RenderNode| {
        is_element(node, "img")
            || is_placeholder_or_icon(node)
            || node
                .as_element()
                .is_some_and(|tag| tag.attr_str("data-rune").is_some_and(|rune| !rune.is_empty()))
    };
    let unwrap = |node: RenderNode| match node {
        RenderNode::Element(mut tag) if tag.is("p") && tag.children.len() == 1 => {
            if tag.children.iter().all(is_unwrappable) {
                tag.children.swap_remove(0)
            } else {
                RenderNode::Element(tag)
            }
        }
        node => node,
    };
    nodes.into_iter().map(unwrap).collect()
}

/// All images within nodes at any depth, in order. Does not search inside an image.
pub fn collect_media(nodes: &[RenderNode]) -> Vec<RenderNode> {
    let mut media = Vec::new();
    collect_into(nodes, &mut media);
    media
}

/// The first image within nodes at any depth.
pub fn first_media_mut(nodes: &mut [RenderNode]) -> Option<&mut RenderNode> {
    nodes.iter_mut().find_map(|node| {
        if is_media(node) {
            return Some(node);
        }
        first_media_mut(&mut node.as_element_mut()?.children)
    })
}

fn collect_into(nodes: &[RenderNode], media: &mut Vec<RenderNode>) {
    for node in nodes {
        if is_media(node) {
            media.push(node.clone());
        }
        if let Some(tag) = node.as_element() {
            collect_into(&tag.children, media);
        }
    }
}
