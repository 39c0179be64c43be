//! `definition`. Native: the content of each paragraph decides whether it belongs to the term.

use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, new_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut content = rune_use.content;
    let (terms, descriptions) = split_terms(content.take("children"));
    let mut term = Vec::new();
    for node in terms {
        match node.kind {
            NodeType::Heading => push_heading_term(&node, &mut term, cx)?,
            _ => push_paragraph_term(&node, &mut term, cx)?,
        }
    }
    let mut parts = vec![new_element("dt", term)];
    for node in descriptions {
        parts.push(named_element("dd", "description", cx.render_nodes(node.children)?));
    }
    Ok(new_element("div", parts))
}

/// Leading headings and term paragraphs form the term; the paragraphs after them are the description.
fn split_terms(nodes: Vec<MarkdocNode>) -> (Vec<MarkdocNode>, Vec<MarkdocNode>) {
    let (mut terms, mut descriptions) = (Vec::new(), Vec::new());
    let mut in_description = false;
    for node in nodes {
        let is_paragraph = node.kind == NodeType::Paragraph;
        let is_term = node.kind == NodeType::Heading || is_paragraph && node.descendants().any(marks_term);
        if is_term && !in_description {
            terms.push(node);
        } else {
            in_description = true;
            if is_paragraph {
                descriptions.push(node);
            }
        }
    }
    (terms, descriptions)
}

/// Whether a node makes its paragraph part of the term.
fn marks_term(node: &MarkdocNode) -> bool {
    matches!(node.kind, NodeType::Image | NodeType::Strong) || node.is_tag("icon")
}

/// The image of a paragraph; without one, its icon and the first bold text.
fn push_paragraph_term(
    node: &MarkdocNode,
    term: &mut Vec<RenderNode>,
    cx: &mut RenderContext<'_>,
) -> Result<()> {
    if let Some(image) = find_descendant(node, |node| node.kind == NodeType::Image) {
        return push_icon(image, term, cx);
    }
    if let Some(tag) = find_descendant(node, |node| node.is_tag("icon")) {
        push_icon(tag, term, cx)?;
    }
    if let Some(strong) = find_descendant(node, |node| node.kind == NodeType::Strong) {
        term.push(named_element("span", "title", cx.render_nodes(strong.children.clone())?));
    }
    Ok(())
}

/// The image and the direct text of a heading.
fn push_heading_term(
    node: &MarkdocNode,
    term: &mut Vec<RenderNode>,
    cx: &mut RenderContext<'_>,
) -> Result<()> {
    if let Some(image) = find_descendant(node, |node| node.kind == NodeType::Image) {
        push_icon(image, term, cx)?;
    }
    let texts = node.descendants().filter(|node| node.kind == NodeType::Text).cloned().collect();
    term.push(named_element("span", "title", cx.render_nodes(texts)?));
    Ok(())
}

fn find_descendant(node: &MarkdocNode, predicate: impl Fn(&MarkdocNode) -> bool) -> Option<&MarkdocNode> {
    node.descendants().find(|node| predicate(node))
}

fn push_icon(node: &MarkdocNode, term: &mut Vec<RenderNode>, cx: &mut RenderContext<'_>) -> Result<()> {
    let mut rendered = cx.render_nodes(vec![node.clone()])?;
    rendered.iter_mut().for_each(|node| set_name(node, "icon"));
    term.append(&mut rendered);
    Ok(())
}
