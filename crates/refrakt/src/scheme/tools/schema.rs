//! Schema fragments that the tools of this scheme share: of arguments first, then of results.

use serde_json::{Map, Value, json};

pub(super) use quad_core::tool_schema::{array, object, result, string, string_enum};

/// A boolean.
pub(super) fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// An object whose keys the caller chooses.
pub(super) fn free_object(description: &str) -> Value {
    json!({"type": "object", "description": description})
}

/// The name of a site.
pub(super) fn site() -> Value {
    string("Site name; needed if the project has several")
}

/// A text in a result.
pub(super) fn text() -> Value {
    json!({"type": "string"})
}

/// A text in a result, or `null`.
pub(super) fn optional_text() -> Value {
    json!({"type": ["string", "null"]})
}

/// A number without fraction in a result.
pub(super) fn number() -> Value {
    json!({"type": "integer"})
}

/// A yes or no in a result.
pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

/// An object in a result whose keys come from the project.
pub(super) fn map() -> Value {
    json!({"type": "object"})
}

/// A list in a result.
pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// An object in a result: the fields that are always there, and those that may be missing.
pub(super) fn record(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let fields = required.iter().chain(optional);
    let properties: Map<String, Value> =
        fields.map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": names})
}

/// The same value, or `null`.
pub(super) fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    schema
}
