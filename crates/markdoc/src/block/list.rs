//! Lists: bullets and numbers, tight and loose, and task checkboxes.

use super::{BlockData, BlockParser, InterruptibleBlock, ParentBlock};
use crate::char_class::is_space_or_tab;
use crate::node::{NodeType, Task};
use crate::span::Span;
use crate::stage::{Mode, Nesting};

/// The marker of a list item.
#[derive(Clone, Copy)]
struct Marker {
    /// The byte after it.
    end: usize,
    /// `-`, `*`, `+`, `.` or `)`: a different delimiter starts a new list.
    delimiter: u8,
    /// The number, if the list is ordered.
    ordinal: Option<u32>,
}

/// Whether blank lines separate the blocks of an item.
struct ItemTightness {
    is_tight: bool,
    ends_with_blank_line: bool,
}

impl BlockParser<'_> {
    /// `- item` or `1. item`
    pub(super) fn parse_list(&mut self, first: usize, end: usize, mode: Mode) -> bool {
        let Some(b'-' | b'*' | b'+' | b'0'..=b'9') = self.first_byte(first) else { return false };
        let indent = self.lines[first].indent;
        if self.is_code_indented(first) {
            return false;
        }
        // Four columns right of the surrounding list, but left of the content of its item: continues the item's
        // paragraph.
        if self.list_indent >= 0 && indent - self.list_indent >= 4 && indent < self.indent {
            return false;
        }
        let Some(mut marker) = self.parse_list_marker(first) else { return false };
        if mode == Mode::Probe && self.parent == ParentBlock::Paragraph && indent >= self.indent {
            // Only a list that begins with 1 and a non-empty item can interrupt a paragraph.
            let is_empty = self.skip_spaces_and_tabs(marker.end) >= self.lines[first].end;
            if is_empty || marker.ordinal.is_some_and(|number| number != 1) {
                return false;
            }
        }
        if mode == Mode::Probe {
            return true;
        }

        let list = self.output.tokens.len();
        let start = self.lines[first].text_start() as u32;
        let (delimiter, ordinal) = (marker.delimiter, marker.ordinal);
        let list_data =
            |start: u32| BlockData::List { ordered: ordinal.is_some(), start, marker: delimiter.into() };
        self.push(NodeType::List, Nesting::Open, Span::new(start, marker.end as u32)).data =
            list_data(ordinal.unwrap_or(1));
        let saved_parent = std::mem::replace(&mut self.parent, ParentBlock::Other);
        let mut is_tight = true;
        let mut last_ends_with_blank_line = false;
        let mut line = first;
        while line < end {
            let tightness = self.parse_item(line, end, marker);
            is_tight &= tightness.is_tight && !last_ends_with_blank_line;
            last_ends_with_blank_line = tightness.ends_with_blank_line;
            line = self.next_line;
            if line >= end || self.lines[line].indent < self.indent || self.is_code_indented(line) {
                break;
            }
            if self.interrupts(InterruptibleBlock::List, line, end) {
                break;
            }
            match self.parse_list_marker(line) {
                Some(next) if next.delimiter == delimiter && next.ordinal.is_some() == ordinal.is_some() => {
                    marker = next
                }
                _ => break,
            }
        }
        self.push(NodeType::List, Nesting::Close, Span::empty(start)).data = list_data(1);
        self.output.tokens[list].lines = Some([first as u32, line as u32]);
        self.next_line = line;
        self.parent = saved_parent;
        if is_tight {
            self.unwrap_tight_paragraphs(list);
        }
        true
    }

    fn parse_item(&mut self, line_index: usize, end: usize, marker: Marker) -> ItemTightness {
        let line = self.lines[line_index];
        let marker_column = line.indent + (marker.end - line.text_start()) as i32;
        let mut column = marker_column;
        let mut content = marker.end;
        while content < line.end {
            match self.bytes()[content] {
                b'\t' => column += 4 - (column + line.column) % 4,
                b' ' => column += 1,
                _ => break,
            }
            content += 1;
        }
        let is_empty = content >= line.end;
        // With five or more spaces, one belongs to the marker and the others to the content.
        let gap = if is_empty || column - marker_column > 4 { 1 } else { column - marker_column };

        let token = self.output.tokens.len();
        let task = self.parse_checkbox(content, line.end);
        self.push(NodeType::Item, Nesting::Open, Span::new(line.text_start() as u32, marker.end as u32))
            .data = BlockData::Item { task };
        let saved_tight = std::mem::replace(&mut self.tight, true);
        let saved_list_indent = std::mem::replace(&mut self.list_indent, self.indent);
        self.indent = marker_column + gap;
        self.lines[line_index].prefix_len = content - line.start;
        self.lines[line_index].indent = column;
        if is_empty && self.is_blank_line(line_index + 1) {
            // An item may begin with one blank line, not with two.
            self.next_line = (self.next_line + 2).min(end);
        } else {
            self.parse_blocks(line_index, end);
        }
        let ends_with_blank_line = self.next_line - line_index > 1 && self.is_blank_line(self.next_line - 1);
        let tightness = ItemTightness { is_tight: self.tight, ends_with_blank_line };
        self.indent = self.list_indent;
        self.list_indent = saved_list_indent;
        self.lines[line_index] = line;
        self.tight = saved_tight;
        self.push(NodeType::Item, Nesting::Close, Span::empty(line.text_start() as u32));
        self.output.tokens[token].lines = Some([line_index as u32, self.next_line as u32]);
        tightness
    }

    fn parse_list_marker(&self, line: usize) -> Option<Marker> {
        let line = &self.lines[line];
        let text = self.bytes().get(line.text_start()..line.end)?;
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, ordinal) = match (digits, text.get(digits)?) {
            (0, b'-' | b'*' | b'+') => (1, None),
            (1..=9, b'.' | b')') => {
                let value =
                    text[..digits].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
                (digits + 1, Some(value))
            }
            _ => return None,
        };
        if text.get(length).is_some_and(|byte| !is_space_or_tab(*byte)) {
            return None;
        }
        Some(Marker { end: line.text_start() + length, delimiter: text[length - 1], ordinal })
    }

    /// The checkbox at the beginning of an item's content.
    fn parse_checkbox(&self, content: usize, end: usize) -> Option<Task> {
        let text = self.bytes().get(content..end)?;
        let [b'[', mark @ (b' ' | b'x' | b'X'), b']', rest @ ..] = text else { return None };
        let stands_alone = rest.first().is_none_or(|byte| is_space_or_tab(*byte));
        stands_alone
            .then(|| Task { checked: *mark != b' ', span: Span::new(content as u32, content as u32 + 3) })
    }

    /// Removes the paragraph nodes directly in the items of a tight list.
    fn unwrap_tight_paragraphs(&mut self, list: usize) {
        let level = self.level + 2;
        let last = self.output.tokens.len().saturating_sub(2);
        let mut index = list + 2;
        self.count_steps(last.saturating_sub(list));
        while index < last {
            let token = &mut self.output.tokens[index];
            index += 1;
            if token.level == level && token.kind == NodeType::Paragraph && token.nesting == Nesting::Open {
                token.hidden = true;
                // The token between the two holds the paragraph's text.
                self.output.tokens[index + 1].hidden = true;
                index += 2;
            }
        }
    }
}
