//! The source with normalised line endings, and the mapping back to the original bytes.
//!
//! `\r\n` and `\r` become `\n`, NUL becomes U+FFFD. Most sources contain neither and are borrowed unchanged. For the
//! others a short list of shifts maps each offset back.

use std::borrow::Cow;

/// A normalised source.
pub(crate) struct NormalizedSource<'s> {
    pub(crate) text: Cow<'s, str>,
    /// From offset `normalised` on, the original offset is `original + (offset - normalised)`.
    shifts: Vec<OffsetShift>,
}

struct OffsetShift {
    normalised: u32,
    original: u32,
}

impl<'s> NormalizedSource<'s> {
    pub(crate) fn new(original: &'s str) -> NormalizedSource<'s> {
        let must_normalize = |byte: &u8| *byte == b'\r' || *byte == 0;
        let Some(first) = original.bytes().position(|byte| must_normalize(&byte)) else {
            return NormalizedSource { text: Cow::Borrowed(original), shifts: Vec::new() };
        };
        let bytes = original.as_bytes();
        let mut text = String::with_capacity(original.len());
        let mut shifts = Vec::new();
        let mut copied = 0;
        let mut pos = first;
        while pos < bytes.len() {
            if !must_normalize(&bytes[pos]) {
                pos += 1;
                continue;
            }
            text.push_str(&original[copied..pos]);
            let crlf = bytes[pos] == b'\r' && bytes.get(pos + 1) == Some(&b'\n');
            text.push(if bytes[pos] == 0 { '\u{FFFD}' } else { '\n' });
            pos += if crlf { 2 } else { 1 };
            copied = pos;
            shifts.push(OffsetShift { normalised: text.len() as u32, original: pos as u32 });
        }
        text.push_str(&original[copied..]);
        NormalizedSource { text: Cow::Owned(text), shifts }
    }

    /// The offset in the original source.
    pub(crate) fn to_original_offset(&self, offset: u32) -> u32 {
        let after = self.shifts.partition_point(|shift| shift.normalised <= offset);
        match after.checked_sub(1).and_then(|index| self.shifts.get(index)) {
            Some(shift) => shift.original + (offset - shift.normalised),
            None => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_offsets_map_to_original_bytes() {
        let original = "a\r\nb\rc\0d\r\n";
        let source = NormalizedSource::new(original);
        assert_eq!(source.text, "a\nb\nc\u{FFFD}d\n");
        for (normalised, letter) in source.text.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()) {
            let original_offset = source.to_original_offset(normalised as u32) as usize;
            assert_eq!(original[original_offset..].chars().next(), Some(letter));
        }
        assert_eq!(source.to_original_offset(source.text.len() as u32) as usize, original.len());
        assert_eq!(source.to_original_offset(1), 1, "an end before a line ending stays before its \\r");
    }
}
