//! Inline styles.

use serde_json::Value;

use super::chrome::word;
use super::look::Look;
use crate::catalogue::{EngineConfig, Style, StyleTransform};
use crate::tree::Tag;
use crate::value::{to_text, truthy};

const VALIGNS: [(&str, &str); 2] = [("top", "start"), ("bottom", "end")];

const GAPS: [(&str, &str); 4] = [
    ("none", "0"),
    ("tight", "var(--rf-spacing-sm)"),
    ("default", "var(--rf-spacing-md)"),
    ("loose", "var(--rf-spacing-xl)"),
];

/// Styles of the root: those that follow modifiers, then those of the facets.
pub(super) fn of_root(config: &EngineConfig, look: &Look) -> Vec<(String, String)> {
    let from_modifiers = config.styles.iter().filter_map(|(modifier, style)| {
        let value = look.axes.get(modifier).filter(|value| truthy(value))?;
        Some((style.prop.clone(), styled(style, &to_text(value))))
    });
    from_modifiers.chain(look.styles.iter().cloned()).collect()
}

fn styled(style: &Style, value: &str) -> String {
    match (style.transform, &style.template) {
        (Some(StyleTransform::Valign), _) => word(&VALIGNS, value).unwrap_or(value).to_owned(),
        (Some(StyleTransform::Gap), _) => word(&GAPS, value).unwrap_or(value).to_owned(),
        (Some(StyleTransform::Ratio), _) => fractions(value),
        (None, Some(template)) => template.replacen("{}", value, 1),
        (None, None) => value.to_owned(),
    }
}

/// `2 1` → `2fr 1fr`.
fn fractions(value: &str) -> String {
    let parts = split_at_spaces(value).map(|part| format!("{part}fr"));
    parts.collect::<Vec<_>>().join(" ")
}

/// Parts between runs of white space; a space at either end leaves an empty part there.
fn split_at_spaces(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.split_whitespace();
    let starts = text.starts_with(char::is_whitespace).then_some("");
    let ends = (text.is_empty() || text.trim_start() != text.trim()).then_some("");
    starts.into_iter().chain(inner).chain(ends)
}

/// Adds declarations to an element's own.
pub(super) fn append(tag: &mut Tag, styles: &[(String, String)]) {
    if styles.is_empty() {
        return;
    }
    let own = tag.attributes.get("style").filter(|style| truthy(style)).map(to_text);
    let added = styles.iter().map(|(property, value)| format!("{property}: {value}"));
    let all: Vec<String> = own.into_iter().chain(added).collect();
    tag.attributes.insert("style".into(), Value::String(all.join("; ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_become_fractions() {
        assert_eq!(fractions("2 1"), "2fr 1fr");
        assert_eq!(fractions(" 2  1"), "fr 2fr 1fr");
        assert_eq!(fractions("1 "), "1fr fr");
    }

    #[test]
    fn styles_are_added_to_those_that_are_there() {
        let mut tag = Tag::new("p").with("style", "a: 1").with("id", "x");
        append(&mut tag, &[("b".into(), "2".into()), ("c".into(), "3".into())]);
        assert_eq!(tag.text("style"), Some("a: 1; b: 2; c: 3"));
        assert_eq!(tag.attributes.keys().collect::<Vec<_>>(), ["style", "id"]);
    }
}
