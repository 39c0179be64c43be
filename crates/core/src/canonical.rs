//! Canonical JSON: compact, keys sorted at every depth. What the audit chain hashes.

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value};

/// Writes `value` compactly with its keys sorted recursively.
pub fn to_string(value: &Value) -> String {
    // A JSON value has text keys and finite numbers, so writing it cannot fail.
    serde_json::to_string(&SortedValue(value)).unwrap_or_default()
}

/// A value that is written with its keys sorted at every depth.
#[derive(Clone, Copy, Debug)]
pub struct SortedValue<'a>(pub &'a Value);

/// An object that is written with its keys sorted at every depth.
#[derive(Clone, Copy, Debug)]
pub struct SortedMap<'a>(pub &'a Map<String, Value>);

impl Serialize for SortedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => SortedMap(map).serialize(serializer),
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&SortedValue(item))?;
                }
                list.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

impl Serialize for SortedMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(&String, &Value)> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (key, value) in entries {
            map.serialize_entry(key, &SortedValue(value))?;
        }
        map.end()
    }
}

/// The lower-case hexadecimal SHA-256 of a value's canonical form.
pub fn sha256_hex_of(value: &Value) -> String {
    sha256_hex(to_string(value).as_bytes())
}

/// The lower-case hexadecimal SHA-256 of some bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    // Sixteen ASCII characters are all that it can hold.
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sorts_keys_at_every_depth() {
        let value = json!({"b": {"z": 1, "a": [{"y": null, "x": "é\n"}]}, "a": 1.5});
        assert_eq!(to_string(&value), r#"{"a":1.5,"b":{"a":[{"x":"é\n","y":null}],"z":1}}"#);
    }
}
