//! The tokens of a design in one card.
//!
//! Native: the tokens of the nested runes are merged into one value, which sandboxes on other pages read.

use quad_markdoc::{Node as MarkdocNode, NodeType};
use serde_json::{Map, Value};

use super::{palette, spacing, tokens, typography};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut body = rune_use.content.take("body");
    body.retain(|node| node.kind == NodeType::Tag);
    let root = RootBuilder::new("design-context", "section")
        .value_if("titleText", rune_use.arguments.get("title").cloned())
        .value("tokens", Value::Object(collect_tokens(&body)).to_string())
        .value_if("scope", rune_use.arguments.get("scope").cloned());
    let sections = named_element("div", "sections", cx.render_nodes(body)?);
    Ok(root.child_if(tokens::title_element(&rune_use)).child(sections).build())
}

/// Merges the tokens of all nested runes; for the same kind, the last rune wins.
fn collect_tokens(nodes: &[MarkdocNode]) -> Map<String, Value> {
    let mut collected = Map::new();
    for node in nodes {
        match node.tag.as_deref() {
            Some("palette") => {
                collected.insert("colors".into(), palette::design_tokens(&node.children).into());
            }
            Some("typography") => {
                collected.insert("fonts".into(), typography::design_tokens(&node.children).into());
            }
            Some("spacing") => collected.extend(spacing::design_tokens(&node.children)),
            _ => {}
        }
    }
    collected
}
