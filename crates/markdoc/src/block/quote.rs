//! Block quotes: lines that begin with `>`, and continuation lines of their paragraphs without one.

use super::{BlockParser, InterruptibleBlock, Line, ParentBlock};
use crate::node::NodeType;
use crate::span::Span;
use crate::stage::{Mode, Nesting};

impl BlockParser<'_> {
    /// `> quote`
    pub(super) fn parse_quote(&mut self, line: usize, end: usize, mode: Mode) -> bool {
        if self.first_byte(line) != Some(b'>') || self.is_code_indented(line) {
            return false;
        }
        if mode == Mode::Probe {
            return true;
        }
        let start = self.lines[line].text_start();
        let line_max = self.line_max;
        let saved_parent = std::mem::replace(&mut self.parent, ParentBlock::Other);
        // The lines before their markers were removed.
        let mut saved_lines: Vec<Line> = vec![self.lines[line]];
        let mut is_empty_quote_line = self.strip_quote_marker(line);
        let mut next = line + 1;
        while next < end {
            self.count_steps(1);
            let current = self.lines[next];
            if current.text_start() >= current.end {
                break;
            }
            if self.first_byte(next) == Some(b'>') && current.indent >= self.indent {
                saved_lines.push(current);
                is_empty_quote_line = self.strip_quote_marker(next);
                next += 1;
                continue;
            }
            if is_empty_quote_line {
                break;
            }
            if self.interrupts(InterruptibleBlock::Quote, next, end) {
                // Keeps a paragraph from reading beyond the quote.
                self.line_max = next;
                if self.indent != 0 {
                    saved_lines.push(current);
                    self.lines[next].indent -= self.indent;
                }
                break;
            }
            // The line can only continue a paragraph.
            saved_lines.push(current);
            self.lines[next].indent = -1;
            next += 1;
        }

        let saved_indent = std::mem::replace(&mut self.indent, 0);
        let open = self.output.tokens.len();
        self.push(NodeType::Blockquote, Nesting::Open, Span::new(start as u32, start as u32 + 1));
        self.parse_blocks(line, next);
        self.push(NodeType::Blockquote, Nesting::Close, Span::empty(start as u32));
        self.line_max = line_max;
        self.parent = saved_parent;
        self.output.tokens[open].lines = Some([line as u32, self.next_line as u32]);
        for (index, saved_line) in (line..).zip(saved_lines) {
            self.lines[index] = saved_line;
        }
        self.indent = saved_indent;
        true
    }

    /// Removes `>` and one space from a line. Returns whether the line is then empty.
    fn strip_quote_marker(&mut self, index: usize) -> bool {
        let line = self.lines[index];
        let mut pos = line.text_start() + 1;
        let mut column = line.indent + 1;
        let mut content_column = column;
        let mut splits_tab = false;
        let mut has_space = true;
        match self.bytes().get(pos) {
            Some(b' ') => {
                pos += 1;
                column += 1;
                content_column += 1;
            }
            Some(b'\t') => {
                // A tab of one column counts as the space. A wider one counts as the space and further spaces.
                if (line.column + column) % 4 == 3 {
                    pos += 1;
                    column += 1;
                    content_column += 1;
                } else {
                    splits_tab = true;
                }
            }
            _ => has_space = false,
        }
        let start = pos;
        while pos < line.end {
            match self.bytes()[pos] {
                b'\t' => column += 4 - (column + line.column + i32::from(splits_tab)) % 4,
                b' ' => column += 1,
                _ => break,
            }
            pos += 1;
        }
        self.lines[index] = Line {
            start,
            end: line.end,
            prefix_len: pos - start,
            indent: column - content_column,
            column: line.indent + 1 + i32::from(has_space),
        };
        pos >= line.end
    }
}
