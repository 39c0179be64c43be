//! Tags that are alone on their lines.

use super::{BlockData, BlockParser, TagToken};
use crate::char_class::{is_js_whitespace, leading_whitespace_len, trim};
use crate::error::WarningId;
use crate::span::Span;
use crate::stage::Mode;
use crate::tag;

impl BlockParser<'_> {
    /// `{% tag %}` with nothing after it on its last line. May span several lines.
    pub(super) fn parse_tag(&mut self, line: usize, mode: Mode) -> bool {
        if !self.options.tags || self.first_byte(line) != Some(b'{') {
            return false;
        }
        let start = self.lines[line].text_start();
        let line_end = self.lines[line].end;
        if !self.source.get(start..).is_some_and(|rest| rest.starts_with("{%")) {
            return false;
        }
        let Some(close) = self.tag_close(start) else { return false };
        let after = close + "%}".len();
        if after < line_end && !self.is_alone_on_line(after, line_end) {
            return false;
        }
        let inner = self.source.get(start + "{%".len()..close).unwrap_or("");
        if inner.trim_start_matches(is_js_whitespace).starts_with('$') {
            return false;
        }
        if mode == Mode::Probe {
            return true;
        }
        self.count_steps(after - start);
        let count = self.source.get(start..after).unwrap_or("").matches('\n').count() + 1;
        let lines = [line as u32, (line + count) as u32];
        let syntax = tag::parse_between(self.source, start, close);
        let (kind, nesting) = tag::node_kind(&syntax);
        let token = self.push(kind, nesting, Span::new(start as u32, after as u32));
        token.lines = Some(lines);
        token.data = BlockData::Tag(Box::new(TagToken { syntax }));
        self.next_line += count;
        self.warn_trailing_text(after, line + count - 1);
        true
    }

    /// Whether a tag that ends at `after` is alone on its line. As in the npm package, as many characters may follow as
    /// the document has white space at its beginning.
    fn is_alone_on_line(&self, after: usize, line_end: usize) -> bool {
        let rest = self.source.get(after..line_end).unwrap_or("");
        let trailing = rest.trim_end_matches(is_js_whitespace);
        trailing.is_empty() || trailing.encode_utf16().count() <= self.leading_whitespace_utf16
    }

    fn warn_trailing_text(&mut self, after: usize, last_line: usize) {
        let end = self.lines.get(last_line).map_or(after, |line| line.end);
        let rest = self.source.get(after..end).unwrap_or("");
        let text = trim(rest);
        if !text.is_empty() {
            let start = after + leading_whitespace_len(rest);
            self.warn(WarningId::TextAfterTag, Span::new(start as u32, (start + text.len()) as u32));
        }
    }
}
