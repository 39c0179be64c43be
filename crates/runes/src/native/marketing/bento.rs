//! `bento`. Native: tiles come from headings and are sized by heading level.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, Value as MarkdocValue};
use serde_json::Value;

use super::bento_cell::{CellSpan, span_of_size};
use crate::content::node_ext;
use crate::expand::arguments::to_markdoc_value;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{is_rune_root, named_element, set_field};
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::js_value::{JsTrim, json_number, parse_int, to_js_string};
use crate::render_tree::RenderNode;

/// Attributes that tiles inherit from the grid.
pub(super) const FORWARDED_ATTRIBUTES: [&str; 9] = [
    "frame",
    "frame-aspect",
    "frame-displace",
    "frame-offset",
    "frame-oversize",
    "frame-place",
    "frame-anchor",
    "frame-shadow",
    "elevation",
];

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let nodes = content.take("children");
    let (intro, cells) = if nodes.iter().any(is_cell) {
        // If tiles are written as tags, all nodes between them are dropped.
        (Vec::new(), nodes.into_iter().filter(is_cell).collect())
    } else {
        headings_to_cells(nodes, &arguments)
    };
    let inherited = inherited_attributes(&arguments);
    let cells = cells.into_iter().map(|cell| apply_inherited(cell, &inherited)).collect();
    let intro_nodes = cx.render_nodes(intro)?;
    let mut cells = cx.render_nodes(cells)?;
    cells.retain(|cell| is_rune_root(cell, "div", "bento-cell"));
    cells.iter_mut().for_each(|cell| set_field(cell, "cell"));
    let mut root = RootBuilder::new("bento", "section")
        .value("gap", arguments.non_null_or("gap", "1rem"))
        .value("columns", to_js_string(&arguments.non_null_or("columns", 6)));
    for name in ["row-height", "content-height", "media-ratio", "collapse"] {
        root = root.value(name, arguments.non_null_or(name, ""));
    }
    Ok(root.children(intro_nodes).child(named_element("div", "grid", cells)).build())
}

fn is_cell(node: &MarkdocNode) -> bool {
    node.is_tag("bento-cell")
}

/// The nodes above the first heading, and a tile for each heading.
fn headings_to_cells(nodes: Vec<MarkdocNode>, arguments: &Arguments) -> (Vec<MarkdocNode>, Vec<MarkdocNode>) {
    let columns = arguments.non_null_or("columns", 6);
    let spans: Vec<CellSpan> =
        arguments.text("levels").map(|levels| parse_spans(&levels)).unwrap_or_default();
    let (mut intro, mut cells) = (Vec::new(), Vec::<MarkdocNode>::new());
    for node in nodes {
        let Some(level) = node_ext::heading_level(&node) else {
            cells.last_mut().map_or(&mut intro, |cell| &mut cell.children).push(node);
            continue;
        };
        let level_span = spans.get(usize::from(level.saturating_sub(1))).or(spans.last());
        let (size, span) = match level_span {
            // A tile with an explicit span has no named size.
            Some(span) => ("", span.clone()),
            None => (size_for_level(level), span_of_size(size_for_level(level), &columns)),
        };
        let mut attributes = AttributeMap::new();
        attributes.insert("size".to_owned(), MarkdocValue::String(size.to_owned()));
        attributes.insert("cols".to_owned(), to_markdoc_value(&span.columns));
        attributes.insert("rows".to_owned(), to_markdoc_value(&span.rows));
        cells.push(node_ext::new_tag("bento-cell", attributes, vec![node]));
    }
    (intro, cells)
}

fn size_for_level(level: u8) -> &'static str {
    match level {
        1 => "full",
        2 => "large",
        3 => "medium",
        _ => "small",
    }
}

/// `4x2` is four columns and two rows, `3` three columns and one row; other values are skipped.
fn parse_spans(levels: &str) -> Vec<CellSpan> {
    let parse_integer = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| parse_int(text)).flatten().map(json_number)
    };
    let parse_span = |text: &str| {
        let (columns, rows) =
            text.split_once(['x', 'X']).map_or((text, "1"), |(columns, rows)| (columns, rows));
        Some(CellSpan { columns: parse_integer(columns)?, rows: parse_integer(rows)? })
    };
    levels.split(',').filter_map(|text| parse_span(text.js_trim())).collect()
}

/// The attributes that the grid passes to its tiles.
fn inherited_attributes(arguments: &Arguments) -> Vec<(&'static str, Value)> {
    let position = arguments.truthy("media-position").map(|position| ("media-position", position.clone()));
    let frame_attributes = FORWARDED_ATTRIBUTES.iter().filter_map(|name| {
        let value = arguments.get(name).filter(|value| !value.is_null() && value.as_str() != Some(""))?;
        Some((*name, Value::from(to_js_string(value))))
    });
    position.into_iter().chain(frame_attributes).collect()
}

fn apply_inherited(mut cell: MarkdocNode, inherited: &[(&'static str, Value)]) -> MarkdocNode {
    for (name, value) in inherited {
        if !cell.attributes.contains(name) {
            cell.attributes.insert((*name).to_owned(), to_markdoc_value(value));
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_spans_skips_invalid_entries() {
        let spans = parse_spans("6x2, 3, bad, 2X3, x, 4x, ,1x2x3");
        let spans: Vec<String> = spans.iter().map(|span| format!("{}x{}", span.columns, span.rows)).collect();
        assert_eq!(spans, ["6x2", "3x1", "2x3"]);
    }
}
