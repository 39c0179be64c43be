//! Distances, corner radii and shadows, drawn to scale.
//!
//! Native: headings tell the three kinds of tokens apart, and bars are computed from values.

use quad_markdoc::Node as MarkdocNode;
use serde_json::{Map, Value, json};

use super::tokens::{TokenLine, read_lines, styled_part, text_part, title_element};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number, parse_float};
use crate::render_tree::RenderNode;

/// Minimum width of a bar in percent, so that the smallest distance is visible.
const BAR_MIN_PERCENT: f64 = 2.0;

pub(super) fn transform(mut rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let tokens = Tokens::read(&rune_use.content.take("body"));
    let root =
        RootBuilder::new("spacing", "section").value_if("title", rune_use.arguments.get("title").cloned());
    let mut sections = Vec::new();
    if tokens.has_scale() {
        sections.push(section_element("Spacing", "scale", tokens.scale_bars()));
    }
    if !tokens.radii.is_empty() {
        sections.push(section_element("Radius", "radii", tokens.radii.iter().map(radius_item).collect()));
    }
    if !tokens.shadows.is_empty() {
        sections.push(section_element(
            "Shadows",
            "shadows",
            tokens.shadows.iter().map(shadow_item).collect(),
        ));
    }
    Ok(root.child_if(title_element(&rune_use)).children(sections).build())
}

fn section_element(heading: &str, name: &str, items: Vec<RenderNode>) -> RenderNode {
    named_element(
        "div",
        "section",
        [text_part("h4", "section-title", heading), named_element("div", name, items)],
    )
}

fn radius_item((name, value): &(String, String)) -> RenderNode {
    let children = [
        styled_part("div", "radius-sample", format!("border-radius: {value}")),
        text_part("span", "radius-label", name.as_str()),
        text_part("span", "radius-value", value.as_str()),
    ];
    named_element("div", "radius-item", children)
}

fn shadow_item((name, value): &(String, String)) -> RenderNode {
    let sample = styled_part("div", "shadow-sample", format!("box-shadow: {value}"));
    named_element("div", "shadow-item", [sample, text_part("span", "shadow-label", name.as_str())])
}

/// The parsed lists.
#[derive(Default)]
struct Tokens {
    unit: String,
    scale: Vec<String>,
    radii: Vec<(String, String)>,
    shadows: Vec<(String, String)>,
}

/// The kind of token that a heading starts.
#[derive(Clone, Copy)]
enum TokenKind {
    Distance,
    Radius,
    Shadow,
}

impl TokenKind {
    fn from_heading(heading: &str) -> Option<TokenKind> {
        let heading = heading.to_lowercase();
        let kinds = [
            ("spacing", TokenKind::Distance),
            ("radius", TokenKind::Radius),
            ("radii", TokenKind::Radius),
            ("shadow", TokenKind::Shadow),
        ];
        kinds.into_iter().find(|(word, _)| heading.contains(word)).map(|(_, kind)| kind)
    }
}

impl Tokens {
    fn read(nodes: &[MarkdocNode]) -> Tokens {
        let mut tokens = Tokens::default();
        let mut kind = None;
        for line in read_lines(nodes) {
            let (name, value) = match line {
                TokenLine::Heading(heading) => {
                    kind = TokenKind::from_heading(&heading);
                    continue;
                }
                TokenLine::Token(name, value) => (name, value),
            };
            match (kind, name.as_str()) {
                (Some(TokenKind::Distance), "scale") => {
                    tokens.scale = value.split(',').map(|value| value.js_trim().to_owned()).collect();
                }
                (Some(TokenKind::Distance), "unit") => tokens.unit = value,
                (Some(TokenKind::Radius), _) => tokens.radii.push((name, value)),
                (Some(TokenKind::Shadow), _) => tokens.shadows.push((name, value)),
                _ => {}
            }
        }
        tokens
    }

    fn has_scale(&self) -> bool {
        !self.unit.is_empty() || !self.scale.is_empty()
    }

    /// A bar for each distance, relative to the longest.
    fn scale_bars(&self) -> Vec<RenderNode> {
        let longest = self.scale.iter().map(|value| parse_size(value)).fold(1.0, f64::max);
        let bar = |value: &String| {
            let percent = (parse_size(value) / longest * 100.0).max(BAR_MIN_PERCENT);
            let label = if value.contains("px") { value.clone() } else { format!("{value}px") };
            let mut label = text_part("span", "scale-label", label);
            if let (Some(tag), false) = (label.as_element_mut(), self.unit.is_empty()) {
                tag.children.push(text_part("span", "scale-multiplier", self.unit_multiple(value)));
            }
            let bar = styled_part("div", "scale-bar", format!("width: {}%", format_js_number(percent)));
            named_element("div", "scale-item", [bar, label])
        };
        self.scale.iter().map(bar).collect()
    }

    /// How many units a distance has.
    fn unit_multiple(&self, value: &str) -> String {
        let unit = parse_size(&self.unit);
        if unit <= 0.0 { String::new() } else { format!("{}×", format_js_number(parse_size(value) / unit)) }
    }
}

fn parse_size(value: &str) -> f64 {
    parse_float(value).unwrap_or(0.0)
}

/// The tokens in the form that a design context passes to sandboxes; only existing kinds have a key.
pub(super) fn design_tokens(nodes: &[MarkdocNode]) -> Map<String, Value> {
    let tokens = Tokens::read(nodes);
    let mut result = Map::new();
    if tokens.has_scale() {
        let mut spacing = Map::new();
        if !tokens.unit.is_empty() {
            spacing.insert("unit".into(), tokens.unit.into());
        }
        if !tokens.scale.is_empty() {
            spacing.insert("scale".into(), tokens.scale.into());
        }
        result.insert("spacing".into(), spacing.into());
    }
    for (name, values) in [("radii", tokens.radii), ("shadows", tokens.shadows)] {
        if !values.is_empty() {
            let values = values.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
            result.insert(name.into(), values.collect());
        }
    }
    result
}
