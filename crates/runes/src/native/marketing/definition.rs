//! `definition`: native because what belongs to the term depends on what stands within each paragraph.

use quad_markdoc::{Node as Parsed, NodeType};

use crate::schema::component::{element, name, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let mut content = call.content;
    let (terms, descriptions) = parted(content.take("children"));
    let mut term = Vec::new();
    for node in terms {
        match node.kind {
            NodeType::Heading => heading_term(&node, &mut term, context)?,
            _ => paragraph_term(&node, &mut term, context)?,
        }
    }
    let mut parts = vec![element("dt", term)];
    for node in descriptions {
        parts.push(part("dd", "description", context.nodes(node.children)?));
    }
    Ok(element("div", parts))
}

/// Headings and telling paragraphs are the term until something else comes; the paragraphs from there on describe it.
fn parted(nodes: Vec<Parsed>) -> (Vec<Parsed>, Vec<Parsed>) {
    let (mut terms, mut descriptions) = (Vec::new(), Vec::new());
    let mut describing = false;
    for node in nodes {
        let is_paragraph = node.kind == NodeType::Paragraph;
        let is_term = node.kind == NodeType::Heading || is_paragraph && node.walk().any(tells);
        if is_term && !describing {
            terms.push(node);
        } else {
            describing = true;
            if is_paragraph {
                descriptions.push(node);
            }
        }
    }
    (terms, descriptions)
}

/// What makes a paragraph a term.
fn tells(node: &Parsed) -> bool {
    matches!(node.kind, NodeType::Image | NodeType::Strong) || node.is_tag("icon")
}

/// The picture of a paragraph; without one its icon and the first bold words.
fn paragraph_term(node: &Parsed, term: &mut Vec<Node>, context: &mut Context<'_>) -> Result<()> {
    if let Some(image) = first(node, |node| node.kind == NodeType::Image) {
        return icon(image, term, context);
    }
    if let Some(tag) = first(node, |node| node.is_tag("icon")) {
        icon(tag, term, context)?;
    }
    if let Some(strong) = first(node, |node| node.kind == NodeType::Strong) {
        term.push(part("span", "title", context.nodes(strong.children.clone())?));
    }
    Ok(())
}

/// The picture and the bare texts of a heading.
fn heading_term(node: &Parsed, term: &mut Vec<Node>, context: &mut Context<'_>) -> Result<()> {
    if let Some(image) = first(node, |node| node.kind == NodeType::Image) {
        icon(image, term, context)?;
    }
    let texts = node.walk().filter(|node| node.kind == NodeType::Text).cloned().collect();
    term.push(part("span", "title", context.nodes(texts)?));
    Ok(())
}

fn first(node: &Parsed, wanted: impl Fn(&Parsed) -> bool) -> Option<&Parsed> {
    node.walk().find(|node| wanted(node))
}

fn icon(node: &Parsed, term: &mut Vec<Node>, context: &mut Context<'_>) -> Result<()> {
    let mut rendered = context.nodes(vec![node.clone()])?;
    rendered.iter_mut().for_each(|node| name(node, "icon"));
    term.append(&mut rendered);
    Ok(())
}
