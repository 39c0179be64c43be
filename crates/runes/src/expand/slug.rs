//! Slugs for ids and classes.

use crate::js_value::{JsTrim, is_js_whitespace};

/// The id of a heading: lower case, white space as hyphens, without `?`, `{`, `}` and `%`, which break links.
pub fn heading_id(text: &str) -> String {
    lower_case_id(text, &['?', '{', '}', '%'])
}

/// The id that a table of contents links to. Like [`heading_id`], but removes only `?`, as npm does.
pub fn toc_id(text: &str) -> String {
    lower_case_id(text, &['?'])
}

/// Lower case depends on the neighbours of a character: a capital sigma at the end of a word becomes `ς`.
fn lower_case_id(text: &str, excluded: &[char]) -> String {
    hyphenate(text.chars().filter(|c| !excluded.contains(c))).to_lowercase()
}

/// Replaces every run of white space by one hyphen.
pub fn hyphenate(text: impl IntoIterator<Item = char>) -> String {
    let mut result = String::new();
    let mut in_space = false;
    for c in text {
        let is_space = is_js_whitespace(c);
        if !is_space {
            result.push(c);
        } else if !in_space {
            result.push('-');
        }
        in_space = is_space;
    }
    result
}

/// The slug of a known section: lower case letters, digits and single hyphens.
pub fn section_slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.js_trim().chars().flat_map(char::to_lowercase) {
        let c = if is_js_whitespace(c) || c == '_' { '-' } else { c };
        if c == '-' && slug.ends_with('-') {
            continue;
        }
        if c.is_ascii_alphanumeric() || c == '-' {
            slug.push(c);
        }
    }
    let slug = slug.strip_prefix('-').unwrap_or(&slug);
    slug.strip_suffix('-').unwrap_or(slug).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_id_lowercases_and_hyphenates() {
        assert_eq!(heading_id("Two words?"), "two-words");
        assert_eq!(heading_id("Curly {braces} and 50%"), "curly-braces-and-50");
        assert_eq!(heading_id("Größe & Maß"), "größe-&-maß");
        assert_eq!(heading_id("Tail   spaces"), "tail-spaces");
        assert_eq!(heading_id("ΕΝΑΣ ΠΩΣ; ΣΑ?Σ"), "ενας-πως;-σας");
        assert_eq!(toc_id("ΔΥΟ ΤΡΕΙΣ"), "δυο-τρεις");
        assert_eq!(toc_id("What is {x} at 50%?"), "what-is-{x}-at-50%");
    }

    #[test]
    fn section_slug_keeps_letters_digits_hyphens() {
        assert_eq!(section_slug("Acceptance Criteria"), "acceptance-criteria");
        assert_eq!(section_slug(" A__b & c!"), "a-b-c");
    }
}
