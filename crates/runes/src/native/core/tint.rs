//! Colours for the enclosing rune: a preset, or lists of `token: value` for light and dark.
//!
//! Native: lists of colours are parsed, and the output consists of values for the engine only.

use indexmap::IndexMap;
use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::content::node_ext;
use crate::expand::render_context::Result;
use crate::expand::root_builder::field_meta_element;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};

/// Tokens that a list may set.
const TOKENS: [&str; 6] = ["background", "surface", "primary", "secondary", "accent", "border"];

type ColourMap = IndexMap<String, String>;

pub(super) fn transform(mut rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let (light, dark) = parse_colours(&rune_use.content.take("children"));
    let mut metas = Vec::new();
    match rune_use.arguments.truthy("preset") {
        Some(preset) => metas.push(field_meta_element("tint", preset.clone())),
        None if !light.is_empty() || !dark.is_empty() => metas.push(field_meta_element("tint", "custom")),
        None => {}
    }
    if let Some(mode) = rune_use.arguments.truthy("mode").filter(|mode| mode.as_str() != Some("auto")) {
        metas.push(field_meta_element("tint-mode", mode.clone()));
    }
    metas.extend(light.into_iter().map(|(token, value)| field_meta_element(&format!("tint-{token}"), value)));
    metas.extend(
        dark.into_iter().map(|(token, value)| field_meta_element(&format!("tint-dark-{token}"), value)),
    );
    Ok(Element::new("div").with_attr("data-tint-source", true).with_children(metas).into())
}

/// Lists below a heading `Dark` apply to dark pages.
fn parse_colours(nodes: &[MarkdocNode]) -> (ColourMap, ColourMap) {
    let (mut light, mut dark) = (ColourMap::new(), ColourMap::new());
    let mut is_dark = false;
    for node in nodes {
        match node.kind {
            NodeType::Heading => match node_ext::joined_text(node, " ").js_trim().to_lowercase().as_str() {
                "dark" => is_dark = true,
                "light" => is_dark = false,
                _ => {}
            },
            NodeType::List => {
                let colours =
                    node.children.iter().filter_map(|item| parse_colour(&node_ext::joined_text(item, " ")));
                if is_dark { dark.extend(colours) } else { light.extend(colours) }
            }
            _ => {}
        }
    }
    (light, dark)
}

/// Parses `primary: #0af`; `None` for an unknown token.
fn parse_colour(text: &str) -> Option<(String, String)> {
    let (token, value) = text.js_trim().split_once(':')?;
    let (token, value) = (token.js_trim().to_lowercase(), value.js_trim());
    (TOKENS.contains(&token.as_str()) && !value.is_empty()).then(|| (token, value.to_owned()))
}
