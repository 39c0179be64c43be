//! JSON that is written as it is made. A large answer is put together as text once, instead of as a tree that is built, copied and
//! walked through for each place it goes to.

use serde::Serialize;
use serde_json::Value;

/// One JSON value, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself.
    pub fn into_text(self) -> String {
        self.0
    }

    /// The value as a tree, for those who look into it.
    pub fn value(&self) -> Value {
        // What was written can be read.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json(value.to_string())
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Json {
        let Object(mut text) = object;
        text.push(b'}');
        // Names, and what serde_json has written.
        Json(String::from_utf8(text).unwrap_or_default())
    }
}

/// An object in the making. Its fields stand in the order in which they come; whoever makes it names each once.
#[derive(Clone, Debug)]
pub struct Object(Vec<u8>);

impl Default for Object {
    fn default() -> Object {
        Object::with_capacity(0)
    }
}

impl Object {
    /// An object with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Object {
        let mut text = Vec::with_capacity(bytes + 2);
        text.push(b'{');
        Object(text)
    }

    /// Adds a field. What JSON cannot say is null, as a number is that is none.
    pub fn put(&mut self, name: &'static str, value: impl Serialize) {
        self.name(name);
        let before = self.0.len();
        if serde_json::to_writer(&mut self.0, &value).is_err() {
            self.0.truncate(before);
            self.0.extend_from_slice(b"null");
        }
    }

    /// Adds a field that is text.
    pub fn put_text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        write_text(&mut self.0, text);
    }

    /// Adds a list of objects, one of each item.
    pub fn put_each<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Object, T),
    ) {
        self.put_list(name, |list| {
            items.into_iter().for_each(|item| list.push(|object| write(object, item)));
        });
    }

    /// Adds a list of the objects that `fill` pushes.
    pub fn put_list<T>(&mut self, name: &'static str, fill: impl FnOnce(&mut List<'_>) -> T) -> T {
        self.name(name);
        self.0.push(b'[');
        let mut list = List { around: self, is_empty: true };
        let filled = fill(&mut list);
        self.0.push(b']');
        filled
    }

    fn name(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        // Before the first field stands the brace; no value ends with one that opens.
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

/// Writes text as JSON has it, in quotation marks. Large contents pass here once as what they say and once more as what a reply
/// quotes, so eight bytes at a time are looked at: most of them are as they should be.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(word) = rest.first_chunk::<8>() {
        out.extend_from_slice(word);
        let plain = plain_bytes(*word);
        if plain == word.len() {
            rest = &rest[plain..];
        } else {
            out.truncate(out.len() - (word.len() - plain));
            write_escaped(out, word[plain]);
            rest = &rest[plain + 1..];
        }
    }
    for byte in rest {
        if is_special(*byte) { write_escaped(out, *byte) } else { out.push(*byte) }
    }
    out.push(b'"');
}

/// What JSON does not let stand as it is.
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// How many of these bytes there are before the first that is [special](is_special).
fn plain_bytes(word: [u8; 8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    let word = u64::from_le_bytes(word);
    // The highest bit of each byte that is less than `bound`, at most 0x80, and perhaps of some above it, but of none below the first.
    let less_than = |word: u64, bound: u64| word.wrapping_sub(bound * ONES) & !word & HIGHS;
    let is = |byte: u8| less_than(word ^ (u64::from(byte) * ONES), 1);
    let special = less_than(word, 0x20) | is(b'"') | is(b'\\');
    (special.trailing_zeros() / 8) as usize
}

fn write_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
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
    out.extend_from_slice(&[b'\\', short]);
}

/// A list of objects in the making, inside another that waits for its end.
#[derive(Debug)]
pub struct List<'o> {
    /// Whose text an object of the list goes on with: nothing is written twice.
    around: &'o mut Object,
    is_empty: bool,
}

impl List<'_> {
    /// Adds an object with the fields that `write` puts.
    pub fn push(&mut self, write: impl FnOnce(&mut Object)) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.around.0.push(b',');
        }
        self.around.0.push(b'{');
        write(self.around);
        self.around.0.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_what_its_fields_say_in_their_order() {
        let mut outer = Object::with_capacity(100);
        outer.put_each("none", [0; 0], |_, _| {});
        let ends = outer.put_list("some", |list| {
            list.push(|inner| {
                inner.put("text", "a \"b\"\n\u{1f600}{");
                inner.put("share", 0.95);
                inner.put_each("deeper", [1, 2], |deepest, number| deepest.put("number", number));
            });
            list.push(|_| {});
            "as it ends"
        });
        assert_eq!(ends, "as it ends");
        outer.put("lost", f64::NAN);
        outer.put("missing", None::<i64>);
        let written = Json::from(outer);
        let expect = json!({
            "none": [],
            "some": [
                {"text": "a \"b\"\n\u{1f600}{", "share": 0.95, "deeper": [{"number": 1}, {"number": 2}]},
                {},
            ],
            "lost": null,
            "missing": null,
        });
        assert_eq!(written.as_str(), expect.to_string());
        assert_eq!(written, Json::from(expect.clone()));
        assert_eq!(written.value(), expect);
        assert_eq!(Json::from(Object::default()).as_str(), "{}");
    }

    #[test]
    fn text_is_written_as_serde_json_writes_it() {
        let check = |text: &str| {
            let mut written = b"before".to_vec();
            write_text(&mut written, text);
            let expect = format!("before{}", serde_json::to_string(text).unwrap());
            assert_eq!(String::from_utf8(written).unwrap(), expect);
        };
        // Every byte of ASCII at every place of a word and of what is left after the last, alone and beside others.
        for byte in 0..0x80_u8 {
            for place in 0..20 {
                let mut text = vec![b'a'; 20];
                text[place] = byte;
                check(std::str::from_utf8(&text).unwrap());
                check(&format!("{}\"{}", &"é\u{1f600}\u{7f}"[..6 + place % 2], byte as char));
                check(std::str::from_utf8(&vec![byte; place]).unwrap());
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
