//! From bytes to text: which encoding a file is in, and the small repairs that every text of it gets.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits;

/// A file as text.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub text: Cow<'a, str>,
    /// The encoding's name, unless it is UTF-8.
    pub unusual: Option<&'static str>,
    /// Whether some bytes meant nothing in that encoding.
    pub damaged: bool,
}

/// Decodes a file: by its byte order mark, else as UTF-16 if every other byte is zero, else by the encoding that an
/// XML declaration names, else as UTF-8 if it is valid, else as Windows-1252, in which every byte means something.
pub(crate) fn decode(bytes: &[u8]) -> Decoded<'_> {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (Some(encoding), bytes.get(mark..).unwrap_or_default()),
        None => (looks_like_utf16(bytes), bytes),
    };
    if let Some(encoding) = encoding.or_else(|| declared_in_xml(bytes)).filter(|found| *found != UTF_8) {
        let (text, damaged) = encoding.decode_without_bom_handling(bytes);
        return Decoded { text, unusual: Some(encoding.name()), damaged };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded { text: Cow::Borrowed(text), unusual: None, damaged: false },
        // A file that says it is UTF-8 by its mark and is not was cut or joined: what is wrong is replaced and reported.
        Err(_) if encoding == Some(UTF_8) => {
            Decoded { text: String::from_utf8_lossy(bytes), unusual: None, damaged: true }
        }
        Err(_) => {
            let (text, damaged) = WINDOWS_1252.decode_without_bom_handling(bytes);
            Decoded { text, unusual: Some(WINDOWS_1252.name()), damaged }
        }
    }
}

/// UTF-16 without a mark: nearly every letter of a statement is ASCII, so nearly every other byte is zero.
fn looks_like_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..bytes.len().min(512) & !1).filter(|start| start.len() >= 8)?;
    let zeros = |parity: usize| start.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let most = start.len() / 2 * 3 / 4;
    match (even >= most, odd >= most) {
        (true, false) => Some(UTF_16BE),
        (false, true) => Some(UTF_16LE),
        _ => None,
    }
}

/// The encoding of `<?xml version="1.0" encoding="ISO-8859-1"?>`.
fn declared_in_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..bytes.len().min(200))?;
    let end = memchr::memmem::find(start, b"?>")?;
    let declaration = std::str::from_utf8(start.get(..end)?).ok()?;
    let value = declaration.trim_start().strip_prefix("<?xml")?.split_once("encoding")?.1;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let label = value.get(1..)?.split(quote).next()?;
    // A text that is being read byte by byte cannot be UTF-16, whatever it declares.
    Encoding::for_label(label.as_bytes()).filter(|found| *found != UTF_16LE && *found != UTF_16BE)
}

/// A text on one line: runs of white space and control characters become one space, the ends are trimmed, and what is
/// beyond [`limits::TEXT_BYTES`] is cut at a letter.
pub(crate) fn one_line(text: &str) -> Box<str> {
    let text = text.trim();
    let tidy = text.len() <= limits::TEXT_BYTES
        && text.bytes().zip(text.bytes().skip(1)).all(|pair| pair != (b' ', b' '))
        && text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    if tidy {
        return text.into();
    }
    let mut line = String::with_capacity(text.len().min(limits::TEXT_BYTES));
    push_one_line(&mut line, text);
    line.into()
}

/// Adds a text to a line, with one space between.
pub(crate) fn push_one_line(line: &mut String, text: &str) {
    for word in text.split(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}') {
        if word.is_empty() {
            continue;
        }
        let space = usize::from(!line.is_empty());
        let room = limits::TEXT_BYTES.saturating_sub(line.len() + space);
        let end = (0..=word.len().min(room)).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
        let Some(part) = word.get(..end).filter(|part| !part.is_empty()) else { return };
        if space == 1 {
            line.push(' ');
        }
        line.push_str(part);
    }
}

/// A text on one line, or nothing if nothing is left of it.
pub(crate) fn some_line(text: &str) -> Option<Box<str>> {
    let line = one_line(text);
    (!line.is_empty()).then_some(line)
}

/// An IBAN without spaces, in capitals, if this is one: country, check digits and their rule are checked.
pub(crate) fn iban(text: &str) -> Option<Box<str>> {
    if text.len() > 64 {
        return None;
    }
    let compact: String =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_uppercase()).collect();
    let bytes = compact.as_bytes();
    let shape = (15..=34).contains(&bytes.len())
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes.iter().take(2).all(u8::is_ascii_alphabetic)
        && bytes.iter().skip(2).take(2).all(u8::is_ascii_digit);
    if !shape {
        return None;
    }
    let rest = bytes.iter().skip(4).chain(bytes.iter().take(4)).fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        letter => (rest * 100 + u32::from(letter - b'A') + 10) % 97,
    });
    (rest == 1).then(|| compact.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
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
            assert_eq!((&*decoded.text, decoded.damaged), (text, false), "{:?}", decoded.unusual);
        }
        assert_eq!(decode(&utf16(false, false)).unusual, Some("UTF-16LE"));
        assert_eq!(decode(&utf16(false, true)).text, text);
    }

    #[test]
    fn xml_says_its_encoding() {
        let bytes = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>";
        assert!(decode(bytes).text.ends_with("<a>ü</a>"));
        assert_eq!(decode(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unusual, None);
    }

    #[test]
    fn texts_are_one_line_and_not_endless() {
        assert_eq!(&*one_line("  a \t\r\n b\u{a0}\u{7}c "), "a b c");
        assert_eq!(&*one_line("plain text"), "plain text");
        assert_eq!(one_line(&"é".repeat(5000)).len(), limits::TEXT_BYTES);
        assert_eq!(some_line(" \n "), None);
    }

    #[test]
    fn ibans_are_checked() {
        assert_eq!(iban("de89 3704 0044 0532 0130 00").as_deref(), Some("DE89370400440532013000"));
        assert_eq!(iban("GB82WEST12345698765432").as_deref(), Some("GB82WEST12345698765432"));
        assert_eq!(iban("DE88370400440532013000"), None);
        assert_eq!(iban("Überweisung"), None);
    }
}
