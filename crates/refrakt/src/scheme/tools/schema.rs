//! Schema fragments that the tools of this scheme share.

use serde_json::{Value, json};

pub(super) use quad_core::tool_schema::{object, string, string_enum};

use crate::plan::EntityType;

/// A boolean.
pub(super) fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// The name of a site.
pub(super) fn site() -> Value {
    string("The site, by name; needed where the project has several")
}

/// Every value that the attribute may have in some type, each once.
pub(super) fn allowed_values(attribute: &str) -> Vec<&'static str> {
    let mut values: Vec<&'static str> = Vec::new();
    for value in EntityType::ALL.into_iter().flat_map(|kind| kind.allowed_values(attribute)) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    values
}
