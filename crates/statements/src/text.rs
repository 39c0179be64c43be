//! From bytes to text: detection of the encoding, and the normalization of every text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits;

/// A file as text.
#[derive(Debug)]
pub(crate) struct DecodedText<'a> {
    pub text: Cow<'a, str>,
    /// The encoding's name, unless it is UTF-8.
    pub non_utf8: Option<&'static str>,
    /// Whether some bytes were invalid in that encoding.
    pub had_errors: bool,
}

/// Decodes a file: by its byte order mark; else as UTF-16 if every other byte is zero; else by the encoding in the XML
/// declaration; else as UTF-8 if valid; else as Windows-1252, in which every byte is valid.
pub(crate) fn decode(bytes: &[u8]) -> DecodedText<'_> {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (Some(encoding), bytes.get(mark..).unwrap_or_default()),
        None => (looks_like_utf16(bytes), bytes),
    };
    if let Some(encoding) =
        encoding.or_else(|| xml_declared_encoding(bytes)).filter(|candidate| *candidate != UTF_8)
    {
        let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
        return DecodedText { text, non_utf8: Some(encoding.name()), had_errors };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => DecodedText { text: Cow::Borrowed(text), non_utf8: None, had_errors: false },
        // A file with a UTF-8 mark that is not UTF-8 was cut or joined: invalid bytes are replaced and reported.
        Err(_) if encoding == Some(UTF_8) => {
            DecodedText { text: String::from_utf8_lossy(bytes), non_utf8: None, had_errors: true }
        }
        Err(_) => {
            let (text, had_errors) = WINDOWS_1252.decode_without_bom_handling(bytes);
            DecodedText { text, non_utf8: Some(WINDOWS_1252.name()), had_errors }
        }
    }
}

/// UTF-16 without a mark: nearly every letter of a statement is ASCII, so nearly every other byte is zero.
fn looks_like_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..bytes.len().min(512) & !1).filter(|start| start.len() >= 8)?;
    let zeros = |parity: usize| start.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let threshold = start.len() / 2 * 3 / 4;
    match (even >= threshold, odd >= threshold) {
        (true, false) => Some(UTF_16BE),
        (false, true) => Some(UTF_16LE),
        _ => None,
    }
}

/// The encoding of `<?xml version="1.0" encoding="ISO-8859-1"?>`.
fn xml_declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..bytes.len().min(200))?;
    let end = memchr::memmem::find(start, b"?>")?;
    let declaration = std::str::from_utf8(start.get(..end)?).ok()?;
    let value = declaration.trim_start().strip_prefix("<?xml")?.split_once("encoding")?.1;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let label = value.get(1..)?.split(quote).next()?;
    // A text whose declaration is readable byte by byte cannot be UTF-16, even if it declares that.
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != UTF_16LE && *encoding != UTF_16BE)
}

/// A text on one line: white space and control characters become one space, the ends are trimmed, and the text is cut
/// to [`limits::TEXT_BYTES`] at a character boundary.
pub(crate) fn collapse_whitespace(text: &str) -> Box<str> {
    let text = text.trim();
    let is_collapsed = text.len() <= limits::TEXT_BYTES
        && text.bytes().zip(text.bytes().skip(1)).all(|pair| pair != (b' ', b' '))
        && text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    if is_collapsed {
        return text.into();
    }
    let mut line = String::with_capacity(text.len().min(limits::TEXT_BYTES));
    push_collapsed(&mut line, text);
    line.into()
}

/// Appends a text to a line, after one space.
pub(crate) fn push_collapsed(line: &mut String, text: &str) {
    for word in text.split(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}') {
        if word.is_empty() {
            continue;
        }
        let space = usize::from(!line.is_empty());
        let remaining = limits::TEXT_BYTES.saturating_sub(line.len() + space);
        let end = (0..=word.len().min(remaining)).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
        let Some(part) = word.get(..end).filter(|part| !part.is_empty()) else { return };
        if space == 1 {
            line.push(' ');
        }
        line.push_str(part);
    }
}

/// A text on one line; `None` if it is empty.
pub(crate) fn non_empty_line(text: &str) -> Option<Box<str>> {
    let line = collapse_whitespace(text);
    (!line.is_empty()).then_some(line)
}

/// An IBAN without spaces, in capitals, if the text is one: country, check digits and checksum are verified.
pub(crate) fn parse_iban(text: &str) -> Option<Box<str>> {
    if text.len() > 64 {
        return None;
    }
    let compact: String =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_uppercase()).collect();
    let bytes = compact.as_bytes();
    let has_iban_shape = (15..=34).contains(&bytes.len())
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes.iter().take(2).all(u8::is_ascii_alphabetic)
        && bytes.iter().skip(2).take(2).all(u8::is_ascii_digit);
    if !has_iban_shape {
        return None;
    }
    let remainder =
        bytes.iter().skip(4).chain(bytes.iter().take(4)).fold(0u32, |remainder, byte| match byte {
            b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
            letter => (remainder * 100 + u32::from(letter - b'A') + 10) % 97,
        });
    (remainder == 1).then(|| compact.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_encodings() {
        let text = "Grüße;1,50 €";
        let utf16 = |mark: bool, big: bool| {
            let mut bytes = Vec::new();
            for unit in mark.then_some(0xfeff).into_iter().chain(text.encode_utf16()) {
                bytes.extend(if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
            }
            bytes
        };
        let windows = WINDOWS_1252.encode(text).0.into_owned();
        let marked = [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat();
        for bytes in [text.as_bytes().to_vec(), marked, windows, utf16(true, true), utf16(true, false)] {
            let decoded = decode(&bytes);
            assert_eq!((&*decoded.text, decoded.had_errors), (text, false), "{:?}", decoded.non_utf8);
        }
        assert_eq!(decode(&utf16(false, false)).non_utf8, Some("UTF-16LE"));
        assert_eq!(decode(&utf16(false, true)).text, text);
    }

    #[test]
    fn uses_xml_declared_encoding() {
        let bytes = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>";
        assert!(decode(bytes).text.ends_with("<a>ü</a>"));
        assert_eq!(decode(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>").non_utf8, None);
    }

    #[test]
    fn collapse_whitespace_limits_length() {
        assert_eq!(&*collapse_whitespace("  a \t\r\n b\u{a0}\u{7}c "), "a b c");
        assert_eq!(&*collapse_whitespace("plain text"), "plain text");
        assert_eq!(collapse_whitespace(&"é".repeat(5000)).len(), limits::TEXT_BYTES);
        assert_eq!(non_empty_line(" \n "), None);
    }

    #[test]
    fn iban_checksum_is_verified() {
        assert_eq!(parse_iban("de89 3704 0044 0532 0130 00").as_deref(), Some("DE89370400440532013000"));
        assert_eq!(parse_iban("GB82WEST12345698765432").as_deref(), Some("GB82WEST12345698765432"));
        assert_eq!(parse_iban("DE88370400440532013000"), None);
        assert_eq!(parse_iban("Überweisung"), None);
    }
}
