//! Runes shown at work, compared with the original where it answers.

use quad_runes::catalogue::Catalogue;
use quad_runes::inspect::{config, inspect, splice};
use serde_json::Value;

use crate::oracle;

/// Cases in which the original changes the wrong bytes, none, or writes what cannot be read back.
const ORIGINAL_IS_WRONG: [&str; 7] = [
    "number-not-replaced",
    "boolean-not-replaced",
    "prefix-name-clash",
    "substring-attribute",
    "percent-in-attrs",
    "quote-in-value",
    "dollar-in-value",
];

#[test]
fn attributes_are_written_into_the_tag_as_the_original_writes_them() {
    let Some(folder) = oracle::folder() else { return };
    let text = std::fs::read_to_string(folder.join("overrides.jsonl")).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        let values = case["attributes"].as_object().unwrap().clone().into_iter().collect();
        let ours = splice(case["source"].as_str().unwrap(), case["rune"].as_str().unwrap(), &values);
        let agrees = ours == case["result"];
        assert_eq!(agrees, !ORIGINAL_IS_WRONG.contains(&id), "{id}: {ours}");
        compared += 1;
    }
    assert!(compared > ORIGINAL_IS_WRONG.len());
}

#[test]
fn configurations_are_those_of_the_original() {
    let Some(folder) = oracle::folder() else { return };
    let catalogue = Catalogue::official();
    let mut compared = 0;
    for rune in catalogue.runes() {
        let path = format!("golden/single__rune_{}.json", rune.name);
        if !folder.join(&path).is_file() {
            continue;
        }
        let recorded = oracle::json(&folder, &path);
        let Some(text) = recorded["response"]["result"]["contents"][0]["text"].as_str() else { continue };
        let theirs: Value = serde_json::from_str(text).unwrap();
        // For a plugin's runes the original has no answer.
        let Some(theirs) = theirs["config"].as_object() else { continue };
        let ours = config(&catalogue, rune);
        for (key, value) in theirs {
            assert_eq!(&ours[key], value, "{}: {key}", rune.name);
        }
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn every_rune_is_shown_or_says_why_not() {
    let catalogue = Catalogue::official();
    let mut refused = Vec::new();
    for rune in catalogue.runes() {
        match inspect(&catalogue, &rune.name, &[]) {
            Ok(shown) => {
                let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!(keys, ["rune", "theme", "input", "config", "html", "selectors"]);
                assert!(shown["config"].is_object(), "{}", rune.name);
                assert!(shown["html"].as_str().unwrap().starts_with("<article>"), "{}", rune.name);
            }
            Err(error) => {
                assert!(!error.hint().is_empty());
                refused.push(rune.name.as_str());
            }
        }
    }
    refused.retain(|name| !["error", "snippet", "data"].contains(name));
    assert!(refused.is_empty(), "only runes that need a site are refused: {refused:?}");
}
