//! Names and input schemas stay within what Anthropic, OpenAI, Gemini and VS Code all document.

use serde_json::{Map, Value};

use super::{all, name};

/// The keywords that all four take. Gemini lists those of the OpenAPI schema object; `additionalProperties` is not among
/// them, but its own command line and its function calls take it as JSON Schema.
const KEYWORDS: [&str; 15] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
];

/// Anthropic and OpenAI refuse longer names, and other characters.
fn is_portable_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[test]
fn every_name_is_portable() {
    for tool in all() {
        assert!(is_portable_name(name(tool)), "{}", name(tool));
    }
}

#[test]
fn every_name_is_used_once() {
    let mut names: Vec<&str> = all().iter().map(name).collect();
    names.sort_unstable();
    let duplicate = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(duplicate, None);
}

#[test]
fn every_input_schema_is_within_the_subset_of_all_hosts() {
    let mut problems = Vec::new();
    for tool in all() {
        let schema = &tool["inputSchema"];
        if schema["type"] != "object" || !schema["properties"].is_object() {
            problems.push(format!("{}: the root is not an object with properties", name(tool)));
        }
        check_schema(name(tool), schema, &mut problems);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn check_schema(path: &str, schema: &Value, problems: &mut Vec<String>) {
    let Some(members) = schema.as_object() else {
        problems.push(format!("{path}: {schema} is not an object"));
        return;
    };
    for keyword in members.keys().filter(|keyword| !is_accepted(keyword)) {
        problems.push(format!("{path}: {keyword} is not accepted everywhere"));
    }
    match members.get("type").and_then(Value::as_str) {
        Some("array") if !members.contains_key("items") => {
            problems.push(format!("{path}: array without items"))
        }
        Some("string" | "integer" | "number" | "boolean" | "array" | "object") => {}
        _ => problems.push(format!("{path}: the type is {:?}", members.get("type"))),
    }
    check_values(path, members, problems);
    let properties = members.get("properties").and_then(Value::as_object);
    for (property, schema) in properties.into_iter().flatten() {
        if !is_portable_name(property) {
            problems.push(format!("{path}.{property}: the name of an argument is not accepted everywhere"));
        }
        check_schema(&format!("{path}.{property}"), schema, problems);
    }
    for required in members.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !properties
            .is_some_and(|properties| properties.contains_key(required.as_str().unwrap_or_default()))
        {
            problems.push(format!("{path}: {required} is required and not a property"));
        }
    }
    if let Some(items) = members.get("items") {
        check_schema(&format!("{path}[]"), items, problems);
    }
}

fn is_accepted(keyword: &str) -> bool {
    KEYWORDS.contains(&keyword)
}

/// Gemini takes enumerations of strings alone, and `additionalProperties` must not be a schema.
fn check_values(path: &str, members: &Map<String, Value>, problems: &mut Vec<String>) {
    if let Some(values) = members.get("enum") {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        if values.is_empty()
            || !values.iter().all(Value::is_string)
            || members.get("type") != Some(&"string".into())
        {
            problems.push(format!("{path}: the enumeration is not one of strings"));
        }
    }
    if members.get("additionalProperties").is_some_and(|value| !value.is_boolean()) {
        problems.push(format!("{path}: additionalProperties is a schema"));
    }
}

#[test]
fn rules_find_what_hosts_refuse() {
    let refused = |schema: Value| {
        let mut problems = Vec::new();
        check_schema("t", &schema, &mut problems);
        problems
    };
    let root = serde_json::json!({"type": "object", "properties": {}, "oneOf": []});
    assert_eq!(refused(root), ["t: oneOf is not accepted everywhere"]);
    let list = serde_json::json!({"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": ["string", "null"]}}});
    assert_eq!(refused(list).len(), 2);
    assert!(!is_portable_name("plan.next"));
}
