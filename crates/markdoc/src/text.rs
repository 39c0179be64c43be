//! A piece of text that was cut out of the source, line by line, and still knows where each of its bytes came from.

use std::borrow::Cow;

use crate::characters;

/// The content of a paragraph, a heading, a table cell or a fence: without the markers and the indentation of the blocks
/// around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text<'s> {
    pub(crate) text: Cow<'s, str>,
    /// Where each contiguous piece begins in `text` and in the source; never empty, ascending in both.
    pieces: Pieces,
}

/// Most texts are one piece, which needs no allocation.
#[derive(Clone, Debug)]
enum Pieces {
    One(u32),
    Many(Vec<Piece>),
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    text: u32,
    source: u32,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces::One(0)
    }
}

impl<'s> Text<'s> {
    /// A part of the source as it stands, which begins at `offset`.
    pub(crate) fn borrowed(text: &'s str, offset: usize) -> Text<'s> {
        Text { text: Cow::Borrowed(text), pieces: Pieces::One(offset as u32) }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends a part of the source; stays borrowed as long as the parts follow on each other.
    pub(crate) fn push(&mut self, source: &'s str, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let part = &source[range.clone()];
        if self.text.is_empty() {
            *self = Text::borrowed(part, range.start);
            return;
        }
        if let (Cow::Borrowed(text), Pieces::One(start)) = (&self.text, &self.pieces) {
            let start = *start as usize;
            if start + text.len() == range.start {
                self.text = Cow::Borrowed(&source[start..range.end]);
                return;
            }
        }
        self.add_piece(range.start);
        self.text.to_mut().push_str(part);
    }

    /// Appends spaces that stand for a part of the tab at `source_at`.
    pub(crate) fn push_spaces(&mut self, count: usize, source_at: usize) {
        if self.text.is_empty() {
            self.pieces = Pieces::One(source_at as u32);
        } else {
            self.add_piece(source_at);
        }
        self.text.to_mut().extend(std::iter::repeat_n(' ', count));
        // What follows is a piece of its own, even if it follows in the source.
        self.add_piece(source_at + 1);
    }

    fn add_piece(&mut self, source_at: usize) {
        let piece = Piece { text: self.text.len() as u32, source: source_at as u32 };
        match &mut self.pieces {
            Pieces::One(start) => {
                self.pieces = Pieces::Many(vec![Piece { text: 0, source: *start }, piece]);
            }
            Pieces::Many(pieces) => pieces.push(piece),
        }
    }

    /// Without the white space around it.
    pub(crate) fn trimmed(self) -> Text<'s> {
        let trimmed = characters::trim(&self.text);
        let start = characters::leading_space(&self.text);
        let end = start + trimmed.len();
        let cut = start as u32;
        let pieces = match self.pieces {
            Pieces::One(source) => Pieces::One(source + cut),
            Pieces::Many(pieces) if cut == 0 => Pieces::Many(pieces),
            Pieces::Many(pieces) => {
                let at = pieces.partition_point(|piece| piece.text <= cut).saturating_sub(1);
                let mut rest: Vec<Piece> = pieces.get(at..).unwrap_or_default().to_vec();
                for piece in &mut rest {
                    let skipped = cut.saturating_sub(piece.text);
                    piece.source += skipped;
                    piece.text = piece.text.saturating_sub(cut);
                }
                Pieces::Many(rest)
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
        Text { text, pieces }
    }

    /// The source offset of the byte at `at`.
    pub(crate) fn source(&self, at: usize) -> u32 {
        let at = at as u32;
        match &self.pieces {
            Pieces::One(start) => start + at,
            Pieces::Many(pieces) => {
                let next = pieces.partition_point(|piece| piece.text <= at);
                let piece = next.checked_sub(1).and_then(|index| pieces.get(index));
                let offset = piece.map_or(at, |piece| piece.source + (at - piece.text));
                // Spaces that stand for a part of a tab have fewer bytes in the source than here.
                match pieces.get(next) {
                    Some(following) => offset.min(following.source),
                    None => offset,
                }
            }
        }
    }

    /// The source offset behind the byte before `at`: the end of a range, which must not reach over a line's markers.
    pub(crate) fn source_end(&self, at: usize) -> u32 {
        match (&self.pieces, at) {
            (Pieces::One(_), _) | (_, 0) => self.source(at),
            _ => {
                // Step back one whole character, then over it again.
                let mut before = at - 1;
                while before > 0 && !self.text.is_char_boundary(before) {
                    before -= 1;
                }
                self.source(before) + (at - before) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_quote_lead_back_to_the_source() {
        let source = "> one\n> two\n";
        let mut text = Text::default();
        text.push(source, 2..6);
        text.push(source, 8..12);
        assert_eq!(text.text, "one\ntwo\n");
        assert_eq!((text.source(0), text.source(4), text.source_end(3), text.source_end(4)), (2, 8, 5, 6));
        let trimmed = text.trimmed();
        assert_eq!(trimmed.text, "one\ntwo");
        assert_eq!(trimmed.source_end(7), 11);
    }

    #[test]
    fn parts_that_follow_on_each_other_stay_borrowed() {
        let source = "one\ntwo";
        let mut text = Text::default();
        text.push(source, 0..4);
        text.push(source, 4..7);
        assert!(matches!(text.text, Cow::Borrowed("one\ntwo")));
    }

    #[test]
    fn trimming_in_the_middle_of_pieces_keeps_the_places() {
        let source = "> \u{a0}\n>  x";
        let mut text = Text::default();
        text.push(source, 2..5);
        text.push(source, 7..9);
        let text = text.trimmed();
        assert_eq!((&*text.text, text.source(0)), ("x", 8));
    }
}
