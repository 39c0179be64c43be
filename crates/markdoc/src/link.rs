//! The parts of a link: destination, title, label. Used by links, images and link definitions.

use crate::char_class;
use crate::entity::unescape;
use crate::limits::DESTINATION_PARENTHESES_MAX;
use crate::url;

/// A parsed part, and where it ends.
pub(crate) struct LinkPart {
    pub(crate) text: String,
    pub(crate) end: usize,
}

/// Parses a destination at `start`: in angle brackets, or up to a space with balanced parentheses. Adds its cost to
/// `steps`, also if it fails.
pub(crate) fn parse_destination(text: &str, start: usize, max: usize, steps: &mut u64) -> Option<LinkPart> {
    let bytes = text.as_bytes();
    let mut pos = start;
    if start < max && bytes[start] == b'<' {
        pos += 1;
        while pos < max {
            *steps += 1;
            match bytes[pos] {
                b'\n' | b'<' => return None,
                b'>' => {
                    return Some(LinkPart {
                        text: unescape(text.get(start + 1..pos)?).into_owned(),
                        end: pos + 1,
                    });
                }
                b'\\' if pos + 1 < max => pos += 2,
                _ => pos += 1,
            }
        }
        return None;
    }
    let mut open_parentheses = 0;
    while pos < max {
        *steps += 1;
        match bytes[pos] {
            0..=b' ' | 0x7F => break,
            b'\\' if pos + 1 < max => {
                if bytes[pos + 1] == b' ' {
                    break;
                }
                pos += 1;
            }
            b'(' => {
                open_parentheses += 1;
                if open_parentheses > DESTINATION_PARENTHESES_MAX {
                    return None;
                }
            }
            b')' if open_parentheses == 0 => break,
            b')' => open_parentheses -= 1,
            _ => {}
        }
        pos += 1;
    }
    if pos == start || open_parentheses != 0 {
        return None;
    }
    Some(LinkPart { text: unescape(text.get(start..pos)?).into_owned(), end: pos })
}

/// Parses a title at `start`: in quotes of either kind, or in parentheses.
pub(crate) fn parse_title(text: &str, start: usize, max: usize, steps: &mut u64) -> Option<LinkPart> {
    let bytes = text.as_bytes();
    if start >= max {
        return None;
    }
    let close = match bytes[start] {
        quote @ (b'"' | b'\'') => quote,
        b'(' => b')',
        _ => return None,
    };
    let mut pos = start + 1;
    while pos < max {
        *steps += 1;
        match bytes[pos] {
            byte if byte == close => {
                return Some(LinkPart {
                    text: unescape(text.get(start + 1..pos)?).into_owned(),
                    end: pos + 1,
                });
            }
            b'(' if close == b')' => return None,
            b'\\' if pos + 1 < max => pos += 2,
            _ => pos += 1,
        }
    }
    None
}

/// The destination as an attribute value; `None` if it is not allowed.
pub(crate) fn sanitize_href(destination: &str) -> Option<String> {
    Some(url::encode_href(destination)).filter(|href| url::is_allowed(href))
}

/// The form in which labels are compared: case and the amount of white space do not matter.
pub(crate) fn label_key(label: &str) -> String {
    let words: Vec<&str> =
        char_class::trim(label).split(char_class::is_js_whitespace).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_and_end(part: Option<LinkPart>) -> Option<(String, usize)> {
        part.map(|part| (part.text, part.end))
    }

    #[test]
    fn parse_destination_handles_angles_and_parentheses() {
        let parse = |text: &str| text_and_end(parse_destination(text, 0, text.len(), &mut 0));
        assert_eq!(parse("/a(b)c) x"), Some(("/a(b)c".to_owned(), 6)));
        assert_eq!(parse("<a b>c"), Some(("a b".to_owned(), 5)));
        assert_eq!(parse("<a\nb>"), None);
        assert_eq!(parse(r"a\)b"), Some(("a)b".to_owned(), 4)));
        assert_eq!(parse("(a"), None);
        assert_eq!(parse("\\é x"), Some(("\\é".to_owned(), 3)));
        assert_eq!(parse(&"(".repeat(40)), None);
    }

    #[test]
    fn parse_title_handles_quotes_and_parentheses() {
        let parse = |text: &str| text_and_end(parse_title(text, 0, text.len(), &mut 0));
        assert_eq!(parse("\"a\\\"b\" x"), Some(("a\"b".to_owned(), 6)));
        assert_eq!(parse("(a)"), Some(("a".to_owned(), 3)));
        assert_eq!(parse("(a(b)"), None);
        assert_eq!(parse("'a"), None);
    }

    #[test]
    fn label_key_ignores_case_and_spacing() {
        assert_eq!(label_key(" ẞ\n  b "), label_key("ss B"));
        assert_eq!(label_key("ϴ"), label_key("θ"));
    }
}
