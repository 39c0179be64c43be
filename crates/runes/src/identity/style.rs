//! Inline styles.

use serde_json::Value;

use super::root_style::RootStyle;
use super::surface_style::lookup;
use crate::catalogue::{EngineConfig, Style, StyleTransform};
use crate::js_value::{JsTrim, is_js_whitespace, is_truthy, to_js_string};
use crate::render_tree::Element;

const VALIGNS: [(&str, &str); 2] = [("top", "start"), ("bottom", "end")];

const GAPS: [(&str, &str); 4] = [
    ("none", "0"),
    ("tight", "var(--rf-spacing-sm)"),
    ("default", "var(--rf-spacing-md)"),
    ("loose", "var(--rf-spacing-xl)"),
];

/// Styles of the root: those of modifiers, then those of facets.
pub(super) fn root_styles(config: &EngineConfig, root_style: &RootStyle) -> Vec<(String, String)> {
    let from_modifiers = config.styles.iter().filter_map(|(modifier, style)| {
        let value = root_style.modifier_values.get(modifier).filter(|value| is_truthy(value))?;
        Some((style.prop.clone(), style_value(style, &to_js_string(value))))
    });
    from_modifiers.chain(root_style.styles.iter().cloned()).collect()
}

fn style_value(style: &Style, value: &str) -> String {
    match (style.transform, &style.template) {
        (Some(StyleTransform::Valign), _) => lookup(&VALIGNS, value).unwrap_or(value).to_owned(),
        (Some(StyleTransform::Gap), _) => lookup(&GAPS, value).unwrap_or(value).to_owned(),
        (Some(StyleTransform::Ratio), _) => to_fractions(value),
        (None, Some(template)) => template.replacen("{}", value, 1),
        (None, None) => value.to_owned(),
    }
}

/// `2 1` → `2fr 1fr`.
fn to_fractions(value: &str) -> String {
    let parts = split_at_spaces(value).map(|part| format!("{part}fr"));
    parts.collect::<Vec<_>>().join(" ")
}

/// Splits at white space; white space at an end leaves an empty part there.
fn split_at_spaces(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.split(is_js_whitespace).filter(|part| !part.is_empty());
    let starts = text.starts_with(is_js_whitespace).then_some("");
    let ends = (text.is_empty() || text.js_trim_start() != text.js_trim()).then_some("");
    starts.into_iter().chain(inner).chain(ends)
}

/// Appends declarations to an element's style.
pub(super) fn append_styles(tag: &mut Element, styles: &[(String, String)]) {
    if styles.is_empty() {
        return;
    }
    let existing = tag.attributes.get("style").filter(|style| is_truthy(style)).map(to_js_string);
    let added = styles.iter().map(|(property, value)| format!("{property}: {value}"));
    let all: Vec<String> = existing.into_iter().chain(added).collect();
    tag.attributes.insert("style".into(), Value::String(all.join("; ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_converted_to_fractions() {
        assert_eq!(to_fractions("2 1"), "2fr 1fr");
        assert_eq!(to_fractions(" 2  1"), "fr 2fr 1fr");
        assert_eq!(to_fractions("1 "), "1fr fr");
    }

    #[test]
    fn append_styles_keeps_existing_styles() {
        let mut tag = Element::new("p").with_attr("style", "a: 1").with_attr("id", "x");
        append_styles(&mut tag, &[("b".into(), "2".into()), ("c".into(), "3".into())]);
        assert_eq!(tag.attr_str("style"), Some("a: 1; b: 2; c: 3"));
        assert_eq!(tag.attributes.keys().collect::<Vec<_>>(), ["style", "id"]);
    }
}
