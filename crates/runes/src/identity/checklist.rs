//! Check boxes of list items: `[ ]`, `[x]`, `[>]` and `[-]` before the text.

use crate::js_value::is_js_whitespace;
use crate::render_tree::{Element, RenderNode};

/// Replaces the check box of an item by `data-checked`.
pub(super) fn mark_checked(tag: &mut Element) {
    if !tag.is("li") {
        return;
    }
    let text = match tag.children.first_mut() {
        Some(RenderNode::Text(text)) => Some(text),
        Some(RenderNode::Element(first)) if first.is("p") => match first.children.first_mut() {
            Some(RenderNode::Text(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    if let Some((state, rest)) = text.as_deref().and_then(|text| parse_checkbox(text)) {
        let rest = rest.to_owned();
        if let Some(text) = text {
            *text = rest;
        }
        tag.attributes.insert("data-checked".into(), state.into());
    }
}

/// The state of an item, and its text without the check box.
fn parse_checkbox(text: &str) -> Option<(&'static str, &str)> {
    let mut chars = text.strip_prefix('[')?.chars();
    let state = match chars.next()? {
        'x' | 'X' => "checked",
        '>' => "active",
        '-' => "skipped",
        ch if is_js_whitespace(ch) => "unchecked",
        _ => return None,
    };
    let rest = chars.as_str().strip_prefix(']')?;
    Some((state, rest.trim_start_matches(is_js_whitespace)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkbox_mark_sets_the_state() {
        let check = |text: &str, expect| assert_eq!(parse_checkbox(text), expect, "{text}");
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
