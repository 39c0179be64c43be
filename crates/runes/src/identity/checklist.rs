//! List items that are things to tick: `[ ]`, `[x]`, `[>]` and `[-]` in front of their text.

use crate::tree::{Node, Tag};

/// Turns the mark in front of an item's text into `data-checked`.
pub(super) fn mark(tag: &mut Tag) {
    if !tag.is("li") {
        return;
    }
    let text = match tag.children.first_mut() {
        Some(Node::Text(text)) => Some(text),
        Some(Node::Tag(first)) if first.is("p") => match first.children.first_mut() {
            Some(Node::Text(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    if let Some((state, rest)) = text.as_deref().and_then(|text| ticked(text)) {
        let rest = rest.to_owned();
        if let Some(text) = text {
            *text = rest;
        }
        tag.attributes.insert("data-checked".into(), state.into());
    }
}

/// The state of an item and its text without the mark.
fn ticked(text: &str) -> Option<(&'static str, &str)> {
    let mut signs = text.strip_prefix('[')?.chars();
    let state = match signs.next()? {
        'x' | 'X' => "checked",
        '>' => "active",
        '-' => "skipped",
        sign if is_space(sign) => "unchecked",
        _ => return None,
    };
    let rest = signs.as_str().strip_prefix(']')?;
    Some((state, rest.trim_start_matches(is_space)))
}

/// White space as a regular expression of the original takes it.
fn is_space(sign: char) -> bool {
    sign == '\u{feff}' || (sign.is_whitespace() && sign != '\u{85}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_how_far_it_is() {
        let check = |text: &str, expect| assert_eq!(ticked(text), expect, "{text}");
        check("[ ] sail", Some(("unchecked", "sail")));
        check("[x]sail", Some(("checked", "sail")));
        check("[X]  sail", Some(("checked", "sail")));
        check("[>] sail", Some(("active", "sail")));
        check("[-] sail", Some(("skipped", "sail")));
        check("[] sail", None);
        check("[y] sail", None);
        check(" [x] sail", None);
        check("[x", None);
    }
}
