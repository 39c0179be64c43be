//! The pieces that the tools' schemas are made of.

use serde_json::{Map, Value, json};

use crate::plan::EntityType;

/// The schema of a tool's arguments: an object with these properties and no others.
pub(super) fn input_schema(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// A text.
pub(super) fn string(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Yes or no.
pub(super) fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// One of these words.
pub(super) fn one_of(words: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

/// The name of a site.
pub(super) fn site() -> Value {
    string("The site, by name; needed where the project has several")
}

/// Every word that an attribute may be for some type, each once.
pub(super) fn allowed_values(attribute: &str) -> Vec<&'static str> {
    let mut values: Vec<&'static str> = Vec::new();
    for value in EntityType::ALL.into_iter().flat_map(|kind| kind.allowed_values(attribute)) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    values
}
