//! `inspect`, compared with npm where npm answers.

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::RenderError;
use quad_runes::inspect::{AttributeEditor, InspectError, engine_config_json, inspect};
use serde_json::Value;

use crate::recorded;

/// Cases in which npm changes the wrong bytes, changes nothing, or writes what it cannot parse.
const NPM_IS_WRONG: [&str; 7] = [
    "number-not-replaced",
    "boolean-not-replaced",
    "prefix-name-clash",
    "substring-attribute",
    "percent-in-attrs",
    "quote-in-value",
    "dollar-in-value",
];

#[test]
fn set_attributes_matches_npm() {
    let text = std::fs::read_to_string(recorded::recorded_dir().join("overrides.jsonl")).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        let values = case["attributes"].as_object().unwrap().clone().into_iter().collect();
        let editor = AttributeEditor::new(case["source"].as_str().unwrap());
        let actual = editor.set_attributes(case["rune"].as_str().unwrap(), &values);
        let agrees = actual == case["result"];
        assert_eq!(agrees, !NPM_IS_WRONG.contains(&id), "{id}: {actual}");
        compared += 1;
    }
    assert!(compared > NPM_IS_WRONG.len());
}

#[test]
fn engine_config_matches_npm() {
    let Some(dir) = recorded::corpus_dir() else { return };
    let catalogue = Catalogue::all_builtin();
    let mut compared = 0;
    for rune in catalogue.runes() {
        let path = format!("golden/single__rune_{}.json", rune.name);
        if !dir.join(&path).is_file() {
            continue;
        }
        let recorded = recorded::read_json(&dir, &path);
        let Some(text) = recorded["response"]["result"]["contents"][0]["text"].as_str() else { continue };
        let expected: Value = serde_json::from_str(text).unwrap();
        // npm answers only for core runes.
        let Some(expected_config) = expected["config"].as_object() else { continue };
        let actual = engine_config_json(&catalogue, rune);
        for (key, value) in expected_config {
            assert_eq!(&actual[key], value, "{}: {key}", rune.name);
        }
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn every_rune_previews_or_needs_a_site() {
    let catalogue = Catalogue::all_builtin();
    let mut failed = Vec::new();
    for rune in catalogue.runes() {
        match inspect(&catalogue, &rune.name, &[]) {
            Ok(preview) => {
                let keys: Vec<&str> = preview.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!(keys, ["rune", "theme", "input", "config", "html", "selectors"]);
                assert!(preview["config"].is_object(), "{}", rune.name);
                assert!(preview["html"].as_str().unwrap().starts_with("<article>"), "{}", rune.name);
            }
            Err(error) => {
                assert!(matches!(error, InspectError::Render(RenderError::Rune { .. })), "{error}");
                failed.push(rune.name.as_str());
            }
        }
    }
    failed.retain(|name| !["error", "snippet", "data"].contains(name));
    assert!(failed.is_empty(), "only runes that need a site are refused: {failed:?}");
}
