//! Tags within the content of a fence, which is otherwise taken as it is.

use std::ops::Range;

use crate::characters::{is_space, leading_space, trim};
use crate::tag::{self, Syntax, SyntaxError};
use crate::tag_ends::TagEnds;
use crate::text::Text;

/// A part of a fence's content. Places are bytes of the content.
pub(crate) enum FencePart {
    Text(Range<usize>),
    Tag { place: Range<usize>, line: u32, syntax: Result<Syntax, SyntaxError> },
}

/// Takes the content of a fence apart that begins on the line after `fence_line`.
pub(crate) fn split(content: &Text<'_>, fence_line: u32) -> Vec<FencePart> {
    let text: &str = &content.text;
    let mut parts = Vec::new();
    if !text.contains("{%") {
        parts.push(FencePart::Text(0..text.len()));
        return parts;
    }
    let bytes = text.as_bytes();
    let ends = TagEnds::new(text);
    let mut line = fence_line + 1;
    let mut line_start = None;
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            line += 1;
            line_start = Some(at);
        }
        if !(bytes[at] == b'{' && bytes.get(at + 1) == Some(&b'%')) {
            at += 1;
            continue;
        }
        let Some(close) = ends.of(at) else {
            // The byte after it is not looked at either, as in the original: a line ending there does not count.
            if bytes.get(at + 2) == Some(&b'\n') {
                line_start = Some(at + 2);
            }
            at += 3;
            continue;
        };
        let end = close + "%}".len();
        let inner = text.get(at + "{%".len()..close).unwrap_or("");
        let offset = (at + "{%".len() + leading_space(inner)) as u32;
        let syntax = match tag::parse(trim(inner)) {
            Ok(syntax) => Ok(syntax.moved(|at| at + offset, |at| at + offset)),
            Err(error) => Err(error.moved(|at| at + offset)),
        };
        // A tag alone on its line takes the line ending before it along.
        let text_end = line_start.filter(|start| is_alone(text, *start, at, end)).unwrap_or(at);
        parts.push(FencePart::Text(copied..text_end.max(copied)));
        parts.push(FencePart::Tag { place: at..end, line, syntax });
        if let Some(last) = text.get(at..end).and_then(|tag| tag.rfind('\n')) {
            line_start = Some(at + last);
        }
        copied = end;
        at = end;
    }
    parts.push(FencePart::Text(copied.min(text.len())..text.len()));
    parts
}

/// Whether only white space stands between the line ending at `line_start` and a tag, and after the tag on its last line.
fn is_alone(text: &str, line_start: usize, start: usize, end: usize) -> bool {
    let before = text.get(line_start..start).unwrap_or("");
    let reaches_line = before.chars().rev().all(is_space);
    let rest = text.get(end..).unwrap_or("");
    let after = rest.trim_start_matches(|c| is_space(c) && c != '\n');
    // On the last line without an ending, the original overlooks one UTF-16 unit.
    let follows_nothing = after.starts_with('\n') || (after.is_empty() && !rest.is_empty());
    let mut units = after.encode_utf16();
    let overlooked = units.next().is_some() && units.next().is_none() && !after.starts_with('\n');
    reaches_line && (follows_nothing || overlooked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(content: &str) -> Vec<String> {
        let parts = split(&Text::borrowed(content, 0), 4);
        parts
            .into_iter()
            .map(|part| match part {
                FencePart::Text(place) => format!("{:?}", &content[place]),
                FencePart::Tag { place, line, .. } => format!("{line}: {}", &content[place]),
            })
            .collect()
    }

    #[test]
    fn a_tag_alone_on_its_line_takes_the_ending_before_it() {
        assert_eq!(shape("a\n {% b /%} \nc\n"), ["\"a\"", "6: {% b /%}", "\" \\nc\\n\""]);
        assert_eq!(shape("a {% b /%}\n"), ["\"a \"", "5: {% b /%}", "\"\\n\""]);
        assert_eq!(shape("{% b /%}\n"), ["\"\"", "5: {% b /%}", "\"\\n\""]);
    }

    #[test]
    fn openings_without_an_end_are_text() {
        assert_eq!(shape("{% \" {% a %}\n"), ["\"{% \\\" \"", "5: {% a %}", "\"\\n\""]);
        assert_eq!(shape("{% a\n"), ["\"{% a\\n\""]);
    }
}
