//! Tables with pipes.

use super::{Alignment, Interrupted, Payload, Walk, Within};
use crate::characters::{is_blank, leading_space, trim};
use crate::error::WarningId;
use crate::limits::FILLED_CELLS_MAX;
use crate::node::NodeType;
use crate::span::Span;
use crate::text::Text;

impl<'s> Walk<'s> {
    /// `| a | b |`, then `|---|---|`, then rows.
    pub(super) fn table(&mut self, line: usize, end: usize, only_look: bool) -> bool {
        if line + 2 > end || self.lines[line + 1].indent < self.indent || self.is_code_indented(line + 1) {
            return false;
        }
        if !may_be_a_delimiter_row(self.line_text(line + 1)) {
            return false;
        }
        self.step(self.line_text(line + 1).len() + self.line_text(line).len());
        let Some(alignments) = alignments(self.line_text(line + 1)) else { return false };
        if !self.line_text(line).contains('|') || self.is_code_indented(line) {
            return false;
        }
        let header = self.cells(line);
        if header.is_empty() || header.len() != alignments.len() {
            return false;
        }
        if only_look {
            return true;
        }

        let within = std::mem::replace(&mut self.within, Within::Other);
        let table = self.out.tokens.len();
        let header_span = self.row_span(line);
        self.push(NodeType::Table, 1, header_span);
        let lines = Some([line as u32, line as u32 + 1]);
        self.push(NodeType::Thead, 1, header_span).lines = lines;
        self.row(NodeType::Th, line, header, &alignments);
        self.push(NodeType::Thead, -1, header_span);

        let mut body = None;
        let mut filled = 0;
        let mut next = line + 2;
        while next < end {
            if self.lines[next].indent < self.indent || self.interrupts(Interrupted::Quote, next, end) {
                break;
            }
            if trim(self.line_text(next)).is_empty() || self.is_code_indented(next) {
                break;
            }
            let mut cells = self.cells(next);
            cells.truncate(alignments.len());
            let missing = alignments.len() - cells.len();
            if filled <= FILLED_CELLS_MAX && filled + missing > FILLED_CELLS_MAX {
                let span = self.row_span(next);
                self.warn(WarningId::TableTooWide, span);
            }
            filled += missing;
            if filled <= FILLED_CELLS_MAX {
                let row_end = self.lines[next].end;
                cells.resize(alignments.len(), Text::borrowed("", row_end));
            }
            if body.is_none() {
                body = Some(self.out.tokens.len());
                let span = self.row_span(next);
                self.push(NodeType::Tbody, 1, span);
            }
            self.row(NodeType::Td, next, cells, &alignments);
            next += 1;
        }
        if let Some(body) = body {
            self.push(NodeType::Tbody, -1, header_span);
            self.out.tokens[body].lines = Some([line as u32 + 2, next as u32]);
        }
        self.push(NodeType::Table, -1, header_span);
        self.out.tokens[table].lines = Some([line as u32, next as u32]);
        self.within = within;
        self.at = next;
        true
    }

    fn row(&mut self, cell: NodeType, line: usize, cells: Vec<Text<'s>>, alignments: &[Alignment]) {
        let span = self.row_span(line);
        self.push(NodeType::Tr, 1, span).lines = Some([line as u32, line as u32 + 1]);
        for (text, alignment) in cells.into_iter().zip(alignments) {
            let text = text.trimmed();
            let span = super::leaf::text_span(&text);
            self.push(cell, 1, span).payload = Payload::Cell(*alignment);
            self.push_inline(text, None);
            self.push(cell, -1, span);
        }
        self.push(NodeType::Tr, -1, span);
    }

    fn row_span(&self, line: usize) -> Span {
        Span::new(self.lines[line].text() as u32, self.lines[line].end as u32)
    }

    /// The cells of a row: split at pipes that have no backslash before them. Pipes at both ends are optional.
    fn cells(&mut self, line: usize) -> Vec<Text<'s>> {
        let whole = self.line_text(line);
        self.step(whole.len());
        let row = trim(whole);
        let offset = self.lines[line].text() + leading_space(whole);
        let mut cells = Vec::new();
        let mut cell = Text::default();
        let mut start = 0;
        for (at, _) in row.match_indices('|') {
            let is_escaped = row[..at].ends_with('\\');
            // The backslash before an escaped pipe is no part of the cell.
            let until = if is_escaped { at - 1 } else { at };
            if cell.len() == 0 && start == until {
                cell = Text::borrowed("", offset + start);
            }
            cell.push(self.source, offset + start..offset + until);
            start = at;
            if !is_escaped {
                cells.push(std::mem::take(&mut cell));
                start = at + 1;
            }
        }
        if cell.len() == 0 && start == row.len() {
            cell = Text::borrowed("", offset + start);
        }
        cell.push(self.source, offset + start..offset + row.len());
        cells.push(cell);
        if cells.first().is_some_and(|cell| cell.len() == 0) {
            cells.remove(0);
        }
        if cells.last().is_some_and(|cell| cell.len() == 0) {
            cells.pop();
        }
        cells
    }
}

/// A quick look at a line, before it is taken apart. A dash with a space after it is a list item.
fn may_be_a_delimiter_row(text: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'|' | b'-' | b':');
    let [first, second, rest @ ..] = text.as_bytes() else { return false };
    is_mark(*first)
        && (is_mark(*second) || is_blank(*second))
        && !(*first == b'-' && is_blank(*second))
        && rest.iter().all(|byte| is_mark(*byte) || is_blank(*byte))
}

/// The alignments that the row below a header asks for; none if it is no such row.
fn alignments(row: &str) -> Option<Vec<Alignment>> {
    let columns = row.split('|').count();
    let mut alignments = Vec::new();
    for (number, column) in row.split('|').enumerate() {
        let mark = trim(column);
        if mark.is_empty() {
            // Before the first pipe and after the last one; not between two.
            if number == 0 || number + 1 == columns {
                continue;
            }
            return None;
        }
        let (left, right) = (mark.starts_with(':'), mark.ends_with(':'));
        let dashes = mark.strip_prefix(':').unwrap_or(mark);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        if dashes.is_empty() || !dashes.bytes().all(|byte| byte == b'-') {
            return None;
        }
        alignments.push(match (left, right) {
            (true, true) => Alignment::Center,
            (false, true) => Alignment::Right,
            (true, false) => Alignment::Left,
            (false, false) => Alignment::None,
        });
    }
    Some(alignments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_below_a_header() {
        use Alignment::{Center, Left, None as Plain, Right};
        assert_eq!(alignments("|---|:-:|-:|:--|"), Some(vec![Plain, Center, Right, Left]));
        assert_eq!(alignments("---||---"), None);
        assert_eq!(alignments("|::|"), None);
        assert!(may_be_a_delimiter_row("--|--") && !may_be_a_delimiter_row("- |") && !may_be_a_delimiter_row("-"));
    }
}
