//! The tokens of one design in one card.
//!
//! Native because the tokens of the runes in it are gathered into one value, which sandboxes on other pages ask for.

use quad_markdoc::{Node as Parsed, NodeType};
use serde_json::{Map, Value};

use super::{palette, spacing, tokens, typography};
use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut body = call.content.take("body");
    body.retain(|node| node.kind == NodeType::Tag);
    let root = Component::new("design-context", "section")
        .value_if("titleText", call.arguments.get("title").cloned())
        .value("tokens", Value::Object(gathered(&body)).to_string())
        .value_if("scope", call.arguments.get("scope").cloned());
    let sections = part("div", "sections", out.nodes(body)?);
    Ok(root.child_if(tokens::title(&call)).child(sections).build())
}

/// The tokens of all runes within; of two of a kind the last holds.
fn gathered(nodes: &[Parsed]) -> Map<String, Value> {
    let mut gathered = Map::new();
    for node in nodes {
        match node.tag.as_deref() {
            Some("palette") => {
                gathered.insert("colors".into(), palette::design_tokens(&node.children).into());
            }
            Some("typography") => {
                gathered.insert("fonts".into(), typography::design_tokens(&node.children).into());
            }
            Some("spacing") => gathered.extend(spacing::design_tokens(&node.children)),
            _ => {}
        }
    }
    gathered
}
