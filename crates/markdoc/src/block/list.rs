//! Lists: bullets and numbers, tight and loose, and the checkboxes of tasks.

use super::{Interrupted, Payload, Walk, Within};
use crate::characters::is_blank;
use crate::node::{NodeType, Task};
use crate::span::Span;

/// The marker of a list item.
#[derive(Clone, Copy)]
struct Marker {
    /// The byte after it.
    end: usize,
    /// `-`, `*`, `+`, `.` or `)`: items with different ones belong to different lists.
    letter: u8,
    /// The number, if it is an ordered list.
    number: Option<u32>,
}

/// How the blocks of an item follow on each other.
struct ItemShape {
    is_tight: bool,
    ends_blank: bool,
}

impl Walk<'_> {
    /// `- item` or `1. item`
    pub(super) fn list(&mut self, first: usize, end: usize, only_look: bool) -> bool {
        let Some(b'-' | b'*' | b'+' | b'0'..=b'9') = self.first_byte(first) else { return false };
        let indent = self.lines[first].indent;
        if self.is_code_indented(first) {
            return false;
        }
        // Four columns right of the list around it, but left of its item's content, it goes on with that item's paragraph.
        if self.list_indent >= 0 && indent - self.list_indent >= 4 && indent < self.indent {
            return false;
        }
        let Some(mut marker) = self.list_marker(first) else { return false };
        if only_look && self.within == Within::Paragraph && indent >= self.indent {
            // A paragraph is interrupted only by a list that begins with 1 and has something in its first item.
            let is_empty = self.skip_blanks(marker.end) >= self.lines[first].end;
            if is_empty || marker.number.is_some_and(|number| number != 1) {
                return false;
            }
        }
        if only_look {
            return true;
        }

        let list = self.out.tokens.len();
        let start = self.lines[first].text() as u32;
        let (letter, number) = (marker.letter, marker.number);
        let payload = |start: u32| Payload::List { ordered: number.is_some(), start, marker: letter.into() };
        self.push(NodeType::List, 1, Span::new(start, marker.end as u32)).payload = payload(number.unwrap_or(1));
        let within = std::mem::replace(&mut self.within, Within::Other);
        let mut is_tight = true;
        let mut last_ends_blank = false;
        let mut line = first;
        while line < end {
            let shape = self.item(line, end, marker);
            is_tight &= shape.is_tight && !last_ends_blank;
            last_ends_blank = shape.ends_blank;
            line = self.at;
            if line >= end || self.lines[line].indent < self.indent || self.is_code_indented(line) {
                break;
            }
            if self.interrupts(Interrupted::List, line, end) {
                break;
            }
            match self.list_marker(line) {
                Some(next) if next.letter == letter && next.number.is_some() == number.is_some() => marker = next,
                _ => break,
            }
        }
        self.push(NodeType::List, -1, Span::empty_at(start)).payload = payload(1);
        self.out.tokens[list].lines = Some([first as u32, line as u32]);
        self.at = line;
        self.within = within;
        if is_tight {
            self.hide_paragraphs(list);
        }
        true
    }

    fn item(&mut self, number: usize, end: usize, marker: Marker) -> ItemShape {
        let line = self.lines[number];
        let marker_column = line.indent + (marker.end - line.text()) as i32;
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
        // Of five spaces or more, one belongs to the marker and the others to the content.
        let gap = if is_empty || column - marker_column > 4 { 1 } else { column - marker_column };

        let token = self.out.tokens.len();
        let task = self.task(content, line.end);
        self.push(NodeType::Item, 1, Span::new(line.text() as u32, marker.end as u32)).payload = Payload::Item { task };
        let tight = std::mem::replace(&mut self.tight, true);
        let list_indent = std::mem::replace(&mut self.list_indent, self.indent);
        self.indent = marker_column + gap;
        self.lines[number].shift = content - line.begin;
        self.lines[number].indent = column;
        if is_empty && self.is_blank(number + 1) {
            // An item may begin with one blank line, not with two.
            self.at = (self.at + 2).min(end);
        } else {
            self.blocks(number, end);
        }
        let ends_blank = self.at - number > 1 && self.is_blank(self.at - 1);
        let shape = ItemShape { is_tight: self.tight, ends_blank };
        self.indent = self.list_indent;
        self.list_indent = list_indent;
        self.lines[number] = line;
        self.tight = tight;
        self.push(NodeType::Item, -1, Span::empty_at(line.text() as u32));
        self.out.tokens[token].lines = Some([number as u32, self.at as u32]);
        shape
    }

    fn list_marker(&self, line: usize) -> Option<Marker> {
        let line = &self.lines[line];
        let text = self.bytes().get(line.text()..line.end)?;
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, number) = match (digits, text.get(digits)?) {
            (0, b'-' | b'*' | b'+') => (1, None),
            (1..=9, b'.' | b')') => {
                let number = text[..digits].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
                (digits + 1, Some(number))
            }
            _ => return None,
        };
        if text.get(length).is_some_and(|byte| !is_blank(*byte)) {
            return None;
        }
        Some(Marker { end: line.text() + length, letter: text[length - 1], number })
    }

    /// The checkbox that an item's content begins with.
    fn task(&self, content: usize, end: usize) -> Option<Task> {
        let text = self.bytes().get(content..end)?;
        let [b'[', mark @ (b' ' | b'x' | b'X'), b']', rest @ ..] = text else { return None };
        let stands_alone = rest.first().is_none_or(|byte| is_blank(*byte));
        stands_alone.then(|| Task { checked: *mark != b' ', span: Span::new(content as u32, content as u32 + 3) })
    }

    /// The paragraphs directly in the items of a tight list have no node of their own.
    fn hide_paragraphs(&mut self, list: usize) {
        let level = self.level + 2;
        let last = self.out.tokens.len().saturating_sub(2);
        let mut at = list + 2;
        self.step(last.saturating_sub(list));
        while at < last {
            let token = &mut self.out.tokens[at];
            at += 1;
            if token.level == level && token.kind == NodeType::Paragraph && token.nesting > 0 {
                token.hidden = true;
                // Between the two stands the paragraph's text.
                self.out.tokens[at + 1].hidden = true;
                at += 2;
            }
        }
    }
}
