//! Parity with the original: each recorded document rendered here, compared byte for byte.
//!
//! `QUAD_PARITY=hint cargo test -p quad-runes parity -- --nocapture` shows the first differences of one rune (`all` for every
//! rune). The rate of every rune that differs is printed always.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;
use serde_json::Value;

use crate::recorded;

/// Cases that differ on purpose, each with the reason. There are none: whatever the original makes of a document, its defects
/// included, is what pages and themes were written for.
const DIFFERENT_ON_PURPOSE: [(&str, &str); 0] = [];

/// Cases at which the original fails; here they say what to do.
const EXPECTED_ERRORS: [(&str, &str); 7] = [
    (
        "data/fixture",
        "data: shows a file, which is read when the site is built; render the page within its site",
    ),
    ("data/own", "data: shows a file, which is read when the site is built; render the page within its site"),
    ("error/fixture", "error: `error` must be an object with id, level and message"),
    ("error/min", "error: `error` must be an object with id, level and message"),
    ("icon/bare", "icon: an icon needs a `name`"),
    (
        "snippet/fixture",
        "snippet: shows a file, which is read when the site is built; render the page within its site",
    ),
    (
        "snippet/own",
        "snippet: shows a file, which is read when the site is built; render the page within its site",
    ),
];

/// How many differences of a rune are shown.
const PRINTED_DIFFERENCES_MAX: usize = 3;

#[derive(Default)]
struct Score {
    agree: usize,
    cases: usize,
}

/// What is wrong with a case, if anything.
fn difference(catalogue: &Catalogue, case: &Value) -> Option<String> {
    let rendered = render(catalogue, case["input"].as_str().unwrap(), &PageVariables::default());
    if case.get("error").is_some() {
        let error_text = rendered.err().map(|error| error.to_string()).unwrap_or_default();
        let expected_error = EXPECTED_ERRORS.iter().find(|(id, _)| case["id"].as_str() == Some(id));
        return expected_error.is_none_or(|(_, message)| *message != error_text).then_some(error_text);
    }
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error) => return Some(format!("error: {error}")),
    };
    let html = case["html"].as_str().unwrap();
    if rendered.html != html {
        return Some(differing_lines(&rendered.html, html));
    }
    let selectors: Vec<&str> =
        case["selectors"].as_array().unwrap().iter().map(|selector| selector.as_str().unwrap()).collect();
    let actual: Vec<&str> = rendered.selectors.iter().map(String::as_str).collect();
    (actual != selectors).then(|| format!("selectors\n ours   {actual:?}\n theirs {selectors:?}"))
}

/// The first lines that differ, with those around them.
fn differing_lines(actual: &str, expected: &str) -> String {
    let (actual_lines, expected_lines): (Vec<&str>, Vec<&str>) =
        (actual.lines().collect(), expected.lines().collect());
    let first_differing = actual_lines.iter().zip(&expected_lines).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (side, lines) in [("ours  ", &actual_lines), ("theirs", &expected_lines)] {
        for line in lines.iter().skip(first_differing.saturating_sub(1)).take(6) {
            writeln!(text, "    {side} {line}").unwrap();
        }
    }
    text
}

#[test]
fn rendered_documents_match_npm() {
    let Some(dir) = recorded::recorded_dir() else { return };
    let catalogue = Catalogue::all_builtin();
    let selected_rune = std::env::var("QUAD_PARITY").unwrap_or_default();
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut differing_ids = Vec::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir.join("runes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let rune = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut printed = 0;
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let id = case["id"].as_str().unwrap();
            if DIFFERENT_ON_PURPOSE.iter().any(|(id_on_purpose, _)| *id_on_purpose == id) {
                continue;
            }
            let score = scores.entry(rune.clone()).or_default();
            score.cases += 1;
            let Some(difference) = difference(&catalogue, &case) else {
                score.agree += 1;
                continue;
            };
            if (selected_rune == rune || selected_rune == "all") && printed < PRINTED_DIFFERENCES_MAX {
                printed += 1;
                println!("{id}\n{}\n{difference}", case["input"].as_str().unwrap());
            }
            differing_ids.push(id.to_owned());
        }
    }
    for (rune, score) in scores.iter().filter(|(_, score)| score.agree < score.cases) {
        println!("{rune} {}/{}", score.agree, score.cases);
    }
    let (agree, cases) =
        scores.values().fold((0, 0), |(agree, cases), score| (agree + score.agree, cases + score.cases));
    println!("parity: {agree} of {cases} documents");
    assert!(differing_ids.is_empty(), "{} differ: {}", differing_ids.len(), differing_ids.join(", "));
}
