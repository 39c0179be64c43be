//! Tags that are alone on their lines.

use super::{Payload, TagToken, Walk};
use crate::characters::{is_space, leading_space, trim};
use crate::error::WarningId;
use crate::span::Span;
use crate::tag;

impl Walk<'_> {
    /// `{% tag %}` with nothing after it on the line where it ends, or over several lines.
    pub(super) fn tag(&mut self, line: usize, only_look: bool) -> bool {
        if self.first_byte(line) != Some(b'{') {
            return false;
        }
        let start = self.lines[line].text();
        let line_end = self.lines[line].end;
        if !self.source.get(start..).is_some_and(|rest| rest.starts_with("{%")) {
            return false;
        }
        let Some(close) = self.tag_end(start) else { return false };
        let after = close + "%}".len();
        if after < line_end && !self.is_alone(after, line_end) {
            return false;
        }
        let inner = self.source.get(start + "{%".len()..close).unwrap_or("");
        if inner.trim_start_matches(is_space).starts_with('$') {
            return false;
        }
        if only_look {
            return true;
        }
        self.step(after - start);
        let count = self.source.get(start..after).unwrap_or("").matches('\n').count() + 1;
        let lines = [line as u32, (line + count) as u32];
        let syntax = tag::between(self.source, start, close);
        let (kind, nesting) = tag::shape(&syntax);
        let token = self.push(kind, nesting, Span::new(start as u32, after as u32));
        token.lines = Some(lines);
        token.payload = Payload::Tag(Box::new(TagToken { syntax }));
        self.at += count;
        self.warn_of_text_after(after, line + count - 1);
        true
    }

    /// Whether a tag that ends at `after` is alone on its line. As in the original, as many characters may follow as
    /// the document has white space at its beginning.
    fn is_alone(&self, after: usize, line_end: usize) -> bool {
        let rest = self.source.get(after..line_end).unwrap_or("");
        let follows = rest.trim_end_matches(is_space);
        follows.is_empty() || follows.encode_utf16().count() <= self.leading_space
    }

    fn warn_of_text_after(&mut self, after: usize, last_line: usize) {
        let end = self.lines.get(last_line).map_or(after, |line| line.end);
        let rest = self.source.get(after..end).unwrap_or("");
        let text = trim(rest);
        if !text.is_empty() {
            let start = after + leading_space(rest);
            self.warn(WarningId::TextAfterTag, Span::new(start as u32, (start + text.len()) as u32));
        }
    }
}
