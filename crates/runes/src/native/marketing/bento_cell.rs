//! `bento-cell`. Native: zones are counted without the title, and the size decides where the media is placed.

use quad_markdoc::{NodeType, Value as MarkdocValue};
use serde_json::Value;

use crate::expand::layout::Zones;
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, set_name};
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::js_value::{JsTrim, json_number, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Level of every title: tiles are siblings, whatever heading they come from.
const TITLE_LEVEL: f64 = 3.0;

/// Default number of columns.
const DEFAULT_COLUMNS: i64 = 6;

/// Columns and rows of a tile.
#[derive(Clone, Debug)]
pub(super) struct CellSpan {
    pub columns: Value,
    pub rows: Value,
}

/// The span of a named size in a grid with this many columns. An unknown name is small.
pub(super) fn span_of_size(size: &str, columns: &Value) -> CellSpan {
    let column_count = to_js_number(columns);
    let clamp_columns = |part: f64| {
        // NaN stays NaN, and counts as missing where it is used.
        let rounded = (part + 0.5).floor();
        if column_count.is_nan() { Value::Null } else { json_number(rounded.min(column_count).max(1.0)) }
    };
    let (columns, rows) = match size {
        "full" => (if column_count.is_nan() { Value::Null } else { columns.clone() }, 1),
        "large" => (clamp_columns(column_count * 2.0 / 3.0), 2),
        "medium" => (clamp_columns(column_count / 2.0), 1),
        _ => (clamp_columns(column_count / 3.0), 1),
    };
    CellSpan { columns, rows: rows.into() }
}

/// A value as a number, as JavaScript converts operands.
fn to_js_number(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => {
            let text = text.js_trim();
            let has_letters =
                text.bytes().any(|byte| byte.is_ascii_alphabetic() && byte != b'e' && byte != b'E');
            match text {
                "" => 0.0,
                _ if has_letters => f64::NAN,
                _ => text.parse().unwrap_or(f64::NAN),
            }
        }
        Value::Array(_) | Value::Object(_) => f64::NAN,
    }
}

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut nodes = content.take("body");
    let title = match nodes.first() {
        Some(first) if first.kind == NodeType::Heading => Some(nodes.remove(0)),
        _ => None,
    };
    let zones = Zones::split(nodes);

    let size = arguments.non_null_or("size", "medium");
    let mut root = with_values(RootBuilder::new("bento-cell", "div"), &arguments, &size);
    if !zones.media.is_empty() {
        let media = unwrap_paragraphs(cx.render_nodes(zones.media)?);
        root = root.child(
            Element::new("div")
                .with_attr("data-section", "media")
                .with_attr("data-name", "media")
                .with_children(media),
        );
    }
    if let Some(mut title) = title {
        title.attributes.insert("level".to_owned(), MarkdocValue::Number(TITLE_LEVEL));
        let mut title = cx.render_nodes(vec![title])?;
        title.truncate(1);
        title.iter_mut().for_each(|title| set_name(title, "title"));
        root = root.children(title);
    }
    root = root.child(named_element("div", "body", unwrap_paragraphs(cx.render_nodes(zones.body)?)));
    if !zones.footer.is_empty() {
        root = root.child(named_element("footer", "footer", cx.render_nodes(zones.footer)?));
    }
    let href = to_js_string(&arguments.non_null_or("href", ""));
    if !href.is_empty() {
        let link = Element::new("a").with_attr("data-name", "link").with_attr("href", href);
        root = root.child(link.with_attr("aria-hidden", "true").with_attr("tabindex", "-1"));
    }
    let default_position = if matches!(size.as_str(), Some("large" | "full")) { "start" } else { "top" };
    Ok(root
        .build()
        .with_attr("data-media-position", arguments.non_null_or("media-position", default_position)))
}

fn with_values(root: RootBuilder, arguments: &Arguments, size: &Value) -> RootBuilder {
    let span = span_of_size(&to_js_string(size), &Value::from(DEFAULT_COLUMNS));
    let argument_or = |name: &str, default: &Value| to_js_string(arguments.truthy(name).unwrap_or(default));
    root.value("size", size.clone())
        .value("cols", argument_or("cols", &span.columns))
        .value("rows", argument_or("rows", &span.rows))
        .value("content-height", arguments.non_null_or("content-height", ""))
        .value("media-ratio", arguments.non_null_or("media-ratio", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_of_size_scales_with_columns() {
        let span = |size: &str, columns: Value| {
            let span = span_of_size(size, &columns);
            format!("{}x{}", span.columns, span.rows)
        };
        assert_eq!(span("large", 6.into()), "4x2");
        assert_eq!(span("medium", 5.into()), "3x1");
        assert_eq!(span("small", 1.into()), "1x1");
        assert_eq!(span("full", "4".into()), "\"4\"x1");
        assert_eq!(span("medium", "four".into()), "nullx1");
    }
}
