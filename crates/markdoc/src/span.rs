//! Positions in a source: byte ranges, lines and columns.

use std::ops::Range;

/// A byte range of the original source, before line endings are normalised. Both ends are character boundaries, so a
/// caller can replace the bytes and leave the rest unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The range from `start` to `end`. Its length is never negative.
    pub(crate) fn new(start: u32, end: u32) -> Span {
        Span { start, end: end.max(start) }
    }

    /// An empty range at this offset.
    pub(crate) fn empty(offset: u32) -> Span {
        Span { start: offset, end: offset }
    }

    /// The smallest span that contains both.
    pub(crate) fn union(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The span as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Its bytes. Empty if `source` is not the text that was parsed.
    pub fn slice(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or("")
    }

    /// Whether `other` lies within it.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A line and a column, both from zero, the column in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, as in [`Node::lines`](crate::Node::lines).
    pub line: u32,
    /// The number of bytes before it on that line.
    pub column: u32,
}

/// The start of each line of a source. Finds line and column of an offset by binary search.
///
/// A line ends with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes `source` in one pass.
    pub fn new(source: &str) -> LineIndex {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for (offset, byte) in bytes.iter().enumerate() {
            let ends_line = *byte == b'\n' || (*byte == b'\r' && bytes.get(offset + 1) != Some(&b'\n'));
            if ends_line {
                starts.push(offset as u32 + 1);
            }
        }
        LineIndex { starts }
    }

    /// The line and column of a byte.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        Position { line: line as u32, column: offset - start }
    }

    /// The first byte of a line; `None` if the source has fewer lines.
    pub fn line_start(&self, line: u32) -> Option<u32> {
        self.starts.get(line as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_index_handles_lf_crlf_and_cr() {
        let index = LineIndex::new("a\nb\r\nc\rd");
        let positions: Vec<(u32, u32)> =
            (0..8).map(|offset| index.position(offset)).map(|p| (p.line, p.column)).collect();
        assert_eq!(positions, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0)]);
        assert_eq!(index.line_start(3), Some(7));
        assert_eq!(index.line_start(4), None);
    }
}
