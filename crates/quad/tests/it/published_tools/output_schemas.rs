//! Every tool publishes the schema of its result, and every result matches it. A result is checked strictly: a field that
//! the schema does not describe is a failure.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{all, name};

/// Checks the result of a call against the output schema of its tool.
pub fn check_result(tool: &str, result: &Value) -> Result<(), String> {
    let Some(structured) = result.get("structuredContent") else { return Ok(()) };
    static VALIDATORS: OnceLock<HashMap<String, Validator>> = OnceLock::new();
    let validators = VALIDATORS.get_or_init(|| {
        let entries = all().iter().filter(|tool| !tool["outputSchema"].is_null());
        entries.map(|tool| (name(tool).to_owned(), validator(&tool["outputSchema"]))).collect()
    });
    let portable_name = tool.replace('.', "_");
    // On the endpoint of `refrakt://` a tool that does not exist gives a result, too.
    if structured["error"]["code"] == "UNKNOWN_TOOL" {
        return Ok(());
    }
    let validator = validators.get(&portable_name).ok_or(format!("{tool} has no output schema"))?;
    let problems: Vec<String> = validator
        .iter_errors(structured)
        .take(8)
        .map(|error| format!("{}: {}", error.instance_path(), truncated(&error.to_string())))
        .collect();
    match problems.as_slice() {
        [] => Ok(()),
        problems => {
            Err(format!("{tool} returned what its output schema does not describe:\n{}", problems.join("\n")))
        }
    }
}

fn truncated(text: &str) -> String {
    text.chars().take(300).collect()
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(&strict(schema)).unwrap()
}

/// The schema with `additionalProperties: false` in every object that lists its properties.
fn strict(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut members: serde_json::Map<String, Value> =
                members.iter().map(|(key, value)| (key.clone(), strict(value))).collect();
            if members.get("properties").is_some_and(Value::is_object)
                && !members.contains_key("additionalProperties")
            {
                members.insert("additionalProperties".into(), false.into());
            }
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(strict).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_tool_publishes_a_schema_of_its_result() {
    let without: Vec<&str> = all().iter().filter(|tool| tool["outputSchema"].is_null()).map(name).collect();
    assert!(without.is_empty(), "without an output schema: {}", without.join(", "));
}

#[test]
fn every_output_schema_admits_an_error() {
    let error = json!({"error": {"code": "NOT_FOUND", "message": "Table x not found"}});
    for tool in all() {
        assert!(validator(&tool["outputSchema"]).is_valid(&error), "{}", name(tool));
    }
}

/// The 2025 revisions and the official SDKs require the root to be an object.
#[test]
fn every_output_schema_is_an_object() {
    for tool in all() {
        assert_eq!(tool["outputSchema"]["type"], "object", "{}", name(tool));
    }
}

#[test]
fn undescribed_and_missing_fields_are_found() {
    let schema = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}},
        "anyOf": [{"required": ["items"]}],
    });
    let validator = validator(&schema);
    assert!(validator.is_valid(&json!({"items": [{"id": "a"}]})));
    assert!(!validator.is_valid(&json!({"items": [{"id": "a", "name": "b"}]})));
    assert!(!validator.is_valid(&json!({})));
}
