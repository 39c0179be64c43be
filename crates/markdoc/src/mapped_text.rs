//! A text that is assembled from parts of the source, with the source position of each byte.

use std::borrow::Cow;

use crate::char_class;

/// The content of a paragraph, a heading, a table cell or a fence, without the markers and the indentation of the
/// blocks around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MappedText<'s> {
    pub(crate) text: Cow<'s, str>,
    /// Where each contiguous part begins in `text` and in the source; never empty, ascending in both.
    source_map: SourceMap,
}

/// Most texts have one part, which needs no allocation.
#[derive(Clone, Debug)]
enum SourceMap {
    One(u32),
    Many(Vec<Segment>),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    text: u32,
    source: u32,
}

impl Default for SourceMap {
    fn default() -> SourceMap {
        SourceMap::One(0)
    }
}

impl<'s> MappedText<'s> {
    /// A part of the source, which begins at `offset`.
    pub(crate) fn borrowed(text: &'s str, offset: usize) -> MappedText<'s> {
        MappedText { text: Cow::Borrowed(text), source_map: SourceMap::One(offset as u32) }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends a part of the source. Stays borrowed as long as the parts are adjacent.
    pub(crate) fn push(&mut self, source: &'s str, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let part = &source[range.clone()];
        if self.text.is_empty() {
            *self = MappedText::borrowed(part, range.start);
            return;
        }
        if let (Cow::Borrowed(text), SourceMap::One(start)) = (&self.text, &self.source_map) {
            let start = *start as usize;
            if start + text.len() == range.start {
                self.text = Cow::Borrowed(&source[start..range.end]);
                return;
            }
        }
        self.add_segment(range.start);
        self.text.to_mut().push_str(part);
    }

    /// Appends spaces that replace a part of the tab at `source_at`.
    pub(crate) fn push_spaces(&mut self, count: usize, source_at: usize) {
        if self.text.is_empty() {
            self.source_map = SourceMap::One(source_at as u32);
        } else {
            self.add_segment(source_at);
        }
        self.text.to_mut().extend(std::iter::repeat_n(' ', count));
        // The next part has its own entry, even if it is adjacent in the source.
        self.add_segment(source_at + 1);
    }

    fn add_segment(&mut self, source_at: usize) {
        let segment = Segment { text: self.text.len() as u32, source: source_at as u32 };
        match &mut self.source_map {
            SourceMap::One(start) => {
                self.source_map = SourceMap::Many(vec![Segment { text: 0, source: *start }, segment]);
            }
            SourceMap::Many(pieces) => pieces.push(segment),
        }
    }

    /// Without leading and trailing white space.
    pub(crate) fn trimmed(self) -> MappedText<'s> {
        let trimmed = char_class::trim(&self.text);
        let start = char_class::leading_whitespace_len(&self.text);
        let end = start + trimmed.len();
        let cut = start as u32;
        let pieces = match self.source_map {
            SourceMap::One(source) => SourceMap::One(source + cut),
            SourceMap::Many(pieces) if cut == 0 => SourceMap::Many(pieces),
            SourceMap::Many(pieces) => {
                let first = pieces.partition_point(|piece| piece.text <= cut).saturating_sub(1);
                let mut rest: Vec<Segment> = pieces.get(first..).unwrap_or_default().to_vec();
                for piece in &mut rest {
                    let overlap = cut.saturating_sub(piece.text);
                    piece.source += overlap;
                    piece.text = piece.text.saturating_sub(cut);
                }
                SourceMap::Many(rest)
            }
        };
        let text = match self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
            Cow::Owned(mut text) => {
                text.truncate(end);
                if start > 0 {
                    text.drain(..start);
                }
                Cow::Owned(text)
            }
        };
        MappedText { text, source_map: pieces }
    }

    /// The source offset of the byte at `pos`.
    pub(crate) fn source_offset(&self, pos: usize) -> u32 {
        let pos = pos as u32;
        match &self.source_map {
            SourceMap::One(start) => start + pos,
            SourceMap::Many(pieces) => {
                let next = pieces.partition_point(|piece| piece.text <= pos);
                let segment = next.checked_sub(1).and_then(|index| pieces.get(index));
                let offset = segment.map_or(pos, |segment| segment.source + (pos - segment.text));
                // Spaces that replace a part of a tab have fewer bytes in the source than here.
                match pieces.get(next) {
                    Some(following) => offset.min(following.source),
                    None => offset,
                }
            }
        }
    }

    /// The source offset behind the byte before `pos`: the end of a range, which must not include the markers of the
    /// next line.
    pub(crate) fn source_end_offset(&self, pos: usize) -> u32 {
        match (&self.source_map, pos) {
            (SourceMap::One(_), _) | (_, 0) => self.source_offset(pos),
            _ => {
                // Goes back by one whole character.
                let mut before = pos - 1;
                while before > 0 && !self.text.is_char_boundary(before) {
                    before -= 1;
                }
                self.source_offset(before) + (pos - before) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_lines_map_to_source_offsets() {
        let source = "> one\n> two\n";
        let mut text = MappedText::default();
        text.push(source, 2..6);
        text.push(source, 8..12);
        assert_eq!(text.text, "one\ntwo\n");
        assert_eq!(
            (
                text.source_offset(0),
                text.source_offset(4),
                text.source_end_offset(3),
                text.source_end_offset(4)
            ),
            (2, 8, 5, 6)
        );
        let trimmed = text.trimmed();
        assert_eq!(trimmed.text, "one\ntwo");
        assert_eq!(trimmed.source_end_offset(7), 11);
    }

    #[test]
    fn adjacent_parts_stay_borrowed() {
        let source = "one\ntwo";
        let mut text = MappedText::default();
        text.push(source, 0..4);
        text.push(source, 4..7);
        assert!(matches!(text.text, Cow::Borrowed("one\ntwo")));
    }

    #[test]
    fn trim_keeps_source_offsets_across_segments() {
        let source = "> \u{a0}\n>  x";
        let mut text = MappedText::default();
        text.push(source, 2..5);
        text.push(source, 7..9);
        let text = text.trimmed();
        assert_eq!((&*text.text, text.source_offset(0)), ("x", 8));
    }
}
