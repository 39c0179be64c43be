//! The changes between two code blocks, line by line.
//!
//! Native: the changes are computed.

use quad_markdoc::Node as MarkdocNode;
use serde_json::Value;

use super::line_diff::{Change, DiffLine, line_diff};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number, parse_int, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// One of the two versions.
#[derive(Default)]
struct Version {
    text: String,
    source: Option<String>,
    /// Line number before the first line.
    offset: f64,
}

impl Version {
    fn read(fence: Option<&MarkdocNode>) -> Version {
        let Some(fence) = fence else { return Version::default() };
        let text = fence.attributes.get_str("content").unwrap_or_default();
        let lines = fence.attributes.get_str("lines").unwrap_or_default().js_trim();
        let first = parse_int(lines).filter(|_| lines.starts_with(|c: char| c.is_ascii_digit()));
        Version {
            text: text.strip_suffix('\n').unwrap_or(text).to_owned(),
            source: fence.attributes.get_str("source").filter(|source| !source.is_empty()).map(str::to_owned),
            offset: first.filter(|first| *first > 0.0).map_or(0.0, |first| first - 1.0),
        }
    }
}

pub(super) fn transform(mut rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let fences = rune_use.content.take("fences");
    let (before, after) = (Version::read(fences.first()), Version::read(fences.get(1)));
    let mode = rune_use.arguments.non_null_or("mode", "unified");
    let language = rune_use.arguments.non_null_or("language", "");
    let fence_language =
        fences.first().and_then(|fence| fence.attributes.get_str("language")).unwrap_or_default();
    let code = rune_use.arguments.text("language").unwrap_or_else(|| fence_language.to_owned());
    let Some(lines) = line_diff(&before.text, &after.text) else {
        return Err(rune_use.error("the two code blocks have too many lines to compare; show less of them"));
    };
    let content = if mode.as_str() == Some("split") {
        render_split(&lines, &code, [before.offset, after.offset])
    } else {
        let rows = lines.iter().map(|line| {
            line_element(
                line.change.as_str(),
                gutter_elements(line, [before.offset, after.offset]),
                line.text,
                &code,
            )
        });
        rows_in_pre(rows)
    };
    let root = RootBuilder::new("diff", "div").value("mode", mode).value("language", language);
    let header =
        header_text(to_js_string(&rune_use.arguments.non_null_or("title", "")), before.source, after.source);
    let header = header.map(|text| named_element("div", "header", [text.into()]));
    Ok(root.child_if(header).child(content).build().with_attr("data-code-host", true))
}

/// The title, or the names of the compared files.
fn header_text(title: String, before: Option<String>, after: Option<String>) -> Option<String> {
    if !title.is_empty() {
        return Some(title);
    }
    match (before, after) {
        (Some(before), Some(after)) if before != after => Some(format!("{before} → {after}")),
        (before, after) => before.or(after),
    }
}

fn rows_in_pre(rows: impl Iterator<Item = RenderNode>) -> RenderNode {
    Element::new("pre")
        .with_attr("data-name", "code")
        .with_attr("data-copy-selector", "[data-name=\"line-content\"]")
        .with_children([named_element("div", "rows", rows)])
        .into()
}

fn line_element(status: &str, gutters: Vec<RenderNode>, text: &str, language: &str) -> RenderNode {
    let mut content = Element::new("span").with_attr("data-name", "line-content");
    if !language.is_empty() {
        content = content.with_attr("data-language", language);
    }
    let content = content.with_children([text.into()]).into();
    let row = Element::new("span").with_attr("data-name", "line").with_attr("data-line-status", status);
    row.with_children(gutters.into_iter().chain([content])).into()
}

fn gutter_element(side: &str, number: Option<f64>) -> RenderNode {
    let text = number.map(format_js_number).unwrap_or_default();
    new_element("span", [text.into()])
        .with_attr("data-name", "gutter-num")
        .with_attr("data-side", Value::from(side))
}

fn gutter_elements(line: &DiffLine<'_>, offsets: [f64; 2]) -> Vec<RenderNode> {
    let numbers = [line.before, line.after];
    let sides = ["before", "after"].into_iter().zip(numbers).zip(offsets);
    sides
        .map(|((side, number), offset)| gutter_element(side, number.map(|number| number as f64 + offset)))
        .collect()
}

/// Two columns: removed lines beside the lines that replace them.
fn render_split(lines: &[DiffLine<'_>], language: &str, offsets: [f64; 2]) -> RenderNode {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        if line.change == Change::Equal {
            left.push(Some(line));
            right.push(Some(line));
            rest = after;
            continue;
        }
        let run_length =
            |lines: &[DiffLine<'_>], change| lines.iter().take_while(|line| line.change == change).count();
        let (removed, others) = rest.split_at(run_length(rest, Change::Remove));
        let (added, others) = others.split_at(run_length(others, Change::Add));
        for row_index in 0..removed.len().max(added.len()) {
            left.push(removed.get(row_index));
            right.push(added.get(row_index));
        }
        rest = others;
    }
    let panel = |side: &str, lines: Vec<Option<&DiffLine<'_>>>, offset: f64| {
        let rows = lines.into_iter().map(|line| match line {
            Some(line) => {
                let number = if side == "before" { line.before } else { line.after };
                let number = number.map(|number| number as f64 + offset);
                line_element(line.change.as_str(), vec![gutter_element(side, number)], line.text, language)
            }
            None => line_element("empty", vec![gutter_element(side, None)], "", ""),
        });
        named_element("div", "panel", [rows_in_pre(rows)])
    };
    let [before, after] = offsets;
    named_element("div", "split-container", [panel("before", left, before), panel("after", right, after)])
}
