//! Cells in columns and rows.
//!
//! Native because the spans of the cells come from a list beside them, and because an older attribute stands for two newer ones.

use serde_json::Value;

use crate::schema::component::{Component, name};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{leading_integer, number};

/// Words that `layout` used to mean before it was called `mode`.
const MODES: [&str; 3] = ["columns", "auto", "masonry"];

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    read_older_layout(&mut call);
    let arguments = &call.arguments;
    let unless = |name: &str, plain: &str| {
        arguments.given(name).filter(|value| value.as_str() != Some(plain)).cloned()
    };
    let mut root = Component::new("grid", "section")
        .value_if("mode", unless("mode", "columns"))
        .value_if("ratio", arguments.given("ratio").cloned())
        .value_if("gap", unless("gap", "default"));
    for name in ["valign", "collapse", "min", "aspect", "stack"] {
        root = root.value_if(name, arguments.given(name).cloned());
    }
    let mut cells = Vec::new();
    for mut zone in call.content.take_groups("zones") {
        cells.push(out.nodes(zone.take("content"))?);
    }
    let mut layout = Tag::new("div").with("data-layout", "grid");
    for (attribute, argument) in [("data-columns", "columns"), ("data-rows", "rows"), ("data-flow", "flow")] {
        let value = call.arguments.get(argument).cloned().unwrap_or_default();
        layout.attributes.insert(attribute.to_owned(), value);
    }
    Ok(root.child(layout.holding(spanned(cells, call.arguments.get("spans")))).build())
}

/// `layout` was the mode or the spans.
fn read_older_layout(call: &mut Call<'_>) {
    let written = &call.node.attributes;
    let Some(layout) = written.text("layout").filter(|_| !written.contains("spans")) else { return };
    if MODES.contains(&layout) {
        let layout = layout.to_owned();
        call.arguments.set("mode", layout);
    } else if let Some(words) = call.arguments.get("layout").cloned() {
        call.arguments.set("spans", words);
    }
}

/// The cells with their spans. Where spans are given, there are no more cells than spans.
fn spanned(cells: Vec<Vec<Node>>, spans: Option<&Value>) -> Vec<Node> {
    let spans: Vec<&str> =
        spans.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let limit = if spans.is_empty() { usize::MAX } else { spans.len() };
    let cell = |(at, cell): (usize, Vec<Node>)| {
        let (columns, rows) = match spans.get(at) {
            None => (number(1.0), Value::Null),
            Some(span) => {
                let mut parts = span.split(':');
                let columns = parts.next().map_or(Value::Null, whole);
                (columns, parts.next().filter(|rows| !rows.is_empty()).map_or(Value::Null, whole))
            }
        };
        let tag = Tag::new("div").with("data-colspan", columns).with("data-rowspan", rows);
        let mut node: Node = tag.holding(cell).into();
        name(&mut node, "cell");
        node
    };
    cells.into_iter().take(limit).enumerate().map(cell).collect()
}

fn whole(text: &str) -> Value {
    leading_integer(text).map_or_else(|| "NaN".into(), number)
}
