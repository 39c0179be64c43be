//! Link definitions: `[label]: destination "title"`.
//!
//! A definition may reach over several lines, and how many is known only when it is read. The lines are looked at in growing
//! portions, so that many definitions in a row do not each read the whole paragraph.

use std::ops::Range;

use super::{Definition, Interrupted, Walk, Within};
use crate::characters::{is_blank, is_space, trim};
use crate::link;

/// What a portion of a paragraph turned out to be.
enum Outcome {
    No,
    /// The portion ended before the question was decided.
    MoreNeeded,
    Yes { label: String, definition: Definition, line_count: usize },
}

impl Walk<'_> {
    /// Reads a definition, which makes no token.
    pub(super) fn definition(&mut self, line: usize) -> bool {
        if self.first_byte(line) != Some(b'[') || self.is_code_indented(line) || self.is_plainly_no_definition(line) {
            return false;
        }
        let within = std::mem::replace(&mut self.within, Within::Other);
        let mut portion = 1;
        let outcome = loop {
            // One line more than is read, to know whether the portion is all there is.
            let limit = self.line_max.min(line + portion + 1);
            let next = self.paragraph_end(line, limit, Interrupted::Definition);
            let is_whole = next < limit || limit == self.line_max;
            let end = if is_whole { next } else { line + portion };
            let text = self.cut(line, end, self.indent, !is_whole).text;
            let text = if is_whole { trim(&text) } else { text.trim_start_matches(is_space) };
            let outcome = read(text, is_whole, &mut self.out.steps);
            match outcome {
                Outcome::MoreNeeded => portion *= 2,
                _ => break outcome,
            }
        };
        self.within = within;
        let Outcome::Yes { label, definition, line_count } = outcome else { return false };
        self.out.definitions.entry(label).or_insert(definition);
        self.at = line + line_count;
        true
    }

    /// A quick look at the first line: the bracket closes there, and what follows is no colon.
    fn is_plainly_no_definition(&self, line: usize) -> bool {
        let text = self.line_text(line).as_bytes();
        let close = (1..text.len()).find(|at| text[*at] == b']' && text[*at - 1] != b'\\');
        close.is_some_and(|close| text.get(close + 1) != Some(&b':'))
    }
}

fn read(text: &str, is_whole: bool, steps: &mut u64) -> Outcome {
    let bytes = text.as_bytes();
    let undecided = if is_whole { Outcome::No } else { Outcome::MoreNeeded };
    let Some(label_end) = label_end(bytes) else { return Outcome::No };
    let Some(label_end) = label_end else { return undecided };
    if bytes.get(label_end + 1) != Some(&b':') {
        return Outcome::No;
    }
    let start = skip_space(bytes, label_end + 2);
    if start >= bytes.len() && !is_whole {
        return undecided;
    }
    let Some(destination) = link::destination(text, start, bytes.len(), steps) else { return Outcome::No };
    if destination.end >= bytes.len() && !is_whole {
        return undecided;
    }
    let Some(href) = link::allowed(&destination.text) else { return Outcome::No };
    let title_start = skip_space(bytes, destination.end);
    if title_start >= bytes.len() && !is_whole {
        return undecided;
    }
    let mut end = destination.end;
    let mut title = String::new();
    if title_start > destination.end && title_start < bytes.len() {
        match link::title(text, title_start, bytes.len(), steps) {
            Some(found) => {
                title = found.text;
                end = found.end;
            }
            None if !is_whole && matches!(bytes[title_start], b'"' | b'\'' | b'(') => return undecided,
            None => {}
        }
    }
    let is_line_end = |from: usize| bytes.iter().skip(from).find(|byte| !is_blank(**byte)).is_none_or(|byte| *byte == b'\n');
    if !is_line_end(end) {
        // What follows may only look like a title. A title without text is none either way.
        if title.is_empty() || !is_line_end(destination.end) {
            return Outcome::No;
        }
        title.clear();
        end = destination.end;
    }
    let label = link::normalised_label(text.get(1..label_end).unwrap_or(""));
    if label.is_empty() {
        return Outcome::No;
    }
    // A line ending in the destination, behind a backslash, is not counted, as in the original: the line after it is read again.
    let line_endings = |range: Range<usize>| text.get(range).unwrap_or("").matches('\n').count();
    let line_count = line_endings(0..start) + line_endings(destination.end..end) + 1;
    Outcome::Yes { label, definition: Definition { href, title }, line_count }
}

/// The place of the bracket that closes a label: none within this text, or none at all.
fn label_end(bytes: &[u8]) -> Option<Option<usize>> {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'[' => return None,
            b']' => return Some(Some(at)),
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    Some(None)
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    from + bytes.iter().skip(from).take_while(|byte| is_blank(**byte) || **byte == b'\n').count()
}
