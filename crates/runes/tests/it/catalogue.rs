//! The built-in catalogue against npm (contracts, reference, attributes) and against snapshots.

use quad_runes::catalogue::Catalogue;
use quad_runes::contracts::contracts;
use quad_runes::reference;
use serde_json::Value;

use crate::{recorded, snapshot};

/// Drops prose: descriptions, examples, templates.
fn without_prose(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| {
                !(["description", "example", "template"].contains(&key.as_str()) && value.is_string())
            })
            .map(|(key, value)| (key.clone(), without_prose(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_prose).collect(),
        other => other.clone(),
    }
}

/// A reference without what npm's does not have: defaults and deprecation of attributes.
fn without_defaults(mut runes: Value) -> Value {
    for rune in runes.as_array_mut().unwrap() {
        for path in ["/attributes/own", "/attributes/base/attributes"] {
            let attributes = rune.pointer_mut(path).and_then(Value::as_object_mut);
            for attribute in attributes.into_iter().flat_map(|attributes| attributes.values_mut()) {
                attribute.as_object_mut().unwrap().retain(|key, _| key != "default" && key != "deprecated");
            }
        }
    }
    runes
}

fn assert_same_without_prose(actual: &Value, expected: &Value) {
    if let Some(difference) = recorded::first_difference(&without_prose(actual), &without_prose(expected)) {
        panic!("{difference}");
    }
}

#[test]
fn contracts_match_npm() {
    let Some(dir) = recorded::corpus_dir() else { return };
    for (catalogue, file) in
        [(Catalogue::all_builtin(), "contracts.single.json"), (Catalogue::core(), "contracts.coreonly.json")]
    {
        let (actual, expected) = (contracts(&catalogue), recorded::read_json(&dir, file));
        assert_same_without_prose(&actual, &expected);
        // The order of keys too: the two can be compared as text.
        assert_eq!(without_prose(&actual).to_string(), without_prose(&expected).to_string(), "{file}");
    }
}

#[test]
fn reference_matches_npm() {
    let Some(dir) = recorded::corpus_dir() else { return };
    let catalogue = Catalogue::all_builtin();
    let expected = recorded::read_json(&dir, "reference.dump.single.json");
    let names = expected.as_array().unwrap().iter().map(|rune| rune["name"].as_str().unwrap());
    let actual = names.map(|name| reference::rune_reference(&catalogue, catalogue.rune(name).unwrap()));
    assert_same_without_prose(&without_defaults(actual.collect()), &expected);
    assert_same_without_prose(
        &reference::list(&catalogue),
        &recorded::read_json(&dir, "reference.list.single.json"),
    );
}

#[test]
fn rune_attributes_match_npm() {
    let Some(dir) = recorded::corpus_dir() else { return };
    let catalogue = Catalogue::all_builtin();
    let expected = recorded::read_json(&dir, "data/runes.json");
    for rune in expected.as_array().unwrap() {
        let name = rune["name"].as_str().unwrap();
        let actual = catalogue.rune(name).unwrap();
        assert_eq!(rune["aliases"], serde_json::json!(actual.aliases), "{name}");
        assert_eq!(rune["category"].as_str(), actual.category.as_deref(), "{name}");
        assert_eq!(rune["selfClosing"] == true, actual.self_closing, "{name}");
        assert_eq!(rune["deferBody"] == true, actual.defer_body, "{name}");
        for (key, attribute) in rune["attrs"].as_object().unwrap() {
            let actual_attribute = catalogue.attribute(actual, key).unwrap_or_else(|| panic!("{name} {key}"));
            assert_eq!(attribute.get("default"), actual_attribute.default.as_ref(), "{name} {key}");
            assert_eq!(attribute["required"] == true, actual_attribute.required, "{name} {key}");
            assert_eq!(attribute["deprecated"] == true, actual_attribute.deprecated, "{name} {key}");
            let words: Vec<&str> =
                attribute["matches"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            assert_eq!(words, actual_attribute.matches, "{name} {key}");
        }
    }
}

#[test]
fn contracts_match_snapshot() {
    let text = serde_json::to_string_pretty(&contracts(&Catalogue::all_builtin())).unwrap();
    snapshot::assert_snapshot("contracts.json", &(text + "\n"));
}

#[test]
fn markdown_reference_matches_snapshot() {
    snapshot::assert_snapshot(
        "reference.md",
        &reference::site_reference_as_markdown(&Catalogue::all_builtin()),
    );
}
