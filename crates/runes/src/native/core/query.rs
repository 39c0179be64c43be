//! Runes that list what other pages hold: collection, relationships, aggregate.
//!
//! Native because they only note what is asked for; a later stage, which knows the other pages, answers. The body is the
//! template of that stage and is not rendered here.

use serde_json::Value;

use crate::schema::component::{Component, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Arguments, Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// What is noted: the arguments in order, and the word where nothing is asked.
type Noted = &'static [(&'static str, &'static str)];

const COLLECTION: Noted = &[
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

const RELATIONSHIPS: Noted = &[
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

const AGGREGATE: Noted = &[
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

/// The notes for the later stage, with the mark by which it finds the place.
fn notes(rune: &str, noted: Noted, arguments: &Arguments) -> Vec<Node> {
    let note = |&(name, otherwise): &(&str, &str)| {
        let value = match arguments.get(name) {
            // A thing stands for its id.
            Some(Value::Object(thing)) if name == "of" => thing.get("id").map(to_text).unwrap_or_default(),
            Some(Value::Null) | None => otherwise.to_owned(),
            Some(value) => to_text(value),
        };
        field_meta(&format!("{rune}-{name}"), value)
    };
    let mark = field_meta(&format!("__{rune}-sentinel"), "true");
    noted.iter().map(note).chain([mark]).collect()
}

fn listing(rune: &str, noted: Noted, arguments: &Arguments) -> Node {
    let notes = notes(rune, noted, arguments);
    Component::new(rune, "section").children(notes).child(part("div", "items", [])).build()
}

pub(super) fn collection(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    Ok(listing("collection", COLLECTION, &call.arguments))
}

pub(super) fn relationships(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    Ok(listing("relationships", RELATIONSHIPS, &call.arguments))
}

/// A number within a line, or a chart.
pub(super) fn aggregate(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let is_chart = call.arguments.get("layout").and_then(Value::as_str) == Some("chart");
    let root = Component::new("aggregate", if is_chart { "section" } else { "span" });
    Ok(root.children(notes("aggregate", AGGREGATE, &call.arguments)).build())
}
