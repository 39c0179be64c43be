//! A streaming JSON writer. A large answer is written as text once, instead of built as a tree that is copied
//! and walked for each use.

use serde::Serialize;
use serde_json::Value;

/// A JSON value as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The value as a tree.
    pub fn parse(&self) -> Value {
        // The text is valid JSON, so this cannot fail.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> JsonText {
        JsonText(value.to_string())
    }
}

impl From<JsonObjectWriter> for JsonText {
    fn from(object: JsonObjectWriter) -> JsonText {
        let JsonObjectWriter(mut text) = object;
        text.push(b'}');
        // Names are ASCII and values come from serde_json, so the text is UTF-8.
        JsonText(String::from_utf8(text).unwrap_or_default())
    }
}

/// Writes an object. Fields keep the order in which they are put; the caller puts each name once.
#[derive(Clone, Debug)]
pub struct JsonObjectWriter(Vec<u8>);

impl Default for JsonObjectWriter {
    fn default() -> JsonObjectWriter {
        JsonObjectWriter::with_capacity(0)
    }
}

impl JsonObjectWriter {
    /// A writer with capacity for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> JsonObjectWriter {
        let mut text = Vec::with_capacity(bytes + 2);
        text.push(b'{');
        JsonObjectWriter(text)
    }

    /// Adds a field. A value that JSON cannot express, such as NaN, becomes null.
    pub fn put(&mut self, name: &'static str, value: impl Serialize) {
        self.write_key(name);
        let before = self.0.len();
        if serde_json::to_writer(&mut self.0, &value).is_err() {
            self.0.truncate(before);
            self.0.extend_from_slice(b"null");
        }
    }

    /// Adds a string field.
    pub fn put_str(&mut self, name: &'static str, text: &str) {
        self.write_key(name);
        write_json_string(&mut self.0, text);
    }

    /// Adds an array with one object per item.
    pub fn put_array<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut JsonObjectWriter, T),
    ) {
        self.put_array_with(name, |list| {
            items.into_iter().for_each(|item| list.push(|object| write(object, item)));
        });
    }

    /// Adds an array of the objects that `fill` pushes.
    pub fn put_array_with<T>(
        &mut self,
        name: &'static str,
        fill: impl FnOnce(&mut JsonArrayWriter<'_>) -> T,
    ) -> T {
        self.write_key(name);
        self.0.push(b'[');
        let mut list = JsonArrayWriter { object: self, is_empty: true };
        let result = fill(&mut list);
        self.0.push(b']');
        result
    }

    fn write_key(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        // The first field follows the opening brace. No value ends with an opening brace.
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

/// Writes a JSON string, with quotation marks and escapes. Large contents pass here twice: as a value, and
/// again when a reply embeds the document as a string. So this checks eight bytes at a time: few bytes need
/// an escape.
pub fn write_json_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(word) = rest.first_chunk::<8>() {
        out.extend_from_slice(word);
        let clean_len = clean_prefix_len(*word);
        if clean_len == word.len() {
            rest = &rest[clean_len..];
        } else {
            out.truncate(out.len() - (word.len() - clean_len));
            write_escaped(out, word[clean_len]);
            rest = &rest[clean_len + 1..];
        }
    }
    for byte in rest {
        if needs_escape(*byte) { write_escaped(out, *byte) } else { out.push(*byte) }
    }
    out.push(b'"');
}

/// Whether JSON requires an escape for a byte.
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The number of bytes before the first that [needs an escape](needs_escape).
fn clean_prefix_len(word: [u8; 8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    let word = u64::from_le_bytes(word);
    // Sets the highest bit of each byte that is less than `bound` (at most 0x80). It may also set the bit of
    // bytes after the first such byte, but never of bytes before it.
    let less_than = |word: u64, bound: u64| word.wrapping_sub(bound * ONES) & !word & HIGHS;
    let equals = |byte: u8| less_than(word ^ (u64::from(byte) * ONES), 1);
    let escaped = less_than(word, 0x20) | equals(b'"') | equals(b'\\');
    (escaped.trailing_zeros() / 8) as usize
}

fn write_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let escape = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            out.extend_from_slice(br"\u00");
            out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', escape]);
}

/// Writes an array of objects into the object that contains it.
#[derive(Debug)]
pub struct JsonArrayWriter<'o> {
    /// The containing object. Elements are written straight into its text.
    object: &'o mut JsonObjectWriter,
    is_empty: bool,
}

impl JsonArrayWriter<'_> {
    /// Adds an object with the fields that `write` puts.
    pub fn push(&mut self, write: impl FnOnce(&mut JsonObjectWriter)) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.object.0.push(b',');
        }
        self.object.0.push(b'{');
        write(self.object);
        self.object.0.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_writer_keeps_field_order() {
        let mut outer = JsonObjectWriter::with_capacity(100);
        outer.put_array("none", [0; 0], |_, _| {});
        let result = outer.put_array_with("some", |list| {
            list.push(|inner| {
                inner.put("text", "a \"b\"\n\u{1f600}{");
                inner.put("share", 0.95);
                inner.put_array("deeper", [1, 2], |deepest, number| deepest.put("number", number));
            });
            list.push(|_| {});
            "as it ends"
        });
        assert_eq!(result, "as it ends");
        outer.put("lost", f64::NAN);
        outer.put("missing", None::<i64>);
        let json = JsonText::from(outer);
        let expect = json!({
            "none": [],
            "some": [
                {"text": "a \"b\"\n\u{1f600}{", "share": 0.95, "deeper": [{"number": 1}, {"number": 2}]},
                {},
            ],
            "lost": null,
            "missing": null,
        });
        assert_eq!(json.as_str(), expect.to_string());
        assert_eq!(json, JsonText::from(expect.clone()));
        assert_eq!(json.parse(), expect);
        assert_eq!(JsonText::from(JsonObjectWriter::default()).as_str(), "{}");
    }

    #[test]
    fn string_escaping_matches_serde_json() {
        let check = |text: &str| {
            let mut written = b"before".to_vec();
            write_json_string(&mut written, text);
            let expect = format!("before{}", serde_json::to_string(text).unwrap());
            assert_eq!(String::from_utf8(written).unwrap(), expect);
        };
        // Every ASCII byte at every position of a word and of the rest after the last word, alone and next to
        // others.
        for byte in 0..0x80_u8 {
            for index in 0..20 {
                let mut text = vec![b'a'; 20];
                text[index] = byte;
                check(std::str::from_utf8(&text).unwrap());
                check(&format!("{}\"{}", &"é\u{1f600}\u{7f}"[..6 + index % 2], byte as char));
                check(std::str::from_utf8(&vec![byte; index]).unwrap());
            }
        }
        let mut seed = 1_u64;
        for length in 0..2_000 {
            let mut text = String::new();
            while text.len() < length % 100 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let candidates = [
                    '"',
                    '\\',
                    '\n',
                    '\u{1}',
                    '\u{1f}',
                    ' ',
                    '!',
                    '#',
                    '[',
                    ']',
                    'z',
                    '\u{a2}',
                    '\u{22ff}',
                    '\u{1d15c}',
                ];
                text.push(candidates[(seed >> 33) as usize % candidates.len()]);
            }
            check(&text);
        }
    }
}
