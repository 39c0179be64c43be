//! The lines of a source, without the markers of the surrounding blocks.
//!
//! Quotes and list items remove their markers from the lines in them: they change `start`, `prefix_len` and `indent`,
//! and restore them when they end.

use super::BlockParser;
use crate::char_class::is_space_or_tab;
use crate::mapped_text::MappedText;

/// One line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// The first byte that is not removed.
    pub(crate) start: usize,
    /// The byte after its last one, without the line ending.
    pub(crate) end: usize,
    /// Length of indentation and markers after `start`, in bytes.
    pub(crate) prefix_len: usize,
    /// The column of its first character, with tabs expanded; −1 if a quote claims the line for its paragraph.
    pub(crate) indent: i32,
    /// The column of `start`, for the width of the tabs that follow.
    pub(crate) column: i32,
}

impl Line {
    /// The first byte after indentation and markers.
    pub(crate) fn text_start(&self) -> usize {
        self.start + self.prefix_len
    }
}

/// Splits a source. The last entry is not a line; it allows to look one line ahead.
pub(super) fn split(source: &str) -> Vec<Line> {
    let bytes = source.as_bytes();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = source[start..].find('\n').map_or(bytes.len(), |newline| start + newline);
        let (mut prefix_len, mut indent) = (0, 0);
        for byte in &bytes[start..end] {
            match byte {
                b'\t' => indent += 4 - indent % 4,
                b' ' => indent += 1,
                _ => break,
            }
            prefix_len += 1;
        }
        // White space at the very end, without a line ending, is not a line.
        if end < bytes.len() || start + prefix_len < end {
            lines.push(Line { start, end, prefix_len, indent, column: 0 });
        }
        start = end + 1;
    }
    lines.push(Line { start: bytes.len(), end: bytes.len(), ..Line::default() });
    lines
}

impl<'s> BlockParser<'s> {
    pub(super) fn is_blank_line(&self, line: usize) -> bool {
        self.lines.get(line).is_none_or(|line| line.text_start() >= line.end)
    }

    pub(super) fn skip_blank_lines(&mut self, from: usize) -> usize {
        let mut line = from;
        while line < self.line_max && self.is_blank_line(line) {
            line += 1;
        }
        self.count_steps(line - from);
        line
    }

    /// The line without indentation and markers.
    pub(super) fn line_text(&self, line: usize) -> &'s str {
        let line = &self.lines[line];
        self.source.get(line.text_start()..line.end).unwrap_or("")
    }

    /// The first byte of the line's text.
    pub(super) fn first_byte(&self, line: usize) -> Option<u8> {
        let line = &self.lines[line];
        if line.text_start() < line.end { self.bytes().get(line.text_start()).copied() } else { None }
    }

    /// The first byte that is neither space nor tab.
    pub(super) fn skip_spaces_and_tabs(&self, from: usize) -> usize {
        let rest = &self.bytes()[from.min(self.source.len())..];
        from + rest.iter().take_while(|byte| is_space_or_tab(**byte)).count()
    }

    /// The lines from `start` to `end`, without the first `indent` columns of each; the last line ending is optional.
    pub(super) fn lines_text(
        &mut self,
        start: usize,
        end: usize,
        indent: i32,
        with_last_ending: bool,
    ) -> MappedText<'s> {
        let mut text = MappedText::default();
        for index in start..end {
            let line = self.lines[index];
            let has_ending = index + 1 < end || with_last_ending;
            let last = if has_ending { (line.end + 1).min(self.source.len()) } else { line.end };
            let mut first = line.start;
            let mut column = 0;
            while first < last && column < indent {
                match self.bytes()[first] {
                    b'\t' => column += 4 - (column + line.column) % 4,
                    b' ' => column += 1,
                    // A list marker counts as spaces.
                    _ if first - line.start < line.prefix_len => column += 1,
                    _ => break,
                }
                first += 1;
            }
            if column > indent {
                // A part of a tab remains.
                text.push_spaces((column - indent) as usize, first - 1);
            }
            text.push(self.source, first..last);
            self.count_steps(last - line.start);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_records_prefix_and_indentation() {
        let split_fields = |source: &str| -> Vec<(usize, usize, usize, i32)> {
            let mut lines = split(source);
            lines.pop();
            lines.iter().map(|line| (line.start, line.end, line.prefix_len, line.indent)).collect()
        };
        assert_eq!(split_fields("a\n \tb"), [(0, 1, 0, 0), (2, 5, 2, 4)]);
        assert_eq!(split_fields("a\n\n"), [(0, 1, 0, 0), (2, 2, 0, 0)]);
        assert_eq!(split_fields("a\n  "), [(0, 1, 0, 0)], "white space without a line ending is no line");
        assert_eq!(split_fields("   \n"), [(0, 3, 3, 3)]);
        assert_eq!(split_fields(""), []);
    }
}
