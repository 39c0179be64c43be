//! Typefaces in their sizes and weights.
//!
//! Native because families and weights are read from lists, and the address of the fonts is made of all of them.

use quad_markdoc::Node as Parsed;
use serde_json::{Value, json};

use super::tokens::{Line, lines, text_part, title};
use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Arguments, Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{leading_integer, number, number_text, to_text};

/// Sizes of the samples, in pixels. Those above [`WHOLE_MAX_PX`] show only as much of the sentence as fits in a line.
const SIZES_PX: [u16; 5] = [48, 32, 24, 18, 14];
const WHOLE_MAX_PX: u16 = 18;
/// Characters that fit in a line at 14 pixels.
const LINE_CHARACTERS: usize = 60;
/// Weight of a font that names none.
const REGULAR: f64 = 400.0;
const CHARACTERS: &str = "AaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQqRrSsTtUuVvWwXxYyZz 0123456789 !@#$%^&*()";
/// Where fonts come from: the style sheets, and the files.
const SHEETS_HOST: &str = "https://fonts.googleapis.com";
const FILES_HOST: &str = "https://fonts.gstatic.com";

pub(super) fn transform(mut call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let mut fonts = fonts(&call.content.take("body"));
    fonts.iter_mut().for_each(|font| font.weights.sort_by(f64::total_cmp));
    let arguments = &call.arguments;
    let mut root = Component::new("typography", "section").value_if("title", arguments.get("title").cloned());
    for name in ["showSizes", "showWeights", "showCharset"] {
        root = root.value_if(name, arguments.get(name).map(to_text));
    }
    let specimens = fonts.iter().map(|font| font.specimen(arguments));
    let specimens = part("div", "specimens", specimens);
    Ok(root.children(links(&fonts)).child_if(title(&call)).child(specimens).build())
}

/// A typeface and what it is for.
struct Font {
    role: String,
    family: String,
    weights: Vec<f64>,
}

/// The fonts of a rune: `role: Family Name (400, 700)`.
fn fonts(nodes: &[Parsed]) -> Vec<Font> {
    let fonts = lines(nodes).into_iter().filter_map(|line| match line {
        Line::Token(role, text) => Some((role, text)),
        Line::Heading(_) => None,
    });
    let read = |(role, text): (String, String)| match family_and_weights(&text) {
        Some((family, weights)) => {
            let weights = weights.split(',').filter_map(|weight| leading_integer(weight.trim())).collect();
            Font { role, family: family.trim().to_owned(), weights }
        }
        None => Font { role, family: text, weights: vec![REGULAR] },
    };
    fonts.map(read).collect()
}

/// What stands before the last pair of parentheses, and in them.
fn family_and_weights(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end().strip_suffix(')')?;
    let from = text.rfind(')').map_or(1, |at| at + 1).max(1);
    let at = text.char_indices().map(|(at, _)| at).find(|at| *at >= from && text[*at..].starts_with('('))?;
    let weights = &text[at + 1..];
    (!weights.is_empty()).then_some((&text[..at], weights))
}

/// The fonts of a rune: what a design hands to sandboxes.
pub(super) fn design_tokens(nodes: &[Parsed]) -> Vec<Value> {
    let token = |font: Font| {
        let category = font.fallback();
        let weights: Vec<Value> = font.weights.into_iter().map(number).collect();
        json!({ "role": font.role, "family": font.family, "weights": weights, "category": category })
    };
    fonts(nodes).into_iter().map(token).collect()
}

/// The links that load all fonts.
fn links(fonts: &[Font]) -> Vec<Node> {
    if fonts.is_empty() {
        return Vec::new();
    }
    let families = fonts.iter().map(|font| {
        let weights = font.weights.iter().map(|weight| number_text(*weight)).collect::<Vec<_>>().join(";");
        format!("family={}:wght@{weights}", font.family.replace(' ', "+"))
    });
    let sheet = format!("{SHEETS_HOST}/css2?{}&display=swap", families.collect::<Vec<_>>().join("&"));
    let preconnect = |host: &str| Tag::new("link").with("rel", "preconnect").with("href", host);
    vec![
        preconnect(SHEETS_HOST).into(),
        preconnect(FILES_HOST).with("crossorigin", "anonymous").into(),
        Tag::new("link").with("href", sheet).with("rel", "stylesheet").into(),
    ]
}

impl Font {
    /// The generic family for browsers that do not have the font.
    fn fallback(&self) -> &'static str {
        if self.role == "mono" { "monospace" } else { "sans-serif" }
    }

    fn stack(&self) -> String {
        format!("font-family: '{}', {}", self.family, self.fallback())
    }

    /// The weight that samples are set in. A font whose weights cannot be read has none.
    fn first_weight(&self) -> String {
        self.weights.first().map_or_else(|| "undefined".into(), |weight| number_text(*weight))
    }

    fn specimen(&self, arguments: &Arguments) -> Node {
        let head = [
            text_part("span", "specimen-role", self.role.as_str()),
            text_part("span", "specimen-family", self.family.as_str()),
        ];
        let mut children = vec![part("div", "specimen-header", head)];
        if arguments.is_given("showSizes") {
            let sample = to_text(&arguments.value_or("sample", ""));
            children.push(part("div", "sizes", SIZES_PX.map(|size| self.size_sample(size, &sample))));
        }
        if arguments.is_given("showWeights") && self.weights.len() > 1 {
            children.push(part(
                "div",
                "weights",
                self.weights.iter().map(|weight| self.weight_sample(*weight)),
            ));
        }
        if arguments.is_given("showCharset") {
            let style = format!("{}; font-weight: {}", self.stack(), self.first_weight());
            children.push(text_part("div", "charset", CHARACTERS).having("style", style));
        }
        part("div", "specimen", children)
    }

    fn size_sample(&self, size: u16, sample: &str) -> Node {
        let text = if size <= WHOLE_MAX_PX { sample.to_owned() } else { beginning(sample, size) };
        let style = format!("{}; font-size: {size}px; font-weight: {}", self.stack(), self.first_weight());
        let label = text_part("span", "size-label", format!("{size}px"));
        part("div", "size-sample", [text.into(), label]).having("style", style)
    }

    fn weight_sample(&self, weight: f64) -> Node {
        let text = number_text(weight);
        let label = format!("{text} — {}", weight_name(&text).unwrap_or(&text));
        let letters = Tag::new("span").with("style", "font-size: 24px").holding(["Aa Bb Cc".into()]);
        let style = format!("{}; font-weight: {text}", self.stack());
        let children = [text_part("span", "weight-label", label), letters.into()];
        part("div", "weight-sample", children).having("style", style)
    }
}

/// As much of a sentence as fits in a line at this size. A character outside the basic plane counts twice, and may be cut in two.
fn beginning(sample: &str, size_px: u16) -> String {
    let fits = LINE_CHARACTERS * 14 / usize::from(size_px);
    let units: Vec<u16> = sample.encode_utf16().take(fits).collect();
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
    fn a_family_and_its_weights() {
        assert_eq!(family_and_weights("Inter (400, 700)"), Some(("Inter ", "400, 700")));
        assert_eq!(family_and_weights("Inter (var) (400)"), Some(("Inter (var) ", "400")));
        assert_eq!(family_and_weights("Inter"), None);
        assert_eq!(family_and_weights("(400)"), None);
        assert_eq!(family_and_weights("Inter ()"), None);
    }

    #[test]
    fn larger_samples_are_shorter() {
        let sample = "x".repeat(100);
        assert_eq!([48, 32, 24].map(|size| beginning(&sample, size).len()), [17, 26, 35]);
    }
}
