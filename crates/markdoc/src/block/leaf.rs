//! Blocks without blocks in them: headings, rules, fences, paragraphs, front matter, comments.

use super::{Interrupted, Payload, Walk, Within};
use crate::characters::{is_blank, trim};
use crate::comment_ends::CommentEnds;
use crate::node::NodeType;
use crate::span::Span;
use crate::text::Text;

impl<'s> Walk<'s> {
    /// `# Heading`
    pub(super) fn heading(&mut self, line: usize, only_look: bool) -> bool {
        if self.first_byte(line) != Some(b'#') || self.is_code_indented(line) {
            return false;
        }
        let text = self.line_text(line);
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        let after = text.as_bytes().get(level);
        if level > 6 || after.is_some_and(|byte| !is_blank(*byte)) {
            return false;
        }
        if only_look {
            return true;
        }
        let start = self.lines[line].text();
        let body = text.get(level..).unwrap_or("");
        let content = Text::borrowed(without_closing_marks(body), start + level).trimmed();
        self.at = line + 1;
        let lines = Some([line as u32, line as u32 + 1]);
        let span = Span::new(start as u32, self.lines[line].end as u32);
        let open = self.push(NodeType::Heading, 1, span);
        open.lines = lines;
        open.payload = Payload::Heading { level: level as u8 };
        self.push_inline(content, lines);
        self.push(NodeType::Heading, -1, span).payload = Payload::Heading { level: level as u8 };
        true
    }

    /// `---`
    pub(super) fn rule(&mut self, line: usize, only_look: bool) -> bool {
        let Some(marker @ (b'*' | b'-' | b'_')) = self.first_byte(line) else { return false };
        if self.is_code_indented(line) {
            return false;
        }
        let text = self.line_text(line).as_bytes();
        let marks = text.iter().filter(|byte| **byte == marker).count();
        if marks < 3 || !text.iter().all(|byte| *byte == marker || is_blank(*byte)) {
            return false;
        }
        if only_look {
            return true;
        }
        self.at = line + 1;
        let span = Span::new(self.lines[line].text() as u32, self.lines[line].end as u32);
        self.push(NodeType::Hr, 0, span).lines = Some([line as u32, line as u32 + 1]);
        true
    }

    /// Three or more backticks or tildes, and everything up to as many again.
    pub(super) fn fence(&mut self, line: usize, end: usize, only_look: bool) -> bool {
        let Some(marker @ (b'`' | b'~')) = self.first_byte(line) else { return false };
        if self.is_code_indented(line) {
            return false;
        }
        let text = self.line_text(line);
        let length = text.bytes().take_while(|byte| *byte == marker).count();
        let info = text.get(length..).unwrap_or("");
        if length < 3 || (marker == b'`' && info.contains('`')) {
            return false;
        }
        if only_look {
            return true;
        }
        let start = self.lines[line].text();
        let info = Text::borrowed(info, start + length);
        let mut next = line + 1;
        let mut is_closed = false;
        while next < end {
            self.step(1);
            let starts_left = self.lines[next].indent < self.indent;
            if !self.is_blank(next) && starts_left {
                break;
            }
            if self.first_byte(next) == Some(marker) && !self.is_code_indented(next) {
                let text = self.line_text(next);
                let marks = text.bytes().take_while(|byte| *byte == marker).count();
                if marks >= length && text.bytes().skip(marks).all(is_blank) {
                    is_closed = true;
                    break;
                }
            }
            next += 1;
        }
        let content = self.cut(line + 1, next, self.lines[line].indent, true);
        self.at = next + usize::from(is_closed);
        let last = self.lines[self.at - 1].end;
        let lines = [line as u32, self.at as u32];
        let token = self.push(NodeType::Fence, 0, Span::new(start as u32, last as u32));
        token.lines = Some(lines);
        token.payload = Payload::Fence { info, content };
        true
    }

    /// What nothing else claims.
    pub(super) fn paragraph(&mut self, line: usize) -> bool {
        let within = std::mem::replace(&mut self.within, Within::Paragraph);
        let next = self.paragraph_end(line, self.line_max, Interrupted::Paragraph);
        self.within = within;
        let content = self.cut(line, next, self.indent, false).trimmed();
        self.at = next;
        let lines = Some([line as u32, next as u32]);
        let span = text_span(&content);
        self.push(NodeType::Paragraph, 1, span).lines = lines;
        self.push_inline(content, lines);
        self.push(NodeType::Paragraph, -1, span);
        true
    }

    /// `---`, lines, `---`, at the very beginning of a document.
    pub(super) fn front_matter(&mut self, line: usize, end: usize) -> bool {
        if line != 0 || !self.is_front_matter_fence(0) {
            return false;
        }
        self.step(end);
        let Some(close) = (1..end).find(|line| self.is_front_matter_fence(*line)) else { return false };
        let (start, stop) = (self.lines[0].end, self.lines[close].begin);
        let content = trim(self.source.get(start..stop).unwrap_or(""));
        let span = Span::new(self.lines[0].text() as u32, self.lines[close].end as u32);
        self.push(NodeType::Document, 0, span).payload = Payload::FrontMatter(content);
        self.at = close + 1;
        true
    }

    fn is_front_matter_fence(&self, line: usize) -> bool {
        let line = &self.lines[line];
        trim(self.source.get(line.begin..line.end).unwrap_or("")) == "---"
    }

    /// `<!-- … -->`, if the option is on.
    pub(super) fn comment(&mut self, line: usize, only_look: bool) -> bool {
        if !self.options.comments || self.first_byte(line) != Some(b'<') {
            return false;
        }
        let start = self.lines[line].text();
        if !self.source.get(start..).is_some_and(|rest| rest.starts_with("<!--")) {
            return false;
        }
        let ends = self.comment_ends.get_or_init(|| CommentEnds::new(self.source));
        // With text after it, it is a part of a paragraph.
        let Some(close) = ends.of(start).filter(|close| close.ends_line) else { return false };
        if only_look {
            return true;
        }
        let content = self.source.get(start + "<!--".len()..close.at).unwrap_or("");
        let end = close.at + "-->".len();
        let count = self.source.get(start..end).unwrap_or("").matches('\n').count() + 1;
        self.at = line + count;
        let token = self.push(NodeType::Comment, 0, Span::new(start as u32, end as u32));
        token.lines = Some([line as u32, (line + count) as u32]);
        token.payload = Payload::Comment(trim(content));
        true
    }

    pub(super) fn push_inline(&mut self, content: Text<'s>, lines: Option<[u32; 2]>) {
        let span = text_span(&content);
        let token = self.push(NodeType::Inline, 0, span);
        token.lines = lines;
        token.payload = Payload::Inline(content);
    }
}

/// The bytes of the source that a text was cut from.
pub(super) fn text_span(text: &Text<'_>) -> Span {
    Span::new(text.source(0), text.source_end(text.len()))
}

/// A heading's text without the `##` that may follow it.
fn without_closing_marks(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let without = text.trim_end_matches('#');
    if without.ends_with([' ', '\t']) { without } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_marks_need_a_space_before_them() {
        assert_eq!(without_closing_marks(" a ##  "), " a ");
        assert_eq!(without_closing_marks(" a#"), " a#");
        assert_eq!(without_closing_marks(" #"), " ");
        assert_eq!(without_closing_marks("#"), "#");
    }
}
