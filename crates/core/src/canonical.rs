//! Canonical JSON: compact, with keys sorted at every depth. The audit chain hashes this form.

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value};

/// The canonical form of `value`.
pub fn to_string(value: &Value) -> String {
    // A JSON value has string keys and finite numbers, so this cannot fail.
    serde_json::to_string(&SortedValue(value)).unwrap_or_default()
}

/// Serializes a value with its keys sorted at every depth.
#[derive(Clone, Copy, Debug)]
pub struct SortedValue<'a>(pub &'a Value);

/// Serializes an object with its keys sorted at every depth.
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

/// The SHA-256 of a value's canonical form, in lower-case hexadecimal.
pub fn sha256_hex_of(value: &Value) -> String {
    sha256_hex(to_string(value).as_bytes())
}

/// The SHA-256 of bytes, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    // The digits are ASCII, so this cannot fail.
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
