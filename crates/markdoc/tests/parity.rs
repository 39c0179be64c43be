//! Parity with npm: every tree must equal the recorded one of `@markdoc/markdoc`.
//!
//! Where the cases come from: `recorded/README.md`. Hand-written cases are in `corpus.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;

mod recorded;

/// File of the cases.
const TREES: &str = "trees.jsonl.lz4";

/// Cases in which this parser differs on purpose, each with its reason.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[];

#[test]
fn tree_matches_npm_markdoc() {
    let cases = recorded::recorded_cases(TREES);
    assert!(cases.len() > 200, "{} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let input = case["input"].as_str().unwrap();
        let document = quad_markdoc::parse(input).unwrap();
        let actual = normalize_errors(serde_json::to_value(&document.root).unwrap());
        let expected = normalize_errors(case["ast"].clone());
        let is_known = KNOWN_DIFFERENCES.iter().any(|(known_id, _)| *known_id == id);
        match (actual == expected, is_known) {
            (true, true) => failures.push(format!("{id}: listed as different, but is not")),
            (false, false) => {
                failures.push(format!("{id}: {input:?}\n  ours   {actual}\n  theirs {expected}"))
            }
            _ => {}
        }
    }
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn refresh_recorded_trees() {
    let Some(corpus) = recorded::refresh_source() else { return };
    let mut lines = recorded::corpus_lines(&corpus, &["markdoc"]);
    lines.retain(|line| !recorded::is_upstream_example(line));
    recorded::write_lines(TREES, &lines);
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
