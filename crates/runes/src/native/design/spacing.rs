//! Distances, corner radii and shadows, drawn to scale.
//!
//! Native because three kinds of token are told apart by their headings, and bars are computed from the values.

use quad_markdoc::Node as Parsed;
use serde_json::{Map, Value, json};

use super::tokens::{Line, lines, styled_part, text_part, title};
use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::{leading_number, number_text};

/// Least width of a bar, in percent, so that the smallest distance can still be seen.
const BAR_MIN_PERCENT: f64 = 2.0;

pub(super) fn transform(mut call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let tokens = Tokens::read(&call.content.take("body"));
    let root = Component::new("spacing", "section").value_if("title", call.arguments.get("title").cloned());
    let mut sections = Vec::new();
    if tokens.has_scale() {
        sections.push(section("Spacing", "scale", tokens.bars()));
    }
    if !tokens.radii.is_empty() {
        sections.push(section("Radius", "radii", tokens.radii.iter().map(radius).collect()));
    }
    if !tokens.shadows.is_empty() {
        sections.push(section("Shadows", "shadows", tokens.shadows.iter().map(shadow).collect()));
    }
    Ok(root.child_if(title(&call)).children(sections).build())
}

fn section(heading: &str, name: &str, items: Vec<Node>) -> Node {
    part("div", "section", [text_part("h4", "section-title", heading), part("div", name, items)])
}

fn radius((name, value): &(String, String)) -> Node {
    let children = [
        styled_part("div", "radius-sample", format!("border-radius: {value}")),
        text_part("span", "radius-label", name.as_str()),
        text_part("span", "radius-value", value.as_str()),
    ];
    part("div", "radius-item", children)
}

fn shadow((name, value): &(String, String)) -> Node {
    let sample = styled_part("div", "shadow-sample", format!("box-shadow: {value}"));
    part("div", "shadow-item", [sample, text_part("span", "shadow-label", name.as_str())])
}

/// What the lists say.
#[derive(Default)]
struct Tokens {
    unit: String,
    scale: Vec<String>,
    radii: Vec<(String, String)>,
    shadows: Vec<(String, String)>,
}

/// Which kind of token a heading announces.
#[derive(Clone, Copy)]
enum Kind {
    Distance,
    Radius,
    Shadow,
}

impl Kind {
    fn of(heading: &str) -> Option<Kind> {
        let heading = heading.to_lowercase();
        let kinds = [
            ("spacing", Kind::Distance),
            ("radius", Kind::Radius),
            ("radii", Kind::Radius),
            ("shadow", Kind::Shadow),
        ];
        kinds.into_iter().find(|(word, _)| heading.contains(word)).map(|(_, kind)| kind)
    }
}

impl Tokens {
    fn read(nodes: &[Parsed]) -> Tokens {
        let mut tokens = Tokens::default();
        let mut kind = None;
        for line in lines(nodes) {
            let (name, value) = match line {
                Line::Heading(heading) => {
                    kind = Kind::of(&heading);
                    continue;
                }
                Line::Token(name, value) => (name, value),
            };
            match (kind, name.as_str()) {
                (Some(Kind::Distance), "scale") => {
                    tokens.scale = value.split(',').map(|value| value.trim().to_owned()).collect();
                }
                (Some(Kind::Distance), "unit") => tokens.unit = value,
                (Some(Kind::Radius), _) => tokens.radii.push((name, value)),
                (Some(Kind::Shadow), _) => tokens.shadows.push((name, value)),
                _ => {}
            }
        }
        tokens
    }

    fn has_scale(&self) -> bool {
        !self.unit.is_empty() || !self.scale.is_empty()
    }

    /// A bar for each distance, as long as its share of the longest.
    fn bars(&self) -> Vec<Node> {
        let longest = self.scale.iter().map(|value| size(value)).fold(1.0, f64::max);
        let bar = |value: &String| {
            let percent = (size(value) / longest * 100.0).max(BAR_MIN_PERCENT);
            let label = if value.contains("px") { value.clone() } else { format!("{value}px") };
            let mut label = text_part("span", "scale-label", label);
            if let (Some(tag), false) = (label.as_tag_mut(), self.unit.is_empty()) {
                tag.children.push(text_part("span", "scale-multiplier", self.multiple(value)));
            }
            let bar = styled_part("div", "scale-bar", format!("width: {}%", number_text(percent)));
            part("div", "scale-item", [bar, label])
        };
        self.scale.iter().map(bar).collect()
    }

    /// How many units a distance is.
    fn multiple(&self, value: &str) -> String {
        let unit = size(&self.unit);
        if unit <= 0.0 { String::new() } else { format!("{}×", number_text(size(value) / unit)) }
    }
}

fn size(value: &str) -> f64 {
    leading_number(value).unwrap_or(0.0)
}

/// What the lists say: what a design hands to sandboxes. Only what is there has a key.
pub(super) fn design_tokens(nodes: &[Parsed]) -> Map<String, Value> {
    let tokens = Tokens::read(nodes);
    let mut found = Map::new();
    if tokens.has_scale() {
        let mut spacing = Map::new();
        if !tokens.unit.is_empty() {
            spacing.insert("unit".into(), tokens.unit.into());
        }
        if !tokens.scale.is_empty() {
            spacing.insert("scale".into(), tokens.scale.into());
        }
        found.insert("spacing".into(), spacing.into());
    }
    for (name, values) in [("radii", tokens.radii), ("shadows", tokens.shadows)] {
        if !values.is_empty() {
            let values = values.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
            found.insert(name.into(), values.collect());
        }
    }
    found
}
