//! The tools as hosts receive them: flat schemas, examples that match, a default profile that is small.

use quad_core::Tool;
use serde_json::{Value, json};

use super::table;
use crate::testing::{strict, test_envs_with_data};

/// Every schema within a schema.
fn nested<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    found.push(schema);
    for child in schema["properties"].as_object().into_iter().flatten() {
        nested(child.1, found);
    }
    if schema.get("items").is_some() {
        nested(&schema["items"], found);
    }
}

#[test]
fn input_schemas_are_flat_and_have_single_types() {
    for tool in table().tools() {
        let schema = tool.to_json()["inputSchema"].clone();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let mut schemas = Vec::new();
        nested(&schema, &mut schemas);
        for schema in schemas {
            let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{}: {schema}", tool.name));
            assert_eq!(kind == "array", schema.get("items").is_some(), "{}: {schema}", tool.name);
            for keyword in ["oneOf", "anyOf", "allOf", "$ref", "const", "not"] {
                assert!(schema.get(keyword).is_none(), "{}: {keyword}", tool.name);
            }
        }
    }
}

#[test]
fn examples_match_their_schemas() {
    for tool in table().tools() {
        let validator = jsonschema::validator_for(&tool.input_schema).unwrap();
        assert!(validator.is_valid(&tool.example), "{}: {}", tool.name, tool.example);
        let takes_arguments = tool.input_schema["properties"].as_object().is_some_and(|all| !all.is_empty());
        assert_eq!(tool.example != json!({}), takes_arguments, "{}", tool.name);
    }
}

#[test]
fn output_schemas_admit_a_failure_and_nothing_undescribed() {
    for tool in table().tools() {
        let validator = jsonschema::validator_for(&strict(tool.output_schema.as_ref().unwrap())).unwrap();
        let failure = json!({"error": {"code": "NOT_FOUND", "message": "Table not found: x"}});
        assert!(validator.is_valid(&failure), "{}", tool.name);
        assert!(!validator.is_valid(&json!({"undescribed": true})), "{}", tool.name);
    }
}

#[test]
fn default_tools_are_described_in_few_bytes() {
    /// The share of `bkend://` in a default list of 45 tools that stays below 7,000 tokens.
    const BYTES_MAX: usize = 7_000;
    let sent = |tool: &Tool| {
        let entry = tool.to_json();
        json!({"name": tool.name, "description": tool.description, "input_schema": entry["inputSchema"]})
            .to_string()
            .len()
    };
    let bytes: usize = table().tools().iter().filter(|tool| tool.core).map(|tool| sent(tool)).sum();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
}

#[test]
fn results_with_rows_are_marked_as_stored_text() {
    let marked: Vec<&str> =
        table().tools().iter().filter(|tool| tool.returns_stored_text).map(|tool| tool.name).collect();
    assert_eq!(
        marked,
        ["backend_data_list", "backend_data_get", "backend_data_create", "backend_data_update"]
    );
}

#[test]
fn descriptions_say_what_does_not_work_yet() {
    let description =
        |name: &str| table().tools().iter().find(|tool| tool.name == name).unwrap().description.to_owned();
    assert!(description("backend_table_update").contains("not enforced"));
    assert!(description("backend_field_manage").contains("cannot be read or restored"));
    assert!(description("backend_data_list").contains("no filters"));
}

/// A row is the result itself, so that a field of the user is beside `error`, which a failed call has.
#[tokio::test(flavor = "multi_thread")]
async fn row_with_a_field_named_error_matches_the_output_schema() {
    for test_env in test_envs_with_data().await {
        let fields = json!([{"name": "error", "type": "string"}, {"name": "items", "type": "int"}]);
        test_env.call("backend_table_create", json!({"name": "logs", "fields": fields})).await.unwrap();
        let row = json!({"tableId": "logs", "data": {"error": "disk full", "items": 3}});
        let created = test_env.call("backend_data_create", row).await.unwrap();
        assert_eq!((&created["error"], &created["items"]), (&json!("disk full"), &json!(3)));
        let listed = test_env.call("backend_data_list", json!({"tableId": "logs"})).await.unwrap();
        assert_eq!(listed["items"][0], created);
    }
}
