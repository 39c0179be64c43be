//! The differential test: every tree must be the one that the original makes.
//!
//! The cases lie beside the repository; where they are absent, the test says so and passes. The repository's own
//! cases are in `corpus.rs`.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

/// Cases in which this parser does otherwise on purpose, each with its reason.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[];

#[test]
fn tree_matches_npm_markdoc() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/refrakt/markdoc");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("skipped: no cases at {}", dir.display());
        return;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut count, mut failures) = (0, Vec::new());
    for file in files {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let id = case["id"].as_str().unwrap();
            let input = case["input"].as_str().unwrap();
            let document = quad_markdoc::parse(input).unwrap();
            let actual = normalize_errors(serde_json::to_value(&document.root).unwrap());
            let expected = normalize_errors(case["ast"].clone());
            let is_known = KNOWN_DIFFERENCES.iter().any(|(known_id, _)| *known_id == id);
            count += 1;
            match (actual == expected, is_known) {
                (true, true) => failures.push(format!("{id}: listed as different, but is not")),
                (false, false) => {
                    failures.push(format!("{id}: {input:?}\n  ours   {actual}\n  theirs {expected}"))
                }
                _ => {}
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no cases in {}", dir.display());
}

/// A tree with errors reduced to what is compared: their ids and levels.
fn normalize_errors(mut node: Value) -> Value {
    for error in node["errors"].as_array_mut().unwrap() {
        let error = error.as_object_mut().unwrap();
        error.retain(|key, _| key == "id" || key == "level");
    }
    for child in node["children"].as_array_mut().unwrap() {
        *child = normalize_errors(child.take());
    }
    node
}
