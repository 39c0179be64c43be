//! Recorded output of the npm packages, shared by the parity tests of `markdoc`, `runes` and `refrakt`.
//!
//! Each crate keeps its cases in `tests/recorded`; a test fails when they are missing. The full corpus, which also holds
//! upstream's own examples, lies beside the repository on some machines only: tests over those examples print that they
//! are skipped where it is absent.
#![allow(dead_code)] // Each crate uses a part of this file.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Ids with this part are upstream's own examples. They are not in the repository.
const UPSTREAM_EXAMPLE: &str = "/fixture";

/// Set to any value, the refresh tests write the files again.
const REFRESH_VARIABLE: &str = "QUAD_TEST_REFRESH_RECORDED";

/// The folder of the crate's own cases.
pub fn recorded_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// The cases of a compressed file: one JSON object a line.
pub fn recorded_cases(file: &str) -> Vec<Value> {
    read_compressed(file).lines().map(parse_line).collect()
}

/// The text of a compressed file.
pub fn read_compressed(file: &str) -> String {
    let path = recorded_dir().join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(lz4_flex::decompress_size_prepended(&bytes).unwrap()).unwrap()
}

/// The full corpus, if it is there.
pub fn corpus_dir() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/refrakt");
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: upstream's own examples are not at {}", dir.display());
    None
}

/// The cases of all files of some folders of the corpus: one JSON object a line.
pub fn corpus_lines(corpus: &Path, folders: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(corpus.join(folder)).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            lines.extend(std::fs::read_to_string(file).unwrap().lines().map(str::to_owned));
        }
    }
    lines
}

/// Whether a line of the corpus is one of upstream's own examples.
pub fn is_upstream_example(line: &str) -> bool {
    parse_line(line)["id"].as_str().unwrap().contains(UPSTREAM_EXAMPLE)
}

/// The full corpus, if the environment asks for the files to be written again.
pub fn refresh_source() -> Option<PathBuf> {
    std::env::var_os(REFRESH_VARIABLE)?;
    Some(corpus_dir().unwrap_or_else(|| panic!("{REFRESH_VARIABLE} needs the corpus")))
}

/// Writes lines as a compressed file.
pub fn write_lines(file: &str, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(recorded_dir().join(file), lz4_flex::compress_prepend_size(text.as_bytes())).unwrap();
}

/// The JSON value of one file.
pub fn read_json(dir: &Path, path: &str) -> Value {
    let text = std::fs::read_to_string(dir.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The JSON value of a line.
pub fn parse_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// The first difference between two values: its path and the two sides.
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
