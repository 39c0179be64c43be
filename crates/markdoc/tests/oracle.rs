//! The differential test: every tree must be the one that the original makes.
//!
//! The cases lie beside the repository; where they are absent, the test says so and passes. The repository's own cases are in
//! `corpus.rs`.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

/// Cases in which this parser does otherwise on purpose, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[];

#[test]
fn agrees_with_the_original() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/refrakt/markdoc");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no cases at {}", folder.display());
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
            let ours = comparable(serde_json::to_value(&document.root).unwrap());
            let theirs = comparable(case["ast"].clone());
            let is_known = DIFFERENT.iter().any(|(known, _)| *known == id);
            count += 1;
            match (ours == theirs, is_known) {
                (true, true) => failures.push(format!("{id}: listed as different, but is not")),
                (false, false) => failures.push(format!("{id}: {input:?}\n  ours   {ours}\n  theirs {theirs}")),
                _ => {}
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no cases in {}", folder.display());
}

/// A tree with errors reduced to what is compared: their ids and levels.
fn comparable(mut node: Value) -> Value {
    for error in node["errors"].as_array_mut().unwrap() {
        let error = error.as_object_mut().unwrap();
        error.retain(|key, _| key == "id" || key == "level");
    }
    for child in node["children"].as_array_mut().unwrap() {
        *child = comparable(child.take());
    }
    node
}
