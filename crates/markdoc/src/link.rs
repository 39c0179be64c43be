//! The parts of a link: destination, title, label. Links, images and link definitions share them.

use crate::characters;
use crate::entity::unescaped;
use crate::limits::DESTINATION_PARENTHESES_MAX;
use crate::url;

/// A part that was read, and where it ends.
pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) end: usize,
}

/// Reads a destination at `start`: within angle brackets, or up to a space with balanced parentheses. What it costs is added to
/// `steps`, also if it is in vain.
pub(crate) fn destination(text: &str, start: usize, max: usize, steps: &mut u64) -> Option<Part> {
    let bytes = text.as_bytes();
    let mut at = start;
    if start < max && bytes[start] == b'<' {
        at += 1;
        while at < max {
            *steps += 1;
            match bytes[at] {
                b'\n' | b'<' => return None,
                b'>' => return Some(Part { text: unescaped(text.get(start + 1..at)?).into_owned(), end: at + 1 }),
                b'\\' if at + 1 < max => at += 2,
                _ => at += 1,
            }
        }
        return None;
    }
    let mut open = 0;
    while at < max {
        *steps += 1;
        match bytes[at] {
            0..=b' ' | 0x7F => break,
            b'\\' if at + 1 < max => {
                if bytes[at + 1] == b' ' {
                    break;
                }
                at += 1;
            }
            b'(' => {
                open += 1;
                if open > DESTINATION_PARENTHESES_MAX {
                    return None;
                }
            }
            b')' if open == 0 => break,
            b')' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    if at == start || open != 0 {
        return None;
    }
    Some(Part { text: unescaped(text.get(start..at)?).into_owned(), end: at })
}

/// Reads a title at `start`: within quotes of either kind, or within parentheses.
pub(crate) fn title(text: &str, start: usize, max: usize, steps: &mut u64) -> Option<Part> {
    let bytes = text.as_bytes();
    if start >= max {
        return None;
    }
    let close = match bytes[start] {
        quote @ (b'"' | b'\'') => quote,
        b'(' => b')',
        _ => return None,
    };
    let mut at = start + 1;
    while at < max {
        *steps += 1;
        match bytes[at] {
            byte if byte == close => {
                return Some(Part { text: unescaped(text.get(start + 1..at)?).into_owned(), end: at + 1 });
            }
            b'(' if close == b')' => return None,
            b'\\' if at + 1 < max => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// A destination as it becomes an attribute; none if it must not become one.
pub(crate) fn allowed(destination: &str) -> Option<String> {
    Some(url::normalised(destination)).filter(|href| url::is_allowed(href))
}

/// The form in which labels are compared: without regard to case and to how words are spaced.
pub(crate) fn normalised_label(label: &str) -> String {
    let words: Vec<&str> = characters::trim(label).split(characters::is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(part: Option<Part>) -> Option<(String, usize)> {
        part.map(|part| (part.text, part.end))
    }

    #[test]
    fn destinations() {
        let read = |text: &str| read(destination(text, 0, text.len(), &mut 0));
        assert_eq!(read("/a(b)c) x"), Some(("/a(b)c".to_owned(), 6)));
        assert_eq!(read("<a b>c"), Some(("a b".to_owned(), 5)));
        assert_eq!(read("<a\nb>"), None);
        assert_eq!(read(r"a\)b"), Some(("a)b".to_owned(), 4)));
        assert_eq!(read("(a"), None);
        assert_eq!(read("\\é x"), Some(("\\é".to_owned(), 3)));
        assert_eq!(read(&"(".repeat(40)), None);
    }

    #[test]
    fn titles() {
        let read = |text: &str| read(title(text, 0, text.len(), &mut 0));
        assert_eq!(read("\"a\\\"b\" x"), Some(("a\"b".to_owned(), 6)));
        assert_eq!(read("(a)"), Some(("a".to_owned(), 3)));
        assert_eq!(read("(a(b)"), None);
        assert_eq!(read("'a"), None);
    }

    #[test]
    fn labels_compare_without_case_and_spacing() {
        assert_eq!(normalised_label(" ẞ\n  b "), normalised_label("ss B"));
        assert_eq!(normalised_label("ϴ"), normalised_label("θ"));
    }
}
