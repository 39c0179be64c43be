//! Blocks without child blocks: headings, thematic breaks, fences, paragraphs, front matter, comments.

use super::{BlockData, BlockParser, InterruptibleBlock, ParentBlock};
use crate::char_class::{is_space_or_tab, trim};
use crate::comment_close_index::CommentCloseIndex;
use crate::mapped_text::MappedText;
use crate::node::NodeType;
use crate::span::Span;
use crate::stage::{Mode, Nesting};

impl<'s> BlockParser<'s> {
    /// `# Heading`
    pub(super) fn parse_heading(&mut self, line: usize, mode: Mode) -> bool {
        if self.first_byte(line) != Some(b'#') || self.is_code_indented(line) {
            return false;
        }
        let text = self.line_text(line);
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        let after = text.as_bytes().get(level);
        if level > 6 || after.is_some_and(|byte| !is_space_or_tab(*byte)) {
            return false;
        }
        if mode == Mode::Probe {
            return true;
        }
        let start = self.lines[line].text_start();
        let body = text.get(level..).unwrap_or("");
        let content = MappedText::borrowed(strip_closing_hashes(body), start + level).trimmed();
        self.next_line = line + 1;
        let lines = Some([line as u32, line as u32 + 1]);
        let span = Span::new(start as u32, self.lines[line].end as u32);
        let open = self.push(NodeType::Heading, Nesting::Open, span);
        open.lines = lines;
        open.data = BlockData::Heading { level: level as u8 };
        self.push_inline(content, lines);
        self.push(NodeType::Heading, Nesting::Close, span).data = BlockData::Heading { level: level as u8 };
        true
    }

    /// `---`
    pub(super) fn parse_thematic_break(&mut self, line: usize, mode: Mode) -> bool {
        let Some(marker @ (b'*' | b'-' | b'_')) = self.first_byte(line) else { return false };
        if self.is_code_indented(line) {
            return false;
        }
        let text = self.line_text(line).as_bytes();
        let marks = text.iter().filter(|byte| **byte == marker).count();
        if marks < 3 || !text.iter().all(|byte| *byte == marker || is_space_or_tab(*byte)) {
            return false;
        }
        if mode == Mode::Probe {
            return true;
        }
        self.next_line = line + 1;
        let span = Span::new(self.lines[line].text_start() as u32, self.lines[line].end as u32);
        self.push(NodeType::Hr, Nesting::Leaf, span).lines = Some([line as u32, line as u32 + 1]);
        true
    }

    /// Three or more backticks or tildes, up to a line with at least as many.
    pub(super) fn parse_fence(&mut self, line: usize, end: usize, mode: Mode) -> bool {
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
        if mode == Mode::Probe {
            return true;
        }
        let start = self.lines[line].text_start();
        let info = MappedText::borrowed(info, start + length);
        let mut next = line + 1;
        let mut is_closed = false;
        while next < end {
            self.count_steps(1);
            let is_outdented = self.lines[next].indent < self.indent;
            if !self.is_blank_line(next) && is_outdented {
                break;
            }
            if self.first_byte(next) == Some(marker) && !self.is_code_indented(next) {
                let text = self.line_text(next);
                let marks = text.bytes().take_while(|byte| *byte == marker).count();
                if marks >= length && text.bytes().skip(marks).all(is_space_or_tab) {
                    is_closed = true;
                    break;
                }
            }
            next += 1;
        }
        let content = self.lines_text(line + 1, next, self.lines[line].indent, true);
        self.next_line = next + usize::from(is_closed);
        let last = self.lines[self.next_line - 1].end;
        let lines = [line as u32, self.next_line as u32];
        let token = self.push(NodeType::Fence, Nesting::Leaf, Span::new(start as u32, last as u32));
        token.lines = Some(lines);
        token.data = BlockData::Fence { info, content };
        true
    }

    /// A paragraph: matches if no other rule does.
    pub(super) fn parse_paragraph(&mut self, line: usize) -> bool {
        let saved_parent = std::mem::replace(&mut self.parent, ParentBlock::Paragraph);
        let next = self.paragraph_end(line, self.line_max, InterruptibleBlock::Paragraph);
        self.parent = saved_parent;
        let content = self.lines_text(line, next, self.indent, false).trimmed();
        self.next_line = next;
        let lines = Some([line as u32, next as u32]);
        let start = self.lines[line].text_start() as u32;
        let span = Span::new(start, text_span(&content).end);
        self.push(NodeType::Paragraph, Nesting::Open, span).lines = lines;
        self.push_inline(content, lines);
        self.push(NodeType::Paragraph, Nesting::Close, span);
        true
    }

    /// `---`, lines, `---`, at the very beginning of a document.
    pub(super) fn parse_front_matter(&mut self, line: usize, end: usize) -> bool {
        if line != 0 || !self.is_front_matter_fence(0) {
            return false;
        }
        self.count_steps(end);
        let Some(close) = (1..end).find(|line| self.is_front_matter_fence(*line)) else { return false };
        let (start, stop) = (self.lines[0].end, self.lines[close].start);
        let content = trim(self.source.get(start..stop).unwrap_or(""));
        let span = Span::new(self.lines[0].text_start() as u32, self.lines[close].end as u32);
        self.push(NodeType::Document, Nesting::Leaf, span).data = BlockData::FrontMatter(content);
        self.next_line = close + 1;
        true
    }

    fn is_front_matter_fence(&self, line: usize) -> bool {
        let line = &self.lines[line];
        trim(self.source.get(line.start..line.end).unwrap_or("")) == "---"
    }

    /// `<!-- … -->`, if the option is set.
    pub(super) fn parse_comment(&mut self, line: usize, mode: Mode) -> bool {
        if !self.options.comments || self.first_byte(line) != Some(b'<') {
            return false;
        }
        let start = self.lines[line].text_start();
        if !self.source.get(start..).is_some_and(|rest| rest.starts_with("<!--")) {
            return false;
        }
        let closes = self.comment_close_index.get_or_init(|| CommentCloseIndex::new(self.source));
        // With text after it, the comment is part of a paragraph.
        let Some(close) = closes.close_of(start).filter(|close| close.ends_line) else { return false };
        if mode == Mode::Probe {
            return true;
        }
        let content = self.source.get(start + "<!--".len()..close.offset).unwrap_or("");
        let end = close.offset + "-->".len();
        let count = self.source.get(start..end).unwrap_or("").matches('\n').count() + 1;
        self.next_line = line + count;
        let token = self.push(NodeType::Comment, Nesting::Leaf, Span::new(start as u32, end as u32));
        token.lines = Some([line as u32, (line + count) as u32]);
        token.data = BlockData::Comment(trim(content));
        true
    }

    pub(super) fn push_inline(&mut self, content: MappedText<'s>, lines: Option<[u32; 2]>) {
        let span = text_span(&content);
        let token = self.push(NodeType::Inline, Nesting::Leaf, span);
        token.lines = lines;
        token.data = BlockData::Inline(content);
    }
}

/// The source bytes of a text.
pub(super) fn text_span(text: &MappedText<'_>) -> Span {
    Span::new(text.source_offset(0), text.source_end_offset(text.len()))
}

/// A heading's text without the closing `##`.
fn strip_closing_hashes(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let without = text.trim_end_matches('#');
    if without.ends_with([' ', '\t']) { without } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_hashes_need_preceding_space() {
        assert_eq!(strip_closing_hashes(" a ##  "), " a ");
        assert_eq!(strip_closing_hashes(" a#"), " a#");
        assert_eq!(strip_closing_hashes(" #"), " ");
        assert_eq!(strip_closing_hashes("#"), "#");
    }
}
