//! Block quotes: lines that begin with `>`, and the lines of a paragraph that go on without one.

use super::{Interrupted, Line, Walk, Within};
use crate::node::NodeType;
use crate::span::Span;

impl Walk<'_> {
    /// `> quote`
    pub(super) fn quote(&mut self, line: usize, end: usize, only_look: bool) -> bool {
        if self.first_byte(line) != Some(b'>') || self.is_code_indented(line) {
            return false;
        }
        if only_look {
            return true;
        }
        let start = self.lines[line].text();
        let line_max = self.line_max;
        let within = std::mem::replace(&mut self.within, Within::Other);
        // What the lines were like before their markers were taken off.
        let mut before: Vec<Line> = vec![self.lines[line]];
        let mut ends_blank = self.take_marker_off(line);
        let mut next = line + 1;
        while next < end {
            self.step(1);
            let here = self.lines[next];
            if here.text() >= here.end {
                break;
            }
            if self.first_byte(next) == Some(b'>') && here.indent >= self.indent {
                before.push(here);
                ends_blank = self.take_marker_off(next);
                next += 1;
                continue;
            }
            if ends_blank {
                break;
            }
            if self.interrupts(Interrupted::Quote, next, end) {
                // Paragraphs look beyond the end of their container; here they must not.
                self.line_max = next;
                if self.indent != 0 {
                    before.push(here);
                    self.lines[next].indent -= self.indent;
                }
                break;
            }
            // The line can only go on with a paragraph.
            before.push(here);
            self.lines[next].indent = -1;
            next += 1;
        }

        let indent = std::mem::replace(&mut self.indent, 0);
        let open = self.out.tokens.len();
        self.push(NodeType::Blockquote, 1, Span::new(start as u32, start as u32 + 1));
        self.blocks(line, next);
        self.push(NodeType::Blockquote, -1, Span::empty_at(start as u32));
        self.line_max = line_max;
        self.within = within;
        self.out.tokens[open].lines = Some([line as u32, self.at as u32]);
        for (number, old) in (line..).zip(before) {
            self.lines[number] = old;
        }
        self.indent = indent;
        true
    }

    /// Takes `>` and one space off a line; says whether nothing is left of it.
    fn take_marker_off(&mut self, number: usize) -> bool {
        let line = self.lines[number];
        let mut at = line.text() + 1;
        let mut column = line.indent + 1;
        let mut content_column = column;
        let mut splits_tab = false;
        let mut has_space = true;
        match self.bytes().get(at) {
            Some(b' ') => {
                at += 1;
                column += 1;
                content_column += 1;
            }
            Some(b'\t') => {
                // A tab of one column is the space; a wider one is that space and some more.
                if (line.column + column) % 4 == 3 {
                    at += 1;
                    column += 1;
                    content_column += 1;
                } else {
                    splits_tab = true;
                }
            }
            _ => has_space = false,
        }
        let begin = at;
        while at < line.end {
            match self.bytes()[at] {
                b'\t' => column += 4 - (column + line.column + i32::from(splits_tab)) % 4,
                b' ' => column += 1,
                _ => break,
            }
            at += 1;
        }
        self.lines[number] = Line {
            begin,
            end: line.end,
            shift: at - begin,
            indent: column - content_column,
            column: line.indent + 1 + i32::from(has_space),
        };
        at >= line.end
    }
}
