//! JSON Schema fragments for the arguments and the results of tools.

use serde_json::{Map, Value, json};

/// An object with these properties and no others.
pub fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// A string.
pub fn string(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// A string from a closed list.
pub fn string_enum(values: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": values, "description": description})
}

/// An integer within bounds.
pub fn integer(min: usize, max: usize, default: usize) -> Value {
    json!({"type": "integer", "minimum": min, "maximum": max, "default": default})
}

/// A number from 0 to 1.
pub fn ratio(description: &str) -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1, "description": description})
}

/// The cursor of the previous page.
pub fn cursor(description: &str) -> Value {
    string(description)
}

/// The schema of a result: an object with these properties, or `{error}`. Some clients validate the result of a
/// failed call too, and would hide its message if the schema did not admit it.
pub fn result(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let mut properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    properties.insert("error".into(), json!({"type": "object", "description": "Only if the call failed"}));
    json!({
        "type": "object",
        "properties": properties,
        "anyOf": [{"required": required}, {"required": ["error"]}],
    })
}

/// An array of these items.
pub fn array(items: Value, description: &str) -> Value {
    json!({"type": "array", "items": items, "description": description})
}
