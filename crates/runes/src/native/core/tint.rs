//! Colours for the rune around: a preset, or a list of `token: value`, for light and for dark.
//!
//! Native because lists of colours are read, and nothing but values for the engine comes out.

use indexmap::IndexMap;
use quad_markdoc::{Node as Parsed, NodeType};

use crate::content::ast;
use crate::schema::component::field_meta;
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

/// Tokens that a list may set.
const TOKENS: [&str; 6] = ["background", "surface", "primary", "secondary", "accent", "border"];

type Colours = IndexMap<String, String>;

pub(super) fn transform(mut call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let (light, dark) = colours(&call.content.take("children"));
    let mut metas = Vec::new();
    match call.arguments.given("preset") {
        Some(preset) => metas.push(field_meta("tint", preset.clone())),
        None if !light.is_empty() || !dark.is_empty() => metas.push(field_meta("tint", "custom")),
        None => {}
    }
    if let Some(mode) = call.arguments.given("mode").filter(|mode| mode.as_str() != Some("auto")) {
        metas.push(field_meta("tint-mode", mode.clone()));
    }
    metas.extend(light.into_iter().map(|(token, value)| field_meta(&format!("tint-{token}"), value)));
    metas.extend(dark.into_iter().map(|(token, value)| field_meta(&format!("tint-dark-{token}"), value)));
    Ok(Tag::new("div").with("data-tint-source", true).holding(metas).into())
}

/// Lists below a heading `Dark` are for dark pages.
fn colours(nodes: &[Parsed]) -> (Colours, Colours) {
    let (mut light, mut dark) = (Colours::new(), Colours::new());
    let mut is_dark = false;
    for node in nodes {
        match node.kind {
            NodeType::Heading => match ast::text_of(node, " ").trim().to_lowercase().as_str() {
                "dark" => is_dark = true,
                "light" => is_dark = false,
                _ => {}
            },
            NodeType::List => {
                let colours = node.children.iter().filter_map(|item| colour(&ast::text_of(item, " ")));
                if is_dark { dark.extend(colours) } else { light.extend(colours) }
            }
            _ => {}
        }
    }
    (light, dark)
}

/// `primary: #0af`, if it is a token there is.
fn colour(text: &str) -> Option<(String, String)> {
    let (token, value) = text.trim().split_once(':')?;
    let (token, value) = (token.trim().to_lowercase(), value.trim());
    (TOKENS.contains(&token.as_str()) && !value.is_empty()).then(|| (token, value.to_owned()))
}
