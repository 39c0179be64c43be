//! Cells in columns and rows.
//!
//! Native: a separate list gives the spans of the cells, and an older attribute stands for two newer ones.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{json_number, parse_int};
use crate::render_tree::{Element, RenderNode};

/// Values of `layout` from the time before `mode` existed.
const MODES: [&str; 3] = ["columns", "auto", "masonry"];

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    apply_legacy_layout(&mut rune_use);
    let arguments = &rune_use.arguments;
    let unless_default = |name: &str, default: &str| {
        arguments.truthy(name).filter(|value| value.as_str() != Some(default)).cloned()
    };
    let mut root = RootBuilder::new("grid", "section")
        .value_if("mode", unless_default("mode", "columns"))
        .value_if("ratio", arguments.truthy("ratio").cloned())
        .value_if("gap", unless_default("gap", "default"));
    for name in ["valign", "collapse", "min", "aspect", "stack"] {
        root = root.value_if(name, arguments.truthy(name).cloned());
    }
    let mut cells = Vec::new();
    for mut zone in rune_use.content.take_groups("zones") {
        cells.push(cx.render_nodes(zone.take("content"))?);
    }
    let mut layout = Element::new("div").with_attr("data-layout", "grid");
    for (attribute, argument) in [("data-columns", "columns"), ("data-rows", "rows"), ("data-flow", "flow")] {
        let value = rune_use.arguments.get(argument).cloned().unwrap_or_default();
        layout.attributes.insert(attribute.to_owned(), value);
    }
    Ok(root.child(layout.with_children(with_spans(cells, rune_use.arguments.get("spans")))).build())
}

/// `layout` held the mode or the spans.
fn apply_legacy_layout(rune_use: &mut RuneUse<'_>) {
    let written = &rune_use.node.attributes;
    let Some(layout) = written.get_str("layout").filter(|_| !written.contains("spans")) else { return };
    if MODES.contains(&layout) {
        let layout = layout.to_owned();
        rune_use.arguments.set("mode", layout);
    } else if let Some(spans) = rune_use.arguments.get("layout").cloned() {
        rune_use.arguments.set("spans", spans);
    }
}

/// The cells with their spans. With spans, cells beyond their number are dropped.
fn with_spans(cells: Vec<Vec<RenderNode>>, spans: Option<&Value>) -> Vec<RenderNode> {
    let spans: Vec<&str> =
        spans.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let limit = if spans.is_empty() { usize::MAX } else { spans.len() };
    let cell = |(index, cell): (usize, Vec<RenderNode>)| {
        let (columns, rows) = match spans.get(index) {
            None => (json_number(1.0), Value::Null),
            Some(span) => {
                let mut parts = span.split(':');
                let columns = parts.next().map_or(Value::Null, integer_value);
                (columns, parts.next().filter(|rows| !rows.is_empty()).map_or(Value::Null, integer_value))
            }
        };
        let tag = Element::new("div").with_attr("data-colspan", columns).with_attr("data-rowspan", rows);
        let mut node: RenderNode = tag.with_children(cell).into();
        set_name(&mut node, "cell");
        node
    };
    cells.into_iter().take(limit).enumerate().map(cell).collect()
}

fn integer_value(text: &str) -> Value {
    parse_int(text).map_or_else(|| "NaN".into(), json_number)
}
