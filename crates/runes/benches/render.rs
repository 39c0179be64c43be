//! Cost of rendering: one rune, and a page of 500 lines with 40 runes. Prints figures and asserts nothing.

#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;

/// Lines of the long page.
const PAGE_LINES: usize = 500;
/// Runes of the long page.
const PAGE_RUNES: usize = 40;

fn main() {
    let catalogue = Catalogue::all_builtin();
    measure(&catalogue, "hint", "{% hint type=\"warning\" %}\nThe quay is slippery.\n{% /hint %}\n", 5_000);
    for name in ["card", "hero", "recipe", "work", "tabs"] {
        let example = catalogue.rune(name).unwrap().example.clone().unwrap();
        measure(&catalogue, name, &example, 2_000);
    }
    let page = page(&catalogue);
    let runes = page.matches("{% /").count();
    println!("page: {} lines, {runes} closing tags, {} bytes", page.lines().count(), page.len());
    measure(&catalogue, "page", &page, 200);
}

/// A long page: examples of different runes with text between them.
fn page(catalogue: &Catalogue) -> String {
    let examples: Vec<String> = catalogue
        .runes()
        .filter_map(|rune| rune.example.clone())
        .filter(|text| text.lines().count() > 3)
        .collect();
    let page = PageVariables::default();
    let mut source = String::new();
    let renderable = examples.iter().filter(|example| render(catalogue, example, &page).is_ok());
    for example in renderable.take(PAGE_RUNES) {
        source.push_str(example);
        source.push_str("\n\n");
    }
    let mut line = 0;
    while source.lines().count() < PAGE_LINES {
        line += 1;
        source.push_str(&format!("Line {line} says *little* about [boats](/boats/{line}).\n\n"));
    }
    source
}

fn measure(catalogue: &Catalogue, label: &str, source: &str, rounds: usize) {
    let page = PageVariables::default();
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            black_box(render(black_box(catalogue), black_box(source), &page).unwrap());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let percentile = |share: usize| times.get(rounds * share / 100).copied().unwrap_or_default();
    println!("{label:>8}: p50 {:?}, p95 {:?}, least {:?}", percentile(50), percentile(95), percentile(0));
}
