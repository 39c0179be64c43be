//! Palettes: colours with names and values.
//!
//! Native: colours are parsed from lists, and contrast is computed.

use quad_markdoc::Node as MarkdocNode;
use serde_json::{Value, json};

use super::tokens::{TokenLine, read_lines, styled_part, text_part, title_element};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, is_truthy, to_js_string};
use crate::render_tree::RenderNode;

/// Minimum contrast of text against white, by grade.
const CONTRAST_MIN: [(&str, f64); 2] = [("AA", 4.5), ("AAA", 7.0)];

pub(super) fn transform(mut rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let view = PaletteView {
        contrast: rune_use.arguments.is_truthy("showContrast"),
        grades: rune_use.arguments.is_truthy("showA11y"),
        columns: rune_use.arguments.get("columns").filter(|columns| !columns.is_null()).cloned(),
    };
    let mut root =
        RootBuilder::new("palette", "section").value_if("title", rune_use.arguments.get("title").cloned());
    for name in ["showContrast", "showA11y"] {
        root = root.value(name, to_js_string(&rune_use.arguments.non_null_or(name, false)));
    }
    root = root.value("columns", view.columns.as_ref().map(to_js_string).unwrap_or_default());
    let groups = read_groups(&rune_use.content.take("body"));
    Ok(root
        .child_if(title_element(&rune_use))
        .children(groups.iter().map(|group| view.group_element(group)))
        .build())
}

/// The colours below one heading.
#[derive(Default)]
struct ColourGroup {
    title: String,
    colours: Vec<Colour>,
}

/// One colour, or a scale of colours.
struct Colour {
    name: String,
    values: Vec<String>,
}

/// The groups with colours.
fn read_groups(nodes: &[MarkdocNode]) -> Vec<ColourGroup> {
    let mut groups = Vec::new();
    let mut group = ColourGroup::default();
    for line in read_lines(nodes) {
        match line {
            TokenLine::Heading(title) => {
                groups.push(std::mem::replace(&mut group, ColourGroup { title, colours: Vec::new() }));
            }
            TokenLine::Token(name, values) => {
                let values = values.split(',').map(str::js_trim).filter(|value| !value.is_empty());
                group.colours.push(Colour { name, values: values.map(str::to_owned).collect() });
            }
        }
    }
    groups.push(group);
    groups.retain(|group| !group.colours.is_empty());
    groups
}

/// The colours with their groups, in the form that a design context passes to sandboxes.
pub(super) fn design_tokens(nodes: &[MarkdocNode]) -> Vec<Value> {
    let mut tokens = Vec::new();
    for group in read_groups(nodes) {
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

/// The options of the display: shown values, number of columns.
struct PaletteView {
    contrast: bool,
    grades: bool,
    columns: Option<Value>,
}

impl PaletteView {
    fn group_element(&self, group: &ColourGroup) -> RenderNode {
        let mut children = Vec::new();
        if !group.title.is_empty() {
            children.push(text_part("h4", "group-title", group.title.as_str()));
        }
        let (scales, singles): (Vec<&Colour>, Vec<&Colour>) =
            group.colours.iter().partition(|colour| colour.values.len() > 1);
        if !singles.is_empty() {
            let style = format!("--rf-palette-cols: {}", self.column_count(singles.len()));
            let swatches = singles.iter().map(|colour| self.swatch_element(colour));
            children.push(named_element("div", "grid", swatches).with_attr("style", style));
        }
        for colour in scales {
            let stops = colour.values.iter().map(|value| {
                let style = format!("background-color: {value}; color: {}", text_colour(value));
                text_part("div", "scale-stop", value.as_str()).with_attr("style", style)
            });
            children.push(named_element("div", "scale", stops));
            children.push(text_part("span", "swatch-name", colour.name.as_str()));
        }
        named_element("div", "group", children)
    }

    /// The number of columns.
    fn column_count(&self, count: usize) -> String {
        let requested = self.columns.as_ref().filter(|columns| match columns {
            Value::String(text) => text.js_trim().parse::<f64>().is_ok_and(|columns| columns > 0.0),
            columns => is_truthy(columns) && columns.as_f64().is_none_or(|columns| columns > 0.0),
        });
        requested.map_or_else(
            || match count {
                0..=3 => count.to_string(),
                4..=6 => "3".into(),
                7..=8 => "4".into(),
                _ => "5".into(),
            },
            to_js_string,
        )
    }

    fn swatch_element(&self, colour: &Colour) -> RenderNode {
        let value = colour.values.first().map(String::as_str).unwrap_or_default();
        let mut children = vec![
            styled_part("div", "swatch-color", format!("background-color: {value}")),
            text_part("span", "swatch-name", colour.name.as_str()),
            text_part("span", "swatch-value", value),
        ];
        let contrast_on_white = contrast(value, "#FFFFFF");
        if self.contrast {
            let text = format!(
                "W: {} · B: {}",
                format_one_decimal(contrast_on_white),
                format_one_decimal(contrast(value, "#000000"))
            );
            children.push(text_part("span", "swatch-contrast", text));
        }
        if self.grades {
            let grades = CONTRAST_MIN.map(|(grade, min_contrast)| match contrast_on_white >= min_contrast {
                true => text_part("span", "swatch-a11y--pass", format!("{grade} ✓")),
                false => text_part("span", "swatch-a11y--fail", format!("{grade} ✗")),
            });
            children.push(named_element("span", "swatch-a11y", grades));
        }
        named_element("div", "swatch", children)
    }
}

/// Red, green and blue of a hex colour with three or six digits. As in npm, an invalid digit and all after it count as
/// zero. Other notations return `None`.
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

/// Relative luminance as defined by WCAG.
fn luminance(channels: [f64; 3]) -> f64 {
    let [red, green, blue] = channels.map(|channel| {
        let share = channel / 255.0;
        if share <= 0.039_28 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Contrast of two colours, 1 to 21; 0 if one is not a hex colour.
fn contrast(first: &str, second: &str) -> f64 {
    let (Some(first_channels), Some(second_channels)) = (channels(first), channels(second)) else {
        return 0.0;
    };
    let (first_luminance, second_luminance) = (luminance(first_channels), luminance(second_channels));
    (first_luminance.max(second_luminance) + 0.05) / (first_luminance.min(second_luminance) + 0.05)
}

/// The text colour for a background.
fn text_colour(background: &str) -> &'static str {
    /// Luminance at which black and white text have the same contrast.
    const LUMINANCE_THRESHOLD: f64 = 0.179;
    match channels(background) {
        Some(channels) if luminance(channels) <= LUMINANCE_THRESHOLD => "#fff",
        _ => "#000",
    }
}

/// A number with one decimal; halves are rounded up.
fn format_one_decimal(number: f64) -> String {
    let is_half = (number * 20.0).fract() == 0.0 && (number * 20.0) % 2.0 != 0.0;
    let number = if is_half { (number * 10.0).ceil() / 10.0 } else { number };
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_matches_wcag() {
        assert_eq!(format_one_decimal(contrast("#fff", "#000000")), "21.0");
        assert_eq!(format_one_decimal(contrast("#777777", "#FFFFFF")), "4.5");
        assert_eq!(contrast("teal", "#FFFFFF"), 0.0);
        assert_eq!(text_colour("#ffee00"), "#000");
        assert_eq!(text_colour("#111"), "#fff");
    }

    #[test]
    fn format_one_decimal_rounds_half_up() {
        assert_eq!(format_one_decimal(1.25), "1.3");
        assert_eq!(format_one_decimal(1.24), "1.2");
        assert_eq!(format_one_decimal(1.5), "1.5");
    }
}
