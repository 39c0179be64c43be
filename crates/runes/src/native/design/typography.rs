//! Typefaces in sizes and weights.
//!
//! Native: families and weights are parsed from lists, and the font URL contains all of them.

use quad_markdoc::Node as MarkdocNode;
use serde_json::{Value, json};

use super::tokens::{TokenLine, read_lines, text_part, title_element};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{Arguments, RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number, json_number, parse_int, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Sizes of the samples in pixels. Above [`FULL_SAMPLE_MAX_PX`] the sentence is cut to one line.
const SIZES_PX: [u16; 5] = [48, 32, 24, 18, 14];
const FULL_SAMPLE_MAX_PX: u16 = 18;
/// Characters that fit in a line at 14 pixels.
const LINE_CHARS_AT_14_PX: usize = 60;
/// Weight of a font without one.
const REGULAR_WEIGHT: f64 = 400.0;
const CHARSET_SAMPLE: &str = "AaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQqRrSsTtUuVvWwXxYyZz 0123456789 !@#$%^&*()";
/// Hosts of the fonts: style sheets, files.
const SHEETS_HOST: &str = "https://fonts.googleapis.com";
const FILES_HOST: &str = "https://fonts.gstatic.com";

pub(super) fn transform(mut rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut fonts = read_fonts(&rune_use.content.take("body"));
    fonts.iter_mut().for_each(|font| font.weights.sort_by(f64::total_cmp));
    let arguments = &rune_use.arguments;
    let mut root =
        RootBuilder::new("typography", "section").value_if("title", arguments.get("title").cloned());
    for name in ["showSizes", "showWeights", "showCharset"] {
        root = root.value_if(name, arguments.get(name).map(to_js_string));
    }
    let specimens = fonts.iter().map(|font| font.specimen_element(arguments));
    let specimens = named_element("div", "specimens", specimens);
    Ok(root.children(font_links(&fonts)).child_if(title_element(&rune_use)).child(specimens).build())
}

/// A typeface and its role.
struct Font {
    role: String,
    family: String,
    weights: Vec<f64>,
}

/// Parses fonts: `role: Family Host (400, 700)`.
fn read_fonts(nodes: &[MarkdocNode]) -> Vec<Font> {
    let fonts = read_lines(nodes).into_iter().filter_map(|line| match line {
        TokenLine::Token(role, text) => Some((role, text)),
        TokenLine::Heading(_) => None,
    });
    let parse_font = |(role, text): (String, String)| match family_and_weights(&text) {
        Some((family, weights)) => {
            let weights = weights.split(',').filter_map(|weight| parse_int(weight.js_trim())).collect();
            Font { role, family: family.js_trim().to_owned(), weights }
        }
        None => Font { role, family: text, weights: vec![REGULAR_WEIGHT] },
    };
    fonts.map(parse_font).collect()
}

/// The text before the last pair of parentheses, and the text in them.
fn family_and_weights(text: &str) -> Option<(&str, &str)> {
    let text = text.js_trim_end().strip_suffix(')')?;
    let search_start = text.rfind(')').map_or(1, |index| index + 1).max(1);
    let open_paren = text
        .char_indices()
        .map(|(index, _)| index)
        .find(|index| *index >= search_start && text[*index..].starts_with('('))?;
    let weights = &text[open_paren + 1..];
    (!weights.is_empty()).then_some((&text[..open_paren], weights))
}

/// The fonts in the form that a design context passes to sandboxes.
pub(super) fn design_tokens(nodes: &[MarkdocNode]) -> Vec<Value> {
    let token = |font: Font| {
        let category = font.generic_family();
        let weights: Vec<Value> = font.weights.into_iter().map(json_number).collect();
        json!({ "role": font.role, "family": font.family, "weights": weights, "category": category })
    };
    read_fonts(nodes).into_iter().map(token).collect()
}

/// The `link` elements that load all fonts.
fn font_links(fonts: &[Font]) -> Vec<RenderNode> {
    if fonts.is_empty() {
        return Vec::new();
    }
    let families = fonts.iter().map(|font| {
        let weights =
            font.weights.iter().map(|weight| format_js_number(*weight)).collect::<Vec<_>>().join(";");
        format!("family={}:wght@{weights}", font.family.replace(' ', "+"))
    });
    let sheet = format!("{SHEETS_HOST}/css2?{}&display=swap", families.collect::<Vec<_>>().join("&"));
    let preconnect = |host: &str| Element::new("link").with_attr("rel", "preconnect").with_attr("href", host);
    vec![
        preconnect(SHEETS_HOST).into(),
        preconnect(FILES_HOST).with_attr("crossorigin", "anonymous").into(),
        Element::new("link").with_attr("href", sheet).with_attr("rel", "stylesheet").into(),
    ]
}

impl Font {
    /// The generic fallback family.
    fn generic_family(&self) -> &'static str {
        if self.role == "mono" { "monospace" } else { "sans-serif" }
    }

    fn font_family_css(&self) -> String {
        format!("font-family: '{}', {}", self.family, self.generic_family())
    }

    /// The weight of the samples. Empty for a font whose weights cannot be parsed.
    fn first_weight(&self) -> String {
        self.weights.first().map_or_else(|| "undefined".into(), |weight| format_js_number(*weight))
    }

    fn specimen_element(&self, arguments: &Arguments) -> RenderNode {
        let head = [
            text_part("span", "specimen-role", self.role.as_str()),
            text_part("span", "specimen-family", self.family.as_str()),
        ];
        let mut children = vec![named_element("div", "specimen-header", head)];
        if arguments.is_truthy("showSizes") {
            let sample = to_js_string(&arguments.non_null_or("sample", ""));
            children.push(named_element(
                "div",
                "sizes",
                SIZES_PX.map(|size| self.size_sample(size, &sample)),
            ));
        }
        if arguments.is_truthy("showWeights") && self.weights.len() > 1 {
            children.push(named_element(
                "div",
                "weights",
                self.weights.iter().map(|weight| self.weight_sample(*weight)),
            ));
        }
        if arguments.is_truthy("showCharset") {
            let style = format!("{}; font-weight: {}", self.font_family_css(), self.first_weight());
            children.push(text_part("div", "charset", CHARSET_SAMPLE).with_attr("style", style));
        }
        named_element("div", "specimen", children)
    }

    fn size_sample(&self, size: u16, sample: &str) -> RenderNode {
        let text =
            if size <= FULL_SAMPLE_MAX_PX { sample.to_owned() } else { truncate_to_line(sample, size) };
        let style =
            format!("{}; font-size: {size}px; font-weight: {}", self.font_family_css(), self.first_weight());
        let label = text_part("span", "size-label", format!("{size}px"));
        named_element("div", "size-sample", [text.into(), label]).with_attr("style", style)
    }

    fn weight_sample(&self, weight: f64) -> RenderNode {
        let text = format_js_number(weight);
        let label = format!("{text} — {}", weight_name(&text).unwrap_or(&text));
        let letters =
            Element::new("span").with_attr("style", "font-size: 24px").with_children(["Aa Bb Cc".into()]);
        let style = format!("{}; font-weight: {text}", self.font_family_css());
        let children = [text_part("span", "weight-label", label), letters.into()];
        named_element("div", "weight-sample", children).with_attr("style", style)
    }
}

