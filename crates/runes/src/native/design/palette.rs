//! Palettes: colours with their names and values.
//!
//! Native because colours are read from lists, and contrast is computed.

use quad_markdoc::Node as Parsed;
use serde_json::{Value, json};

use super::tokens::{Line, lines, styled_part, text_part, title};
use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::{to_text, truthy};

/// Contrast against white that text needs, by grade.
const CONTRAST_MIN: [(&str, f64); 2] = [("AA", 4.5), ("AAA", 7.0)];

pub(super) fn transform(mut call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let shown = Shown {
        contrast: call.arguments.is_given("showContrast"),
        grades: call.arguments.is_given("showA11y"),
        columns: call.arguments.get("columns").filter(|columns| !columns.is_null()).cloned(),
    };
    let mut root =
        Component::new("palette", "section").value_if("title", call.arguments.get("title").cloned());
    for name in ["showContrast", "showA11y"] {
        root = root.value(name, to_text(&call.arguments.value_or(name, false)));
    }
    root = root.value("columns", shown.columns.as_ref().map(to_text).unwrap_or_default());
    let groups = groups(&call.content.take("body"));
    Ok(root.child_if(title(&call)).children(groups.iter().map(|group| shown.group(group))).build())
}

/// Colours under one heading.
#[derive(Default)]
struct Group {
    title: String,
    colours: Vec<Colour>,
}

/// A colour, or a scale of several.
struct Colour {
    name: String,
    values: Vec<String>,
}

/// The groups that have colours.
fn groups(nodes: &[Parsed]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut group = Group::default();
    for line in lines(nodes) {
        match line {
            Line::Heading(title) => {
                groups.push(std::mem::replace(&mut group, Group { title, colours: Vec::new() }));
            }
            Line::Token(name, values) => {
                let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
                group.colours.push(Colour { name, values: values.map(str::to_owned).collect() });
            }
        }
    }
    groups.push(group);
    groups.retain(|group| !group.colours.is_empty());
    groups
}

/// The colours of a palette, each with the group it stands in: what a design hands to sandboxes.
pub(super) fn design_tokens(nodes: &[Parsed]) -> Vec<Value> {
    let mut tokens = Vec::new();
    for group in groups(nodes) {
        for colour in group.colours {
            let values = if colour.values.is_empty() { vec![String::new()] } else { colour.values };
            for value in values {
                let mut token = json!({ "name": colour.name, "value": value });
                if !group.title.is_empty() {
                    token["group"] = group.title.as_str().into();
                }
                tokens.push(token);
            }
        }
    }
    tokens
}

/// What is shown beside each colour, and how many stand in a row.
struct Shown {
    contrast: bool,
    grades: bool,
    columns: Option<Value>,
}

impl Shown {
    fn group(&self, group: &Group) -> Node {
        let mut children = Vec::new();
        if !group.title.is_empty() {
            children.push(text_part("h4", "group-title", group.title.as_str()));
        }
        let (scales, singles): (Vec<&Colour>, Vec<&Colour>) =
            group.colours.iter().partition(|colour| colour.values.len() > 1);
        if !singles.is_empty() {
            let style = format!("--rf-palette-cols: {}", self.columns(singles.len()));
            let swatches = singles.iter().map(|colour| self.swatch(colour));
            children.push(part("div", "grid", swatches).having("style", style));
        }
        for colour in scales {
            let stops = colour.values.iter().map(|value| {
                let style = format!("background-color: {value}; color: {}", text_colour(value));
                text_part("div", "scale-stop", value.as_str()).having("style", style)
            });
            children.push(part("div", "scale", stops));
            children.push(text_part("span", "swatch-name", colour.name.as_str()));
        }
        part("div", "group", children)
    }

    /// How many colours stand in a row.
    fn columns(&self, count: usize) -> String {
        let asked = self.columns.as_ref().filter(|columns| match columns {
            Value::String(text) => text.trim().parse::<f64>().is_ok_and(|columns| columns > 0.0),
            columns => truthy(columns) && columns.as_f64().is_none_or(|columns| columns > 0.0),
        });
        asked.map_or_else(
            || match count {
                0..=3 => count.to_string(),
                4..=6 => "3".into(),
                7..=8 => "4".into(),
                _ => "5".into(),
            },
            to_text,
        )
    }

    fn swatch(&self, colour: &Colour) -> Node {
        let value = colour.values.first().map(String::as_str).unwrap_or_default();
        let mut children = vec![
            styled_part("div", "swatch-color", format!("background-color: {value}")),
            text_part("span", "swatch-name", colour.name.as_str()),
            text_part("span", "swatch-value", value),
        ];
        let on_white = contrast(value, "#FFFFFF");
        if self.contrast {
            let text =
                format!("W: {} · B: {}", one_decimal(on_white), one_decimal(contrast(value, "#000000")));
            children.push(text_part("span", "swatch-contrast", text));
        }
        if self.grades {
            let grades = CONTRAST_MIN.map(|(grade, least)| match on_white >= least {
                true => text_part("span", "swatch-a11y--pass", format!("{grade} ✓")),
                false => text_part("span", "swatch-a11y--fail", format!("{grade} ✗")),
            });
            children.push(part("span", "swatch-a11y", grades));
        }
        part("div", "swatch", children)
    }
}

/// Red, green and blue of a colour that is written in hex with three or six digits. Digits that are none count as zero from
/// there on, as in the original; any other notation is no colour here.
fn channels(colour: &str) -> Option<[f64; 3]> {
    let digits: Vec<char> = colour.replacen('#', "", 1).chars().collect();
    let digits: String = match digits.len() {
        3 => digits.into_iter().flat_map(|digit| [digit, digit]).collect(),
        6 => digits.into_iter().collect(),
        _ => return None,
    };
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let number =
        digits.get(..end).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default();
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue].map(f64::from))
}

/// Relative luminance as the accessibility guidelines define it.
fn luminance(channels: [f64; 3]) -> f64 {
    let [red, green, blue] = channels.map(|channel| {
        let share = channel / 255.0;
        if share <= 0.039_28 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Contrast of two colours, 1 to 21; 0 where one of them cannot be read.
fn contrast(one: &str, other: &str) -> f64 {
    let (Some(one), Some(other)) = (channels(one), channels(other)) else { return 0.0 };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The colour of text that is read on this one.
fn text_colour(background: &str) -> &'static str {
    /// Luminance at which black and white are read equally well.
    const MIDDLE: f64 = 0.179;
    match channels(background) {
        Some(channels) if luminance(channels) <= MIDDLE => "#fff",
        _ => "#000",
    }
}

/// A number with one digit after the point; halves are rounded up.
fn one_decimal(number: f64) -> String {
    let is_half = (number * 20.0).fract() == 0.0 && (number * 20.0) % 2.0 != 0.0;
    let number = if is_half { (number * 10.0).ceil() / 10.0 } else { number };
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_by_the_guidelines() {
        assert_eq!(one_decimal(contrast("#fff", "#000000")), "21.0");
        assert_eq!(one_decimal(contrast("#777777", "#FFFFFF")), "4.5");
        assert_eq!(contrast("teal", "#FFFFFF"), 0.0);
        assert_eq!(text_colour("#ffee00"), "#000");
        assert_eq!(text_colour("#111"), "#fff");
    }

    #[test]
    fn halves_are_rounded_up() {
        assert_eq!(one_decimal(1.25), "1.3");
        assert_eq!(one_decimal(1.24), "1.2");
        assert_eq!(one_decimal(1.5), "1.5");
    }
}
