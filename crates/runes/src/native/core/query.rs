//! Runes that list content of other pages: collection, relationships, aggregate.
//!
//! Native: they only record the query; a site, which knows the other pages, runs it. The body is the site's template
//! and is not rendered here.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element};
use crate::expand::{Arguments, RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// Arguments in order, each with its default.
type QueryFields = &'static [(&'static str, &'static str)];

const COLLECTION: QueryFields = &[
    ("type", ""),
    ("filter", ""),
    ("sort", ""),
    ("group", ""),
    ("limit", ""),
    ("fields", ""),
    ("layout", "list"),
    ("group-display", "headings"),
    ("empty", ""),
];

const RELATIONSHIPS: QueryFields = &[
    ("of", ""),
    ("kind", ""),
    ("type", ""),
    ("group", "kind"),
    ("group-display", "headings"),
    ("sort", ""),
    ("limit", ""),
    ("fields", ""),
    ("layout", "list"),
    ("empty", ""),
];

const AGGREGATE: QueryFields = &[
    ("type", ""),
    ("filter", ""),
    ("value", ""),
    ("group", ""),
    ("sort", ""),
    ("limit", ""),
    ("empty", ""),
    ("layout", ""),
    ("chart-type", "bar"),
    ("chart-title", ""),
];

/// The recorded query, with the mark that a site looks for.
fn query_metadata(rune: &str, fields: QueryFields, arguments: &Arguments) -> Vec<RenderNode> {
    let field_element = |&(name, default): &(&str, &str)| {
        let value = match arguments.get(name) {
            // An entity is recorded by its id.
            Some(Value::Object(entity)) if name == "of" => {
                entity.get("id").map(to_js_string).unwrap_or_default()
            }
            Some(Value::Null) | None => default.to_owned(),
            Some(value) => to_js_string(value),
        };
        field_meta_element(&format!("{rune}-{name}"), value)
    };
    let sentinel = field_meta_element(&format!("__{rune}-sentinel"), "true");
    fields.iter().map(field_element).chain([sentinel]).collect()
}

fn listing_element(rune: &str, fields: QueryFields, arguments: &Arguments) -> RenderNode {
    let metadata = query_metadata(rune, fields, arguments);
    RootBuilder::new(rune, "section").children(metadata).child(named_element("div", "items", [])).build()
}

pub(super) fn transform_collection(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    Ok(listing_element("collection", COLLECTION, &rune_use.arguments))
}

pub(super) fn transform_relationships(
    rune_use: RuneUse<'_>,
    _cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    Ok(listing_element("relationships", RELATIONSHIPS, &rune_use.arguments))
}

/// A number within a line, or a chart.
pub(super) fn transform_aggregate(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let is_chart = rune_use.arguments.get("layout").and_then(Value::as_str) == Some("chart");
    let root = RootBuilder::new("aggregate", if is_chart { "section" } else { "span" });
    Ok(root.children(query_metadata("aggregate", AGGREGATE, &rune_use.arguments)).build())
}
