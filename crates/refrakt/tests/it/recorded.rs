//! The original's recorded answers. They lie beside the repository and are no part of it: where they are absent, the test
//! says so and passes.

use std::path::PathBuf;

use serde_json::Value;

/// The folder of recorded answers, if it is there.
pub fn recorded_dir() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/refrakt");
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("skipped: the original's recorded answers are not at {}", root.display());
    None
}

/// One recorded answer.
pub fn recorded_json(folder: &std::path::Path, path: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where two values differ first, as a path and the two sides.
pub fn first_difference(actual: &Value, expected: &Value) -> Option<String> {
    fn compare(path: &str, actual: &Value, expected: &Value) -> Option<String> {
        match (actual, expected) {
            (Value::Object(a), Value::Object(b)) => {
                if let Some(key) = b.keys().find(|key| !a.contains_key(*key)) {
                    return Some(format!("{path}.{key}: ours has none, theirs is {}", b[key]));
                }
                if let Some(key) = a.keys().find(|key| !b.contains_key(*key)) {
                    return Some(format!("{path}.{key}: theirs has none, ours is {}", a[key]));
                }
                a.iter().find_map(|(key, value)| compare(&format!("{path}.{key}"), value, &b[key]))
            }
            (Value::Array(a), Value::Array(b)) => {
                let pairs = a.iter().zip(b).enumerate();
                let inner = pairs
                    .map(|(index, (x, y))| compare(&format!("{path}[{index}]"), x, y))
                    .find_map(|difference| difference);
                let lengths =
                    (a.len() != b.len()).then(|| format!("{path}: {} items, theirs {}", a.len(), b.len()));
                inner.or(lengths)
            }
            _ => (actual != expected).then(|| format!("{path}: ours {actual}, theirs {expected}")),
        }
    }
    compare("", actual, expected)
}
