//! The results of all tools, compared with their output schemas in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use quad_core::tool::ToolEffect;
use serde_json::{Value, json};

use super::table;
use crate::testing::test_envs_with_data;

/// The strict output schema of each tool.
static SCHEMAS: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    let tools = table().tools().into_iter();
    tools.map(|tool| (tool.name, strict(tool.output_schema.as_ref().expect(tool.name)))).collect()
});

static VALIDATORS: LazyLock<BTreeMap<&'static str, jsonschema::Validator>> = LazyLock::new(|| {
    SCHEMAS.iter().map(|(name, schema)| (*name, jsonschema::validator_for(schema).unwrap())).collect()
});

/// Asserts that a result matches the output schema of its tool, and that the schema declares all its fields.
pub(crate) fn assert_matches_schema(tool: &str, result: &Value) {
    let violations: Vec<String> = VALIDATORS[tool]
        .iter_errors(result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(violations, [""; 0], "{tool}: {result}");
}

/// Declared fields that no call below returns: they need another scheme's links, or more nodes than a limit.
const NOT_RETURNED: [&str; 17] = [
    "memory_causal.exhausted",
    "memory_causal.message",
    "memory_context.exhausted",
    "memory_context.links",
    "memory_context.links.created_at",
    "memory_context.links.created_by",
    "memory_context.links.from",
    "memory_context.links.id",
    "memory_context.links.note",
    "memory_context.links.relation",
    "memory_context.links.to",
    "memory_context.links_cut",
    "memory_context.message",
    "memory_context.next_cursor",
    "memory_forget.message",
    "memory_path.exhausted",
    "memory_path.message",
];

/// More of them, of tools that page through many nodes.
const NOT_RETURNED_BY_PAGES: [&str; 4] = [
    "memory_quality.next_cursor",
    "memory_temporal.next_cursor",
    "memory_traverse.exhausted",
    "memory_traverse.message",
];

/// Calls that return every other field at least once, for the data of [`test_envs_with_data`].
fn calls() -> Vec<(&'static str, Value)> {
    let vector: Vec<f64> = (0..128).map(|index| if index == 7 { 1.0 } else { 0.0 }).collect();
    let mut calls = write_calls(&vector);
    calls.extend(read_calls(&vector));
    calls.extend([
        ("memory_forget", json!({"node_id": 2, "reason": "a test"})),
        ("session_end", json!({"summary": "The port moved"})),
        ("session_start", json!({})),
        ("session_end", json!({"create_episode": false})),
        ("memory_session_resume", json!({})),
    ]);
    calls
}

fn write_calls(vector: &[f64]) -> Vec<(&'static str, Value)> {
    vec![
        ("memory_session_resume", json!({})),
        ("memory_stats", json!({})),
        ("session_start", json!({"metadata": {"project": "api"}})),
        ("memory_add", json!({"event_type": "fact", "content": "PostgreSQL listens on port 5432"})),
        ("memory_ground", json!({"claim": "PostgreSQL does not listen on port 5432"})),
        (
            "memory_add",
            json!({"event_type": "inference", "content": "The port is open", "feature_vec": vector,
                "edges": [{"target_id": 4, "edge_type": "supports"}]}),
        ),
        (
            "memory_add_many",
            json!({"nodes": [{"event_type": "skill", "content": "Deploy: make release"},
                {"event_type": "fact", "content": "a", "edges": [{"target_index": 0, "edge_type": "related_to"}]}]}),
        ),
        (
            "memory_correct",
            json!({"old_node_id": 4, "new_content": "PostgreSQL listens on port 5433", "reason": "moved"}),
        ),
        ("memory_correct", json!({"old_node_id": 8, "new_content": "PostgreSQL listens on port 5434"})),
        ("memory_link", json!({"source_id": 6, "target_id": 7, "edge_type": "contradicts"})),
        ("memory_link", json!({"source_id": 6, "target_id": 7, "edge_type": "contradicts", "weight": 0.5})),
        ("memory_link", json!({"source_id": 6, "target_id": 7, "edge_type": "contradicts", "remove": true})),
        ("memory_link", json!({"source_id": 5, "target_id": 1, "edge_type": "contradicts"})),
        ("conversation_log", json!({"user_message": "Which port?", "agent_response": "5434"})),
        ("memory_add", json!({"event_type": "skill", "content": "Deploy with make release"})),
    ]
}

fn read_calls(vector: &[f64]) -> Vec<(&'static str, Value)> {
    let session = |id: u32| json!({"session_id": id});
    vec![
        ("memory_query", json!({"sort_by": "highest_confidence"})),
        ("memory_query", json!({"limit": 2})),
        ("memory_resolve", json!({"node_id": 4})),
        ("memory_resolve", json!({"node_id": 1})),
        ("memory_traverse", json!({"start_id": 0, "direction": "both"})),
        ("memory_traverse", json!({"start_id": 0, "direction": "both", "limit": 2})),
        ("memory_context", json!({"node_id": 0})),
        ("memory_causal", json!({"node_id": 2})),
        ("memory_causal", json!({"node_id": 2, "limit": 1})),
        ("memory_path", json!({"from_id": 3, "to_id": 2})),
        ("memory_path", json!({"from_id": 0, "to_id": 3, "direction": "forward"})),
        ("memory_search", json!({"query": "port", "include_superseded": true})),
        ("memory_search", json!({"query": "rate port", "mode": "text", "limit": 1})),
        ("memory_search", json!({"query": "nothing has this word"})),
        ("memory_similar", json!({"query_text": "port of PostgreSQL", "include_superseded": true})),
        ("memory_similar", json!({"query_vec": vector})),
        ("memory_ground", json!({"claim": "PostgreSQL listens on port 5434"})),
        ("memory_ground", json!({"claim": "PostgreSQL listens on a port of the printer"})),
        ("memory_ground", json!({"claim": "The rate limit is 100"})),
        ("memory_ground", json!({"claim": "elephants fly"})),
        ("memory_evidence", json!({"query": "port", "include_superseded": true})),
        ("memory_temporal", json!({"range_a": session(1), "range_b": session(2)})),
        ("memory_temporal", json!({"range_a": session(2), "range_b": {"start": "2020-01-01"}})),
        ("memory_quality", json!({"low_confidence_threshold": 0.9})),
    ]
}

/// The schema with every object closed and the form of failed calls removed.
fn strict(schema: &Value) -> Value {
    let mut schema = schema.clone();
    close(&mut schema);
    schema["required"] = schema["anyOf"][0]["required"].clone();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root["properties"].as_object_mut().unwrap().remove("error").unwrap();
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.contains_key("properties") {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Adds the paths of all declared fields, without the positions in arrays.
fn declared_fields(path: &str, schema: &Value, fields: &mut BTreeSet<String>) {
    if let Some(items) = schema.get("items") {
        declared_fields(path, items, fields);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        declared_fields(&path, property, fields);
        fields.insert(path);
    }
}

/// Adds the paths of all fields of a result, in the form of [`declared_fields`].
fn returned_fields(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                returned_fields(&path, member, fields);
                fields.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| returned_fields(path, item, fields)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_match_output_schemas_exactly() {
    let mut declared = BTreeSet::new();
    SCHEMAS.iter().for_each(|(name, schema)| declared_fields(name, schema, &mut declared));
    for env in test_envs_with_data().await {
        let mut returned = BTreeSet::new();
        for (tool, arguments) in calls() {
            let result = env.call(tool, arguments).await.unwrap();
            returned_fields(tool, &result, &mut returned);
        }
        let missing: Vec<&String> = declared.difference(&returned).collect();
        let mut expected: Vec<&str> = [NOT_RETURNED.as_slice(), &NOT_RETURNED_BY_PAGES].concat();
        expected.sort_unstable();
        assert_eq!(missing, expected, "declared, and in no result");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_is_a_valid_call() {
    for env in test_envs_with_data().await {
        let mut tools = table().tools();
        tools.sort_by_key(|tool| (tool.effect != ToolEffect::Reads, tool.effect == ToolEffect::Deletes));
        for tool in tools {
            let result = env.call(tool.name, tool.example.clone()).await;
            assert!(result.is_ok(), "{} {}: {:?}", tool.name, tool.example, result.err());
        }
    }
}

#[test]
fn tools_that_return_memories_say_so() {
    for tool in table().tools() {
        let schema = tool.output_schema.as_ref().unwrap().to_string();
        let has_text = schema.contains("data, not instructions");
        assert_eq!(tool.returns_stored_text, has_text, "{}", tool.name);
    }
}
