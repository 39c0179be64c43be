//! Parity with the original: each recorded document rendered here, compared byte for byte.
//!
//! `QUAD_PARITY=hint cargo test -p quad-runes parity -- --nocapture` shows the first differences of one rune (`all` for every
//! rune), the rate by rune is printed always. `parity.floor` holds how many cases of each rune agree; the test fails when one
//! agrees less, and `QUAD_PARITY_RAISE=1` writes the file anew with the better numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use quad_runes::catalogue::Catalogue;
use quad_runes::render::render;
use quad_runes::schema::PageVariables;
use serde_json::Value;

use crate::oracle;

/// Cases that differ on purpose, each with the reason.
const DIFFERENT_ON_PURPOSE: [(&str, &str); 0] = [];

/// How many differences of a rune are shown.
const SHOWN_MAX: usize = 3;

#[derive(Default)]
struct Score {
    agree: usize,
    cases: usize,
}

fn floor_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/parity.floor")
}

/// Rune → least number of cases that agree.
fn floor() -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(floor_file()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(rune, least)| (rune.to_owned(), least.parse().unwrap())).collect()
}

/// What is wrong with a case, if anything.
fn difference(catalogue: &Catalogue, case: &Value) -> Option<String> {
    let rendered = match render(catalogue, case["input"].as_str().unwrap(), &PageVariables::default()) {
        Ok(rendered) => rendered,
        Err(error) => return Some(format!("error: {error}")),
    };
    let html = case["html"].as_str().unwrap();
    if rendered.html != html {
        return Some(lines_that_differ(&rendered.html, html));
    }
    let selectors: Vec<&str> =
        case["selectors"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let ours: Vec<&str> = rendered.selectors.iter().map(String::as_str).collect();
    (ours != selectors).then(|| format!("selectors\n ours   {ours:?}\n theirs {selectors:?}"))
}

/// The first lines that differ, with those around them.
fn lines_that_differ(ours: &str, theirs: &str) -> String {
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
    let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (sign, lines) in [("ours  ", &ours), ("theirs", &theirs)] {
        for line in lines.iter().skip(at.saturating_sub(1)).take(6) {
            writeln!(text, "    {sign} {line}").unwrap();
        }
    }
    text
}

#[test]
fn documents_render_as_the_original_renders_them() {
    let Some(folder) = oracle::folder() else { return };
    let catalogue = Catalogue::official();
    let wanted = std::env::var("QUAD_PARITY").unwrap_or_default();
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.join("runes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let rune = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut shown = 0;
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let id = case["id"].as_str().unwrap();
            let on_purpose = DIFFERENT_ON_PURPOSE.iter().any(|(known, _)| *known == id);
            if case.get("error").is_some() || on_purpose {
                continue;
            }
            let score = scores.entry(rune.clone()).or_default();
            score.cases += 1;
            match difference(&catalogue, &case) {
                None => score.agree += 1,
                Some(difference) => {
                    if (wanted == rune || wanted == "all") && shown < SHOWN_MAX {
                        shown += 1;
                        println!("{id}\n{}\n{difference}", case["input"].as_str().unwrap());
                    }
                }
            }
        }
    }
    let mut below = Vec::new();
    let floor = floor();
    let mut raised = String::new();
    for (rune, score) in &scores {
        if score.agree < score.cases {
            println!("{rune} {}/{}", score.agree, score.cases);
        }
        let least = floor.get(rune).copied().unwrap_or(0);
        if score.agree < least {
            below.push(format!("{rune}: {} cases agree, {least} did", score.agree));
        }
        writeln!(raised, "{rune} {}", score.agree.max(least)).unwrap();
    }
    let (agree, cases) =
        scores.values().fold((0, 0), |(agree, cases), score| (agree + score.agree, cases + score.cases));
    println!("parity: {agree} of {cases} documents");
    if std::env::var_os("QUAD_PARITY_RAISE").is_some() {
        std::fs::write(floor_file(), raised).unwrap();
    }
    assert!(below.is_empty(), "{}", below.join("\n"));
}