/// Cuts a sentence to one line at this size. Counts UTF-16 units, as npm does, and may cut a surrogate pair in two.
fn truncate_to_line(sample: &str, size_px: u16) -> String {
    let max_units = LINE_CHARS_AT_14_PX * 14 / usize::from(size_px);
    let units: Vec<u16> = sample.encode_utf16().take(max_units).collect();
    String::from_utf16_lossy(&units)
}

fn weight_name(weight: &str) -> Option<&'static str> {
    Some(match weight {
        "100" => "Thin",
        "200" => "Extra Light",
        "300" => "Light",
        "400" => "Regular",
        "500" => "Medium",
        "600" => "Semibold",
        "700" => "Bold",
        "800" => "Extra Bold",
        "900" => "Black",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_and_weights_are_parsed() {
        assert_eq!(family_and_weights("Inter (400, 700)"), Some(("Inter ", "400, 700")));
        assert_eq!(family_and_weights("Inter (var) (400)"), Some(("Inter (var) ", "400")));
        assert_eq!(family_and_weights("Inter"), None);
        assert_eq!(family_and_weights("(400)"), None);
        assert_eq!(family_and_weights("Inter ()"), None);
    }

    #[test]
    fn truncate_to_line_shortens_larger_samples() {
        let sample = "x".repeat(100);
        assert_eq!([48, 32, 24].map(|size| truncate_to_line(&sample, size).len()), [17, 26, 35]);
    }
}
