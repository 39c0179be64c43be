//! The source as the parser reads it, and the way back to the bytes as they were given.
//!
//! Markdown knows one line ending and no NUL: `\r\n` and `\r` are read as `\n`, NUL as U+FFFD. Most sources have neither and
//! are borrowed unchanged; for the others a short list of shifts maps each offset back.

use std::borrow::Cow;

/// A normalised source.
pub(crate) struct Source<'s> {
    pub(crate) text: Cow<'s, str>,
    /// From the normalised offset on, given offsets are `given + (offset - normalised)`.
    shifts: Vec<Shift>,
}

struct Shift {
    normalised: u32,
    given: u32,
}

impl<'s> Source<'s> {
    pub(crate) fn new(given: &'s str) -> Source<'s> {
        let needs_work = |byte: &u8| *byte == b'\r' || *byte == 0;
        let Some(first) = given.bytes().position(|byte| needs_work(&byte)) else {
            return Source { text: Cow::Borrowed(given), shifts: Vec::new() };
        };
        let bytes = given.as_bytes();
        let mut text = String::with_capacity(given.len());
        let mut shifts = Vec::new();
        let mut copied = 0;
        let mut at = first;
        while at < bytes.len() {
            if !needs_work(&bytes[at]) {
                at += 1;
                continue;
            }
            text.push_str(&given[copied..at]);
            let crlf = bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
            text.push(if bytes[at] == 0 { '\u{FFFD}' } else { '\n' });
            at += if crlf { 2 } else { 1 };
            copied = at;
            shifts.push(Shift { normalised: text.len() as u32, given: at as u32 });
        }
        text.push_str(&given[copied..]);
        Source { text: Cow::Owned(text), shifts }
    }

    /// The offset in the source as it was given.
    pub(crate) fn given(&self, offset: u32) -> u32 {
        let after = self.shifts.partition_point(|shift| shift.normalised <= offset);
        match after.checked_sub(1).and_then(|at| self.shifts.get(at)) {
            Some(shift) => shift.given + (offset - shift.normalised),
            None => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_back_to_the_given_bytes() {
        let given = "a\r\nb\rc\0d\r\n";
        let source = Source::new(given);
        assert_eq!(source.text, "a\nb\nc\u{FFFD}d\n");
        for (normalised, letter) in source.text.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()) {
            let given_at = source.given(normalised as u32) as usize;
            assert_eq!(given[given_at..].chars().next(), Some(letter));
        }
        assert_eq!(source.given(source.text.len() as u32) as usize, given.len());
        assert_eq!(source.given(1), 1, "an end before a line ending stays before its \\r");
    }
}
