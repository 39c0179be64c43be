//! Parity with npm: each recorded document is rendered and compared byte for byte.
//!
//! `QUAD_PARITY=hint cargo test -p quad-runes parity -- --nocapture` shows the first differences of one rune (`all` for
//! every rune). The score of every rune that differs is always printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;
use serde_json::Value;

use crate::recorded;

/// File of the checked-in cases of single runes and attributes.
const DOCUMENTS: &str = "documents.jsonl.lz4";
/// Folder of the corpus that holds them, and upstream's own examples.
const CORPUS_FOLDER: &str = "runes";

/// File of the checked-in cases that combine runes, attributes and unusual text.
const COMBINATIONS: &str = "combinations.jsonl.lz4";
/// Folder of the corpus that holds them.
const COMBINATIONS_FOLDER: &str = "runes-2";

/// Cases that differ on purpose, each with the reason. Pages and themes are written for the output of npm, defects
/// included, except where npm loses text, fails, or sorts by tables that are larger than this crate. `quirks.rs` tests
/// our own output; the crate's README lists the choices.
pub const DIFFERENT_ON_PURPOSE: [(&str, &str); 10] = [
    ("quirks/nav-item-icon-alone", "npm drops the icon"),
    ("quirks/nav-item-icon-first", "npm drops the icon"),
    ("quirks/nav-item-icon-and-list", "npm drops the icon"),
    ("quirks/nav-item-badge-first", "npm drops the badge and the text"),
    ("quirks/nav-item-badge-last", "npm drops the badge and the text"),
    ("quirks/nav-item-two-runes", "npm drops the badge, the icon and the text"),
    ("quirks/empty-item-comparison-tag", "npm fails with a TypeError"),
    ("quirks/space-2028-cast", "npm does not split name and role if the text contains U+2028 or U+2029"),
    ("quirks/collation-language", "only common scripts are sorted as ICU does"),
    ("quirks/collation-ids", "only common scripts are sorted as ICU does"),
];

/// Cases that npm refuses. The error text here says what to do.
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

/// Differences printed for one rune.
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

/// Fails unless every case renders as recorded.
fn assert_parity(cases: &[Value]) {
    let catalogue = Catalogue::all_builtin();
    let selected_rune = std::env::var("QUAD_PARITY").unwrap_or_default();
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut differing_ids = Vec::new();
    let mut different_on_purpose = 0;
    for case in cases {
        let (id, rune) = (case["id"].as_str().unwrap(), case["rune"].as_str().unwrap());
        if DIFFERENT_ON_PURPOSE.iter().any(|(id_on_purpose, _)| *id_on_purpose == id) {
            different_on_purpose += 1;
            assert!(difference(&catalogue, case).is_some(), "{id} is listed as different, but is not");
            continue;
        }
        let score = scores.entry(rune).or_default();
        score.cases += 1;
        let Some(difference) = difference(&catalogue, case) else {
            score.agree += 1;
            continue;
        };
        let is_selected = selected_rune == rune || selected_rune == "all";
        if is_selected && score.cases - score.agree <= PRINTED_DIFFERENCES_MAX {
            println!("{id}\n{}\n{difference}", case["input"].as_str().unwrap());
        }
        differing_ids.push(id);
    }
    for (rune, score) in scores.iter().filter(|(_, score)| score.agree < score.cases) {
        println!("{rune} {}/{}", score.agree, score.cases);
    }
    let equal = cases.len() - different_on_purpose - differing_ids.len();
    println!("parity: {equal} of {} documents, {different_on_purpose} differ on purpose", cases.len());
    assert!(differing_ids.is_empty(), "{} differ: {}", differing_ids.len(), differing_ids.join(", "));
}

#[test]
fn rendered_documents_match_npm() {
    let cases = recorded::recorded_cases(DOCUMENTS);
    assert!(cases.len() > 1_300, "{} cases", cases.len());
    assert_parity(&cases);
}

#[test]
fn rendered_combinations_match_npm() {
    let cases = recorded::recorded_cases(COMBINATIONS);
    assert_eq!(cases.len(), 305);
    assert_parity(&cases);
}

#[test]
fn upstream_examples_match_npm() {
    let Some(corpus) = recorded::corpus_dir() else { return };
    let mut lines = recorded::corpus_lines(&corpus, &[CORPUS_FOLDER]);
    lines.retain(|line| recorded::is_upstream_example(line));
    let cases: Vec<Value> = lines.iter().map(|line| recorded::parse_line(line)).collect();
    assert_eq!(cases.len(), 127);
    assert_parity(&cases);
}

#[test]
fn refresh_recorded_documents() {
    let Some(corpus) = recorded::refresh_source() else { return };
    let mut lines = recorded::corpus_lines(&corpus, &[CORPUS_FOLDER]);
    lines.retain(|line| !recorded::is_upstream_example(line));
    recorded::write_lines(DOCUMENTS, &lines);
    recorded::write_lines(COMBINATIONS, &recorded::corpus_lines(&corpus, &[COMBINATIONS_FOLDER]));
    for file in ["overrides.jsonl", "selectors-sort.json"] {
        let text = std::fs::read_to_string(corpus.join(file)).unwrap();
        std::fs::write(recorded::recorded_dir().join(file), text).unwrap();
    }
}
