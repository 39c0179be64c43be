//! Tags in the content of a fence, which is otherwise literal.

use std::ops::Range;

use crate::char_class::is_js_whitespace;
use crate::mapped_text::MappedText;
use crate::tag::{self, SyntaxError, TagSyntax};
use crate::tag_close_index::TagCloseIndex;

/// A part of a fence's content. Positions are bytes of the content.
pub(crate) enum FencePart {
    Text(Range<usize>),
    Tag { range: Range<usize>, line: u32, syntax: Result<TagSyntax, SyntaxError> },
}

/// Splits the content of a fence that begins on the line after `fence_line`.
pub(crate) fn split(content: &MappedText<'_>, fence_line: u32) -> Vec<FencePart> {
    let text: &str = &content.text;
    let mut parts = Vec::new();
    if !text.contains("{%") {
        parts.push(FencePart::Text(0..text.len()));
        return parts;
    }
    let bytes = text.as_bytes();
    let tag_closes = TagCloseIndex::new(text);
    let mut line = fence_line + 1;
    let mut line_start = None;
    let mut copied_until = 0;
    let mut pos = 0;
    while pos < bytes.len() {
        if bytes[pos] == b'\n' {
            line += 1;
            line_start = Some(pos);
        }
        if !(bytes[pos] == b'{' && bytes.get(pos + 1) == Some(&b'%')) {
            pos += 1;
            continue;
        }
        let Some(close) = tag_closes.close_of(pos) else {
            // As in the npm package, the byte after the tag is skipped: a line ending there does not count.
            if bytes.get(pos + 2) == Some(&b'\n') {
                line_start = Some(pos + 2);
            }
            pos += 3;
            continue;
        };
        let end = close + "%}".len();
        let syntax = tag::parse_between(text, pos, close);
        // A tag alone on its line includes the preceding line ending.
        let text_end = line_start.filter(|start| is_alone_on_line(text, *start, pos, end)).unwrap_or(pos);
        parts.push(FencePart::Text(copied_until..text_end.max(copied_until)));
        parts.push(FencePart::Tag { range: pos..end, line, syntax });
        if let Some(last) = text.get(pos..end).and_then(|tag| tag.rfind('\n')) {
            line_start = Some(pos + last);
        }
        copied_until = end;
        pos = end;
    }
    parts.push(FencePart::Text(copied_until.min(text.len())..text.len()));
    parts
}

/// Whether only white space is between the line ending at `line_start` and a tag, and after the tag on its last line.
fn is_alone_on_line(text: &str, line_start: usize, start: usize, end: usize) -> bool {
    let before = text.get(line_start..start).unwrap_or("");
    let only_space_before = before.chars().rev().all(is_js_whitespace);
    let rest = text.get(end..).unwrap_or("");
    let after = rest.trim_start_matches(|c| is_js_whitespace(c) && c != '\n');
    // As in the npm package, one UTF-16 unit is ignored on a last line without line ending.
    let only_space_after = after.starts_with('\n') || (after.is_empty() && !rest.is_empty());
    let mut units = after.encode_utf16();
    let overlooked = units.next().is_some() && units.next().is_none() && !after.starts_with('\n');
    only_space_before && (only_space_after || overlooked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_parts(content: &str) -> Vec<String> {
        let parts = split(&MappedText::borrowed(content, 0), 4);
        parts
            .into_iter()
            .map(|part| match part {
                FencePart::Text(range) => format!("{:?}", &content[range]),
                FencePart::Tag { range, line, .. } => format!("{line}: {}", &content[range]),
            })
            .collect()
    }

    #[test]
    fn tag_alone_on_line_consumes_preceding_newline() {
        assert_eq!(describe_parts("a\n {% b /%} \nc\n"), ["\"a\"", "6: {% b /%}", "\" \\nc\\n\""]);
        assert_eq!(describe_parts("a {% b /%}\n"), ["\"a \"", "5: {% b /%}", "\"\\n\""]);
        assert_eq!(describe_parts("{% b /%}\n"), ["\"\"", "5: {% b /%}", "\"\\n\""]);
    }

    #[test]
    fn unclosed_tag_in_fence_is_text() {
        assert_eq!(describe_parts("{% \" {% a %}\n"), ["\"{% \\\" \"", "5: {% a %}", "\"\\n\""]);
        assert_eq!(describe_parts("{% a\n"), ["\"{% a\\n\""]);
    }
}
