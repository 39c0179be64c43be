//! The speed of the parser: on plain Markdown next to pulldown-cmark, and on a page with tags.
//!
//! `cargo bench -p quad-markdoc`. The fastest of many rounds counts. The parsers take turns, so that other load on the
//! machine affects both.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;

fn main() {
    let plain_source = plain_markdown(2000);
    let page_source = page_with_tags(500, 40);
    let [markdoc_time, pulldown_time, page_time] = fastest_times([
        &|| drop(black_box(quad_markdoc::parse(&plain_source))),
        &|| run_pulldown_cmark(&plain_source),
        &|| drop(black_box(quad_markdoc::parse(&page_source))),
    ]);
    let rate = |time: Duration, source: &str| source.len() as f64 / time.as_secs_f64() / 1e6;
    println!("plain Markdown, {} lines, {} bytes", plain_source.lines().count(), plain_source.len());
    println!(
        "  quad-markdoc    {:>8.1} µs  {:>6.1} MB/s, a tree with positions",
        micros(markdoc_time),
        rate(markdoc_time, &plain_source)
    );
    println!(
        "  pulldown-cmark  {:>8.1} µs  {:>6.1} MB/s, events",
        micros(pulldown_time),
        rate(pulldown_time, &plain_source)
    );
    println!("  ratio           {:>8.1}", markdoc_time.as_secs_f64() / pulldown_time.as_secs_f64());
    println!(
        "a page of {} lines with {} tags, {} bytes",
        page_source.lines().count(),
        page_source.matches("{% /").count(),
        page_source.len()
    );
    println!("  quad-markdoc    {:>8.1} µs", micros(page_time));
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn run_pulldown_cmark(source: &str) {
    let mut options = pulldown_cmark::Options::empty();
    options.insert(pulldown_cmark::Options::ENABLE_TABLES);
    options.insert(pulldown_cmark::Options::ENABLE_STRIKETHROUGH);
    for event in pulldown_cmark::Parser::new_ext(source, options).into_offset_iter() {
        black_box(event);
    }
}

fn fastest_times<const N: usize>(tasks: [&dyn Fn(); N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..ROUNDS {
        for (best, task) in best.iter_mut().zip(tasks) {
            let start = Instant::now();
            task();
            *best = start.elapsed().min(*best);
        }
    }
    best
}

/// About `lines` lines of typical Markdown without a tag.
fn plain_markdown(lines: usize) -> String {
    let mut text = String::new();
    for section in 0..lines / 25 {
        write!(
            text,
            "## Section {section}\n\nA paragraph with *emphasis*, **strength**, `code` and a [link](/page/{section} \"title\").\nIt goes \
             on for a second line, and for a third\nwith nothing in it but words.\n\n- one item\n- another, with `code`\n  - and one \
             within\n- a last one\n\n1. first\n2. second\n\n> A quotation of some length,\n> on two lines.\n\n| name | value \
             |\n|------|-------|\n| a    | 1     |\n| b    | 2     |\n\n```rust\nfn main() {{}}\n```\n\n"
        )
        .unwrap();
    }
    text
}

/// A page of about `lines` lines with `tags` tags that have attributes.
fn page_with_tags(lines: usize, tags: usize) -> String {
    let mut text = String::from("---\ntitle: A page\n---\n\n# A page {% #top .wide %}\n\n");
    let lines_per_tag = lines / tags;
    for tag in 0..tags {
        write!(
            text,
            "{{% callout type=\"note\" level={tag} tags=[\"a\", \"b\"] show=$user.flags.beta %}}\n\n"
        )
        .unwrap();
        for line in 0..lines_per_tag.saturating_sub(6) / 2 {
            write!(text, "Line {line} of the text, with *some* `marks` and {{% $variable.name %}}.\n\n")
                .unwrap();
        }
        text.push_str("- [ ] a task\n- [x] done\n\n{% /callout %}\n");
    }
    text
}
