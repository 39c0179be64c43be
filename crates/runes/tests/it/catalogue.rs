//! The built-in catalogue against the original: contracts and reference.

use quad_runes::catalogue::Catalogue;
use quad_runes::contracts::contracts;
use quad_runes::reference::{self, Detail};
use serde_json::Value;

use crate::{oracle, snapshot};

/// Drops what is written by people: descriptions, examples, templates.
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

fn same(ours: &Value, theirs: &Value) {
    if let Some(difference) = oracle::difference(&without_prose(ours), &without_prose(theirs)) {
        panic!("{difference}");
    }
}

#[test]
fn contracts_are_those_of_the_original() {
    let Some(folder) = oracle::folder() else { return };
    for (catalogue, file) in
        [(Catalogue::official(), "contracts.single.json"), (Catalogue::core(), "contracts.coreonly.json")]
    {
        let (ours, theirs) = (contracts(&catalogue), oracle::json(&folder, file));
        same(&ours, &theirs);
        // The order of keys too: the two can be compared as text.
        assert_eq!(without_prose(&ours).to_string(), without_prose(&theirs).to_string(), "{file}");
    }
}

#[test]
fn the_reference_is_that_of_the_original() {
    let Some(folder) = oracle::folder() else { return };
    let catalogue = Catalogue::official();
    same(
        &reference::dump(&catalogue, Detail::Original),
        &oracle::json(&folder, "reference.dump.single.json"),
    );
    same(&reference::list(&catalogue), &oracle::json(&folder, "reference.list.single.json"));
}

#[test]
fn every_attribute_is_that_of_the_original() {
    let Some(folder) = oracle::folder() else { return };
    let catalogue = Catalogue::official();
    let theirs = oracle::json(&folder, "data/runes.json");
    for rune in theirs.as_array().unwrap() {
        let name = rune["name"].as_str().unwrap();
        let ours = catalogue.rune(name).unwrap();
        assert_eq!(rune["aliases"], serde_json::json!(ours.aliases), "{name}");
        assert_eq!(rune["category"].as_str(), ours.category.as_deref(), "{name}");
        assert_eq!(rune["selfClosing"] == true, ours.self_closing, "{name}");
        assert_eq!(rune["deferBody"] == true, ours.defer_body, "{name}");
        for (key, attribute) in rune["attrs"].as_object().unwrap() {
            let mine = catalogue.attribute(ours, key).unwrap_or_else(|| panic!("{name} {key}"));
            assert_eq!(attribute.get("default"), mine.default.as_ref(), "{name} {key}");
            assert_eq!(attribute["required"] == true, mine.required, "{name} {key}");
            assert_eq!(attribute["deprecated"] == true, mine.deprecated, "{name} {key}");
            let words: Vec<&str> =
                attribute["matches"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            assert_eq!(words, mine.matches, "{name} {key}");
        }
    }
}

#[test]
fn contracts_of_everything_are_kept() {
    let text = serde_json::to_string_pretty(&contracts(&Catalogue::official())).unwrap();
    snapshot::check("contracts.json", &(text + "\n"));
}

#[test]
fn the_reference_of_everything_is_kept() {
    snapshot::check("reference.md", &reference::all_as_markdown(&Catalogue::official()));
}
