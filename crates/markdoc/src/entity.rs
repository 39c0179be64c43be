//! Character references (`&amp;`, `&#65;`, `&#x41;`) and backslash escapes. The names are the list of the HTML
//! standard.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Every named reference of HTML that ends with a semicolon: the name, then its code points in hexadecimal; sorted by
/// name.
static NAMES: &str = include_str!("entities.txt");

/// Longest name between `&` and `;`.
const NAME_BYTES_MAX: usize = 32;

/// Decodes a reference at the start of `text`. Returns its characters and its length.
pub(crate) fn decode_entity(text: &str) -> Option<(String, usize)> {
    let body = text.strip_prefix('&')?;
    if let Some(number) = body.strip_prefix('#') {
        let (digits, radix, marker) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 3),
            None => (number, 10, 2),
        };
        let length_max = if radix == 16 { 6 } else { 7 };
        let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
        if length == 0 || length > length_max || digits.as_bytes().get(length) != Some(&b';') {
            return None;
        }
        let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
        let c = char_from_code(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Some((c.to_string(), marker + length + 1));
    }
    let length = body.bytes().take(NAME_BYTES_MAX + 1).take_while(u8::is_ascii_alphanumeric).count();
    let is_name = (2..=NAME_BYTES_MAX).contains(&length) && body.as_bytes()[0].is_ascii_alphabetic();
    if !is_name || body.as_bytes().get(length) != Some(&b';') {
        return None;
    }
    Some((decode_named_entity(body.get(..length)?)?, length + 2))
}

/// The text of a link destination or title, with escapes and references decoded.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '&']) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut result = String::with_capacity(text.len());
    let (mut pos, mut copied) = (0, 0);
    while pos < bytes.len() {
        let (replacement, length): (Cow<'_, str>, usize) = match bytes[pos] {
            b'\\' if bytes.get(pos + 1).is_some_and(u8::is_ascii_punctuation) => {
                (Cow::Borrowed(text.get(pos + 1..pos + 2).unwrap_or("")), 2)
            }
            b'&' => match decode_entity_lenient(text.get(pos..).unwrap_or("")) {
                Some((replacement, length)) => (Cow::Owned(replacement), length),
                None => {
                    pos += 1;
                    continue;
                }
            },
            _ => {
                pos += 1;
                continue;
            }
        };
        result.push_str(text.get(copied..pos).unwrap_or(""));
        result.push_str(&replacement);
        pos += length;
        copied = pos;
    }
    result.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(result)
}

/// A reference in a destination or a title. Here the npm package is more lenient: other letters may follow the digits,
/// and numbers that are not a character stay as written.
fn decode_entity_lenient(text: &str) -> Option<(String, usize)> {
    let body = text.strip_prefix('&')?;
    let first = *body.as_bytes().first()?;
    if !(first.is_ascii_alphabetic() || first == b'#') {
        return None;
    }
    let rest = body.bytes().skip(1).take(NAME_BYTES_MAX).take_while(u8::is_ascii_alphanumeric).count();
    let length = rest + 1;
    if !(2..=NAME_BYTES_MAX).contains(&length) || body.as_bytes().get(length) != Some(&b';') {
        return None;
    }
    let name = body.get(..length)?;
    let replacement = match name.strip_prefix('#') {
        None => decode_named_entity(name)?,
        Some(number) => {
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            let mut code = digits.chars().map_while(|c| c.to_digit(radix)).peekable();
            code.peek()?;
            let code = code.fold(0_u32, |code, digit| code.saturating_mul(radix).saturating_add(digit));
            char_from_code(code)?.to_string()
        }
    };
    Some((replacement, length + 2))
}

/// The character with this number; `None` if there is none or it is not allowed in a document.
fn char_from_code(code: u32) -> Option<char> {
    let is_noncharacter = (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE;
    let is_control = matches!(code, 0..=8 | 0x0B | 0x0E..=0x1F | 0x7F..=0x9F);
    if is_noncharacter || is_control { None } else { char::from_u32(code) }
}

fn decode_named_entity(name: &str) -> Option<String> {
    static INDEX: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    let index = INDEX.get_or_init(|| NAMES.lines().filter_map(|line| line.split_once(' ')).collect());
    let position = index.binary_search_by(|(candidate, _)| (*candidate).cmp(name)).ok()?;
    let (_, codes) = index.get(position)?;
    Some(codes.split(' ').filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_entity_decodes() {
        let mut count = 0;
        for line in NAMES.lines() {
            let (name, codes) = line.split_once(' ').unwrap();
            assert_eq!(
                decode_named_entity(name).map(|text| text.chars().count()),
                Some(codes.split(' ').count()),
                "{name}"
            );
            count += 1;
        }
        assert_eq!(count, 2125, "the number of names that HTML has with a semicolon");
        assert_eq!(decode_named_entity("nosuchname"), None);
    }

    #[test]
    fn decode_entity_in_text() {
        let decode = decode_entity;
        assert_eq!(decode("&amp; x"), Some(("&".to_owned(), 5)));
        assert_eq!(decode("&#65;"), Some(("A".to_owned(), 5)));
        assert_eq!(decode("&#X41;"), Some(("A".to_owned(), 6)));
        assert_eq!(decode("&#0;"), Some(("\u{FFFD}".to_owned(), 4)));
        assert_eq!(decode("&#12345678;"), None);
        assert_eq!(decode("&bogus;"), None);
        assert_eq!(decode("&amp"), None);
    }

    #[test]
    fn unescape_accepts_lenient_numeric_entities() {
        assert_eq!(unescape(r"a\*b\c&amp;&#65;&#0;&#66x;&no;"), r"a*b\c&A&#0;B&no;");
    }
}
