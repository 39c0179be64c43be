//! What changed between two code blocks, line by line.
//!
//! Native because the changes are computed.

use quad_markdoc::Node as Parsed;
use serde_json::Value;

use super::line_diff::{Change, Line, line_diff};
use crate::schema::component::{Component, element, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{leading_integer, number_text, to_text};

/// One of the two versions.
#[derive(Default)]
struct Version {
    text: String,
    source: Option<String>,
    /// Number of the line before the first.
    offset: f64,
}

impl Version {
    fn read(fence: Option<&Parsed>) -> Version {
        let Some(fence) = fence else { return Version::default() };
        let text = fence.attributes.text("content").unwrap_or_default();
        let lines = fence.attributes.text("lines").unwrap_or_default().trim();
        let first = leading_integer(lines).filter(|_| lines.starts_with(|c: char| c.is_ascii_digit()));
        Version {
            text: text.strip_suffix('\n').unwrap_or(text).to_owned(),
            source: fence.attributes.text("source").filter(|source| !source.is_empty()).map(str::to_owned),
            offset: first.filter(|first| *first > 0.0).map_or(0.0, |first| first - 1.0),
        }
    }
}

pub(super) fn transform(mut call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let fences = call.content.take("fences");
    let (before, after) = (Version::read(fences.first()), Version::read(fences.get(1)));
    let mode = call.arguments.value_or("mode", "unified");
    let language = call.arguments.value_or("language", "");
    let own = fences.first().and_then(|fence| fence.attributes.text("language")).unwrap_or_default();
    let code = call.arguments.text("language").unwrap_or_else(|| own.to_owned());
    let Some(lines) = line_diff(&before.text, &after.text) else {
        return Err(call.error("the two code blocks have too many lines to compare; show less of them"));
    };
    let content = if mode.as_str() == Some("split") {
        split(&lines, &code, [before.offset, after.offset])
    } else {
        let rows = lines.iter().map(|line| {
            row(line.change.as_str(), gutters(line, [before.offset, after.offset]), line.text, &code)
        });
        rows_in_pre(rows)
    };
    let root = Component::new("diff", "div").value("mode", mode).value("language", language);
    let header = heading(to_text(&call.arguments.value_or("title", "")), before.source, after.source);
    let header = header.map(|text| part("div", "header", [text.into()]));
    Ok(root.child_if(header).child(content).build().having("data-code-host", true))
}

/// The title, or the files that are compared.
fn heading(title: String, before: Option<String>, after: Option<String>) -> Option<String> {
    if !title.is_empty() {
        return Some(title);
    }
    match (before, after) {
        (Some(before), Some(after)) if before != after => Some(format!("{before} → {after}")),
        (before, after) => before.or(after),
    }
}

fn rows_in_pre(rows: impl Iterator<Item = Node>) -> Node {
    Tag::new("pre")
        .with("data-name", "code")
        .with("data-copy-selector", "[data-name=\"line-content\"]")
        .holding([part("div", "rows", rows)])
        .into()
}

fn row(status: &str, gutters: Vec<Node>, text: &str, language: &str) -> Node {
    let mut content = Tag::new("span").with("data-name", "line-content");
    if !language.is_empty() {
        content = content.with("data-language", language);
    }
    let content = content.holding([text.into()]).into();
    let row = Tag::new("span").with("data-name", "line").with("data-line-status", status);
    row.holding(gutters.into_iter().chain([content])).into()
}

fn gutter(side: &str, number: Option<f64>) -> Node {
    let text = number.map(number_text).unwrap_or_default();
    element("span", [text.into()]).having("data-name", "gutter-num").having("data-side", Value::from(side))
}

fn gutters(line: &Line<'_>, offsets: [f64; 2]) -> Vec<Node> {
    let numbers = [line.before, line.after];
    let sides = ["before", "after"].into_iter().zip(numbers).zip(offsets);
    sides.map(|((side, number), offset)| gutter(side, number.map(|number| number as f64 + offset))).collect()
}

/// Two columns: lines that were removed stand beside those that took their place.
fn split(lines: &[Line<'_>], language: &str, offsets: [f64; 2]) -> Node {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        if line.change == Change::Equal {
            left.push(Some(line));
            right.push(Some(line));
            rest = after;
            continue;
        }
        let run = |lines: &[Line<'_>], change| lines.iter().take_while(|line| line.change == change).count();
        let (removed, others) = rest.split_at(run(rest, Change::Remove));
        let (added, others) = others.split_at(run(others, Change::Add));
        for at in 0..removed.len().max(added.len()) {
            left.push(removed.get(at));
            right.push(added.get(at));
        }
        rest = others;
    }
    let panel = |side: &str, lines: Vec<Option<&Line<'_>>>, offset: f64| {
        let rows = lines.into_iter().map(|line| match line {
            Some(line) => {
                let number = if side == "before" { line.before } else { line.after };
                let number = number.map(|number| number as f64 + offset);
                row(line.change.as_str(), vec![gutter(side, number)], line.text, language)
            }
            None => row("empty", vec![gutter(side, None)], "", ""),
        });
        part("div", "panel", [rows_in_pre(rows)])
    };
    let [before, after] = offsets;
    part("div", "split-container", [panel("before", left, before), panel("after", right, after)])
}
