//! Percent-encoding and decoding.
//!
//! Decoding reports the offset of an error in the caller's string. Encoding has one result per
//! value, so canonical forms can be compared byte by byte.

use std::borrow::Cow;

use crate::error::AddressError;

/// Decodes `raw`, which begins at byte `base` of the URI. Decodes once: `%252F` becomes `%2F`.
pub(crate) fn decode(raw: &str, base: usize) -> Result<Cow<'_, str>, AddressError> {
    if !raw.contains('%') {
        return Ok(Cow::Borrowed(raw));
    }
    let bytes = raw.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        if byte == b'%' {
            match (hex_digit(bytes.get(index + 1)), hex_digit(bytes.get(index + 2))) {
                (Some(high), Some(low)) => decoded.push(high << 4 | low),
                _ => return Err(AddressError::BadEscape { offset: base + index }),
            }
            index += 3;
        } else {
            decoded.push(byte);
            index += 1;
        }
    }
    let text = String::from_utf8(decoded).map_err(|error| AddressError::NotUtf8 {
        offset: base + raw_offset(bytes, error.utf8_error().valid_up_to()),
    })?;
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((position, _)) => {
            Err(AddressError::ControlCharacter { offset: base + raw_offset(bytes, position) })
        }
        None => Ok(Cow::Owned(text)),
    }
}

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    match byte? {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
        digit @ b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// The offset in `raw` of the decoded byte `decoded_offset`. The escapes in `raw` must be valid.
fn raw_offset(raw: &[u8], decoded_offset: usize) -> usize {
    let mut index = 0;
    for _ in 0..decoded_offset {
        index += if raw.get(index) == Some(&b'%') { 3 } else { 1 };
    }
    index
}

/// Appends `value` as RFC 6570 expands `{x}` and `{?x}`: escapes all but unreserved characters.
pub(crate) fn encode_simple(value: &str, out: &mut String) {
    encode(value, out, "-._~");
}

/// Appends `value` as RFC 6570 expands `{+x}`: reserved characters stay, except `?`, `#`, `[`, `]`
/// and `@`, which would end the path or look like a user name. The RFC also keeps escapes in the
/// value; values here are decoded, so a `%` is a percent sign and is escaped.
pub(crate) fn encode_tail(value: &str, out: &mut String) {
    encode(value, out, "-._~/:!$&'()*+,;=");
}

fn encode(value: &str, out: &mut String, unescaped: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || unescaped.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_runs_once_and_reports_error_offset() {
        let check = |raw: &str, expect: Result<&str, AddressError>| {
            assert_eq!(decode(raw, 10), expect.map(Cow::Borrowed), "{raw}");
        };
        check("plain é", Ok("plain é"));
        check("a%2fb%2Fc", Ok("a/b/c"));
        check("%252F", Ok("%2F"));
        check("%C3%A9", Ok("é"));
        check("ab%", Err(AddressError::BadEscape { offset: 12 }));
        check("ab%4", Err(AddressError::BadEscape { offset: 12 }));
        check("%20%g0", Err(AddressError::BadEscape { offset: 13 }));
        check("%+1", Err(AddressError::BadEscape { offset: 10 }));
        check("%20a%ff", Err(AddressError::NotUtf8 { offset: 14 }));
        check("%C3/", Err(AddressError::NotUtf8 { offset: 10 }));
        check("%20%00", Err(AddressError::ControlCharacter { offset: 13 }));
        check("a%C2%85", Err(AddressError::ControlCharacter { offset: 11 }));
    }

    #[test]
    fn encoding_escapes_separators() {
        let mut simple = String::new();
        encode_simple("a/b c%é~+", &mut simple);
        assert_eq!(simple, "a%2Fb%20c%25%C3%A9~%2B");
        let mut tail = String::new();
        encode_tail("a/b:c?d#e@f%", &mut tail);
        assert_eq!(tail, "a/b:c%3Fd%23e%40f%25");
    }
}
