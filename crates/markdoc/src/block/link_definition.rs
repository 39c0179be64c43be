//! Link definitions: `[label]: destination "title"`.
//!
//! A definition may span several lines, and its length is known only after parsing. The parser tries windows of growing
//! size, so that many definitions in a row do not each read the whole paragraph.

use std::ops::Range;

use super::{BlockParser, InterruptibleBlock, LinkDefinition, ParentBlock};
use crate::char_class::{is_js_whitespace, is_space_or_tab, trim};
use crate::link;

/// The result of parsing a window of a paragraph.
enum ParseOutcome {
    NotADefinition,
    /// The window ended before the result was known.
    NeedMoreLines,
    Parsed {
        label: String,
        definition: LinkDefinition,
        line_count: usize,
    },
}

impl BlockParser<'_> {
    /// Parses a definition. It makes no token.
    pub(super) fn parse_definition(&mut self, line: usize) -> bool {
        if self.first_byte(line) != Some(b'[')
            || self.is_code_indented(line)
            || self.cannot_be_definition(line)
        {
            return false;
        }
        let saved_parent = std::mem::replace(&mut self.parent, ParentBlock::Other);
        let mut line_window = 1;
        let outcome = loop {
            // One line more than the window, to know whether the paragraph ends there.
            let limit = self.line_max.min(line + line_window + 1);
            let next = self.paragraph_end(line, limit, InterruptibleBlock::Definition);
            let is_whole = next < limit || limit == self.line_max;
            let end = if is_whole { next } else { line + line_window };
            let text = self.lines_text(line, end, self.indent, !is_whole).text;
            let text = if is_whole { trim(&text) } else { text.trim_start_matches(is_js_whitespace) };
            let outcome = parse_definition_text(text, is_whole, &mut self.output.steps);
            match outcome {
                ParseOutcome::NeedMoreLines => line_window *= 2,
                _ => break outcome,
            }
        };
        self.parent = saved_parent;
        let ParseOutcome::Parsed { label, definition, line_count } = outcome else { return false };
        self.output.definitions.entry(label).or_insert(definition);
        self.next_line = line + line_count;
        true
    }

    /// A cheap check of the first line: the bracket closes and no colon follows.
    fn cannot_be_definition(&self, line: usize) -> bool {
        let text = self.line_text(line).as_bytes();
        let close = (1..text.len()).find(|pos| text[*pos] == b']' && text[*pos - 1] != b'\\');
        close.is_some_and(|close| text.get(close + 1) != Some(&b':'))
    }
}

fn parse_definition_text(text: &str, is_whole: bool, steps: &mut u64) -> ParseOutcome {
    let bytes = text.as_bytes();
    let incomplete = if is_whole { ParseOutcome::NotADefinition } else { ParseOutcome::NeedMoreLines };
    let label_end = match find_label_end(bytes) {
        LabelEnd::At(label_end) => label_end,
        LabelEnd::BeyondText => return incomplete,
        LabelEnd::Invalid => return ParseOutcome::NotADefinition,
    };
    if bytes.get(label_end + 1) != Some(&b':') {
        return ParseOutcome::NotADefinition;
    }
    let start = skip_whitespace(bytes, label_end + 2);
    if start >= bytes.len() && !is_whole {
        return incomplete;
    }
    let Some(destination) = link::parse_destination(text, start, bytes.len(), steps) else {
        return ParseOutcome::NotADefinition;
    };
    if destination.end >= bytes.len() && !is_whole {
        return incomplete;
    }
    let Some(href) = link::sanitize_href(&destination.text) else { return ParseOutcome::NotADefinition };
    let title_start = skip_whitespace(bytes, destination.end);
    if title_start >= bytes.len() && !is_whole {
        return incomplete;
    }
    let mut end = destination.end;
    let mut title = String::new();
    if title_start > destination.end && title_start < bytes.len() {
        match link::parse_title(text, title_start, bytes.len(), steps) {
            Some(parsed) => {
                title = parsed.text;
                end = parsed.end;
            }
            None if !is_whole && matches!(bytes[title_start], b'"' | b'\'' | b'(') => return incomplete,
            None => {}
        }
    }
    let is_line_end = |from: usize| {
        bytes.iter().skip(from).find(|byte| !is_space_or_tab(**byte)).is_none_or(|byte| *byte == b'\n')
    };
    if !is_line_end(end) {
        // The rest of the line may only look like a title. An empty title counts as none.
        if title.is_empty() || !is_line_end(destination.end) {
            return ParseOutcome::NotADefinition;
        }
        title.clear();
        end = destination.end;
    }
    let label = link::label_key(text.get(1..label_end).unwrap_or(""));
    if label.is_empty() {
        return ParseOutcome::NotADefinition;
    }
    // As in the npm package, an escaped line ending in the destination is not counted, so the next line is parsed
    // again.
    let line_endings = |range: Range<usize>| text.get(range).unwrap_or("").matches('\n').count();
    let line_count = line_endings(0..start) + line_endings(destination.end..end) + 1;
    ParseOutcome::Parsed { label, definition: LinkDefinition { href, title }, line_count }
}

/// Where the label of a definition ends.
enum LabelEnd {
    /// The position of its closing bracket.
    At(usize),
    /// The text ends within the label.
    BeyondText,
    /// A label must not contain an unescaped opening bracket.
    Invalid,
}

fn find_label_end(bytes: &[u8]) -> LabelEnd {
    let mut pos = 1;
    while pos < bytes.len() {
        match bytes[pos] {
            b'[' => return LabelEnd::Invalid,
            b']' => return LabelEnd::At(pos),
            b'\\' => pos += 1,
            _ => {}
        }
        pos += 1;
    }
    LabelEnd::BeyondText
}

fn skip_whitespace(bytes: &[u8], from: usize) -> usize {
    from + bytes.iter().skip(from).take_while(|byte| is_space_or_tab(**byte) || **byte == b'\n').count()
}
