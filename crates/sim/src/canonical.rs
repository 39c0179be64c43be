//! Canonical JSON and SHA-256, written anew: what checks must not be the code that is checked.

use serde_json::Value;

/// A value, compact and with its keys sorted at every depth.
pub fn to_string(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let entry = |key: &String| format!("{}:{}", Value::from(key.as_str()), to_string(&map[key]));
            format!("{{{}}}", keys.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(to_string).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_and_text_is_escaped() {
        let value = json!({"b": [{"z": 1, "a": "\"\n"}], "a": null});
        assert_eq!(to_string(&value), r#"{"a":null,"b":[{"a":"\"\n","z":1}]}"#);
        assert_eq!(&sha256_hex(b"")[..8], "e3b0c442");
    }
}
