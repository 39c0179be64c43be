//! Canonical JSON and SHA-256, implemented independently of the code under test.

use serde_json::Value;

/// Compact JSON with keys sorted at every depth.
pub fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let entry = |key: &String| format!("{}:{}", Value::from(key.as_str()), canonical_json(&map[key]));
            format!("{{{}}}", keys.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The SHA-256 of `bytes` in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_sorts_keys_and_escapes_text() {
        let value = json!({"b": [{"z": 1, "a": "\"\n"}], "a": null});
        assert_eq!(canonical_json(&value), r#"{"a":null,"b":[{"a":"\"\n","z":1}]}"#);
        assert_eq!(&sha256_hex(b"")[..8], "e3b0c442");
    }
}
