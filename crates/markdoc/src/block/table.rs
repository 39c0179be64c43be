//! Tables with pipes.

use super::{Alignment, BlockData, BlockParser, InterruptibleBlock, ParentBlock};
use crate::char_class::{is_space_or_tab, leading_whitespace_len, trim};
use crate::error::WarningId;
use crate::limits::FILLED_CELLS_MAX;
use crate::mapped_text::MappedText;
use crate::node::NodeType;
use crate::span::Span;
use crate::stage::{Mode, Nesting};

impl<'s> BlockParser<'s> {
    /// `| a | b |`, then `|---|---|`, then rows.
    pub(super) fn parse_table(&mut self, line: usize, end: usize, mode: Mode) -> bool {
        if line + 2 > end || self.lines[line + 1].indent < self.indent || self.is_code_indented(line + 1) {
            return false;
        }
        if !looks_like_delimiter_row(self.line_text(line + 1)) {
            return false;
        }
        self.count_steps(self.line_text(line + 1).len() + self.line_text(line).len());
        let Some(alignments) = parse_alignments(self.line_text(line + 1)) else { return false };
        if !self.line_text(line).contains('|') || self.is_code_indented(line) {
            return false;
        }
        let header = self.split_cells(line);
        if header.is_empty() || header.len() != alignments.len() {
            return false;
        }
        if mode == Mode::Probe {
            return true;
        }

        let saved_parent = std::mem::replace(&mut self.parent, ParentBlock::Other);
        let table = self.output.tokens.len();
        let header_span = self.row_span(line);
        self.push(NodeType::Table, Nesting::Open, header_span);
        let lines = Some([line as u32, line as u32 + 1]);
        self.push(NodeType::Thead, Nesting::Open, header_span).lines = lines;
        self.push_row(NodeType::Th, line, header, &alignments);
        self.push(NodeType::Thead, Nesting::Close, header_span);

        let mut body = None;
        let mut filled = 0;
        let mut next = line + 2;
        while next < end {
            if self.lines[next].indent < self.indent || self.interrupts(InterruptibleBlock::Quote, next, end)
            {
                break;
            }
            if trim(self.line_text(next)).is_empty() || self.is_code_indented(next) {
                break;
            }
            let mut cells = self.split_cells(next);
            cells.truncate(alignments.len());
            let missing = alignments.len() - cells.len();
            if filled <= FILLED_CELLS_MAX && filled + missing > FILLED_CELLS_MAX {
                let span = self.row_span(next);
                self.warn(WarningId::TableTooWide, span);
            }
            filled += missing;
            if filled <= FILLED_CELLS_MAX {
                let row_end = self.lines[next].end;
                cells.resize(alignments.len(), MappedText::borrowed("", row_end));
            }
            if body.is_none() {
                body = Some(self.output.tokens.len());
                let span = self.row_span(next);
                self.push(NodeType::Tbody, Nesting::Open, span);
            }
            self.push_row(NodeType::Td, next, cells, &alignments);
            next += 1;
        }
        if let Some(body) = body {
            self.push(NodeType::Tbody, Nesting::Close, header_span);
            self.output.tokens[body].lines = Some([line as u32 + 2, next as u32]);
        }
        self.push(NodeType::Table, Nesting::Close, header_span);
        self.output.tokens[table].lines = Some([line as u32, next as u32]);
        self.parent = saved_parent;
        self.next_line = next;
        true
    }

    fn push_row(
        &mut self,
        cell: NodeType,
        line: usize,
        cells: Vec<MappedText<'s>>,
        alignments: &[Alignment],
    ) {
        let span = self.row_span(line);
        self.push(NodeType::Tr, Nesting::Open, span).lines = Some([line as u32, line as u32 + 1]);
        for (text, alignment) in cells.into_iter().zip(alignments) {
            let text = text.trimmed();
            let span = super::leaf::text_span(&text);
            self.push(cell, Nesting::Open, span).data = BlockData::Cell(*alignment);
            self.push_inline(text, None);
            self.push(cell, Nesting::Close, span);
        }
        self.push(NodeType::Tr, Nesting::Close, span);
    }

    fn row_span(&self, line: usize) -> Span {
        Span::new(self.lines[line].text_start() as u32, self.lines[line].end as u32)
    }

    /// The cells of a row, split at unescaped pipes. Pipes at both ends are optional.
    fn split_cells(&mut self, line: usize) -> Vec<MappedText<'s>> {
        let line_text = self.line_text(line);
        self.count_steps(line_text.len());
        let row = trim(line_text);
        let offset = self.lines[line].text_start() + leading_whitespace_len(line_text);
        let mut cells = Vec::new();
        let mut cell = MappedText::default();
        let mut start = 0;
        for (pipe, _) in row.match_indices('|') {
            let is_escaped = row[..pipe].ends_with('\\');
            // The backslash of an escaped pipe is not part of the cell.
            let until = if is_escaped { pipe - 1 } else { pipe };
            if cell.len() == 0 && start == until {
                cell = MappedText::borrowed("", offset + start);
            }
            cell.push(self.source, offset + start..offset + until);
            start = pipe;
            if !is_escaped {
                cells.push(std::mem::take(&mut cell));
                start = pipe + 1;
            }
        }
        if cell.len() == 0 && start == row.len() {
            cell = MappedText::borrowed("", offset + start);
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

/// A cheap check before the row is split. A dash with a space after it is a list item.
fn looks_like_delimiter_row(text: &str) -> bool {
    let is_delimiter_byte = |byte: u8| matches!(byte, b'|' | b'-' | b':');
    let [first, second, rest @ ..] = text.as_bytes() else { return false };
    is_delimiter_byte(*first)
        && (is_delimiter_byte(*second) || is_space_or_tab(*second))
        && !(*first == b'-' && is_space_or_tab(*second))
        && rest.iter().all(|byte| is_delimiter_byte(*byte) || is_space_or_tab(*byte))
}

/// The alignments of the row below a header; `None` if it is not such a row.
fn parse_alignments(row: &str) -> Option<Vec<Alignment>> {
    let columns = row.split('|').count();
    let mut alignments = Vec::new();
    for (number, column) in row.split('|').enumerate() {
        let mark = trim(column);
        if mark.is_empty() {
            // Empty before the first pipe or after the last one; not allowed between two.
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
    fn delimiter_row_sets_alignments() {
        use Alignment::{Center, Left, None as Plain, Right};
        assert_eq!(parse_alignments("|---|:-:|-:|:--|"), Some(vec![Plain, Center, Right, Left]));
        assert_eq!(parse_alignments("---||---"), None);
        assert_eq!(parse_alignments("|::|"), None);
        assert!(
            looks_like_delimiter_row("--|--")
                && !looks_like_delimiter_row("- |")
                && !looks_like_delimiter_row("-")
        );
    }
}
