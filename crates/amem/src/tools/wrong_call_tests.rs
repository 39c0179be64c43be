//! Calls as models make them: what is understood, and what the errors of the others say.

use serde_json::{Value, json};

use super::{CORE_TOOLS, table};
use crate::testing::{MemoryEnv, test_envs_with_data};
use crate::{INSTRUCTIONS, prompt};

/// Whether `value` has everything that `expected` has.
fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| value.get(name).is_some_and(|value| contains(value, expected))),
        _ => value == expected,
    }
}

/// The words of a text that are names of tools.
fn tools_in(text: &str) -> Vec<String> {
    let names = table().names();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| names.contains(word)).map(str::to_owned).collect()
}

async fn error_text(env: &MemoryEnv, tool: &str, arguments: Value) -> String {
    let result = env.call(tool, arguments.clone()).await;
    let Err(error) = result else { panic!("{tool} {arguments} is not refused: {result:?}") };
    assert!(error.hint_text().is_some(), "{tool} {arguments}: {error}");
    for named in tools_in(error.hint_text().unwrap_or_default()) {
        assert!(CORE_TOOLS.contains(&&*named) || named == tool, "{tool} {arguments}: hint names {named}");
    }
    error.message_with_hint()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_and_forms_of_arguments_are_understood() {
    for env in test_envs_with_data().await {
        let mut failures = Vec::new();
        for (tool, arguments, expected) in [
            ("memory_search", json!({"q": "rate limit", "mode": "text"}), json!({"count": 1})),
            (
                "memory_search",
                json!({"text": "rate cron", "mode": "TEXT", "max_results": "1"}),
                json!({"count": 1}),
            ),
            ("memory_search", json!({"query": "rate cron", "mode": "text", "top_k": 1}), json!({"count": 1})),
            ("memory_search", json!({"query": "cron", "mode": "text", "type": "fact"}), json!({"count": 0})),
            (
                "memory_search",
                json!({"query": "cron", "mode": "text", "session": "session:1"}),
                json!({"count": 1}),
            ),
            (
                "memory_search",
                json!({"query": "cron", "mode": "text", "since": "2020-01-31"}),
                json!({"count": 1}),
            ),
            (
                "memory_search",
                json!({"query": "cron", "mode": "text", "before": "2020-01-31"}),
                json!({"count": 0}),
            ),
            (
                "memory_search",
                json!({"query": "cron", "mode": "text", "created_before": 5}),
                json!({"count": 0}),
            ),
            ("memory_query", json!({"types": "[\"fact\"]"}), json!({"count": 1})),
            ("memory_query", json!({"session_id": "amem://session/1", "count": 2}), json!({"count": 2})),
            (
                "memory_query",
                json!({"after": "2020-01-31T08:00:00+01:00", "until": "2999-12-31"}),
                json!({"count": 4}),
            ),
            ("memory_query", json!({"created_after": "1580457600000000"}), json!({"count": 4})),
            ("memory_query", json!({"sort": "Most Recent", "cursor": null}), json!({"count": 4})),
            (
                "memory_context",
                json!({"id": "amem://node/0", "max_depth": "1"}),
                json!({"center_id": 0, "depth": 1}),
            ),
            ("memory_context", json!({"memory_id": "#0"}), json!({"center_id": 0})),
            ("memory_traverse", json!({"node": "0", "hops": 1, "k": 1}), json!({"visited_count": 1})),
            ("memory_causal", json!({"root": 0}), json!({"root_id": 0})),
            ("memory_path", json!({"from": "node 3", "to": "node 2"}), json!({"found": true})),
            ("memory_similar", json!({"query": "rate limit", "k": 1}), json!({"count": 1})),
            ("memory_ground", json!({"statement": "rate limit is 200"}), json!({"status": "verified"})),
            ("memory_evidence", json!({"question": "PostgreSQL", "limit": 1}), json!({"count": 1})),
            (
                "memory_temporal",
                json!({"range_a": {"session_id": "1"}, "range_b": "{\"start\": \"2020-01-31\"}"}),
                json!({"summary": {"added_count": 0}}),
            ),
            (
                "memory_temporal",
                json!({"range_a": {"type": "session", "session_id": 1},
                    "range_b": {"type": "time_window", "start": 0, "end": 4_611_686_018_427_387_904_i64}}),
                json!({"summary": {"unchanged_count": 3, "corrected_count": 1}}),
            ),
            (
                "memory_quality",
                json!({"max_examples": 0, "low_confidence_threshold": "0.6"}),
                json!({"status": "warn"}),
            ),
            ("memory_session_resume", json!({"max_results": 3}), json!({"current_session": 1})),
            ("memory_correct", json!({"id": "amem://node/1", "content": "x"}), json!({"new_node_id": 4})),
            ("memory_add", json!({"type": "Fact", "text": "y", "links": []}), json!({"node_id": 5})),
            (
                "memory_add",
                json!({"eventType": "fact", "content": "z", "edges": {"target_id": "amem://node/5", "edge_type": "part-of"}}),
                json!({"edges_created": 2}),
            ),
            (
                "memory_link",
                json!({"from": "5", "to": "amem://node/6", "type": "derived_from"}),
                json!({"edge_type": "caused_by"}),
            ),
            ("conversation_log", json!({"user": "hi"}), json!({"node_id": 7})),
            (
                "memory_search",
                json!({"search": "cron", "mode": "text", "from": "2020-01-31", "to": "2999-12-31"}),
                json!({"count": 1}),
            ),
            (
                "memory_search",
                json!({"query": "cron", "mode": "text", "event_types": "Inference", "num_results": 1}),
                json!({"count": 1}),
            ),
            ("memory_context", json!({"node": 1, "levels": 1}), json!({"center_id": 1, "depth": 1})),
            ("memory_ground", json!({"text": "rate limit is 200"}), json!({"status": "verified"})),
            ("memory_forget", json!({"id": "7", "why": "a test"}), json!({"forgotten": true})),
            ("session_end", json!({"session": "amem://session/1", "summary": "s"}), json!({"session_id": 1})),
        ] {
            let result = env.call(tool, arguments.clone()).await;
            if !result.as_ref().is_ok_and(|result| contains(result, &expected)) {
                failures.push(format!("{tool} {arguments}: {result:?}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_say_what_to_send() {
    const FIND_NODES: &str = "Find memories with memory_search or memory_query, or read amem://graph/recent";
    const FIND_SESSIONS: &str = "Read amem://sessions for the sessions that exist";
    let no_node = |id: i64| format!("There is no memory with the id {id}. {FIND_NODES}");
    let time_hint =
        "Give a date such as 2026-01-31, a time such as 2026-01-31T08:30:00Z, or microseconds since 1970";
    for env in test_envs_with_data().await {
        for (tool, arguments, expected) in [
            ("memory_context", json!({"node_id": 99}), no_node(99)),
            ("memory_forget", json!({"node_id": "node 99", "reason": "x"}), no_node(99)),
            ("memory_correct", json!({"old_node_id": 99, "new_content": "x"}), no_node(99)),
            ("memory_path", json!({"from_id": 0, "to_id": 99}), no_node(99)),
            ("memory_link", json!({"source_id": 0, "target_id": 99, "edge_type": "supports"}), no_node(99)),
            (
                "memory_context",
                json!({"node_id": "the rate limit"}),
                format!("node_id is not the id of a memory: the rate limit. {FIND_NODES}"),
            ),
            (
                "memory_context",
                json!({"node_id": -1}),
                format!("node_id is not the id of a memory: -1. {FIND_NODES}"),
            ),
            (
                "memory_add",
                json!({"event_type": "fact", "content": "x", "edges": [{"target_id": "x", "edge_type": "supports"}]}),
                format!("target_id is not the id of a memory: x. {FIND_NODES}"),
            ),
            (
                "session_end",
                json!({"session_id": 9}),
                format!("There is no session with the id 9. {FIND_SESSIONS}"),
            ),
            (
                "session_end",
                json!({"session_id": "current"}),
                format!(
                    "session_id is not the id of a session, a whole number below 4294967296: current. {FIND_SESSIONS}"
                ),
            ),
            (
                "memory_query",
                json!({"session_ids": [-1]}),
                format!(
                    "session_ids is not the id of a session, a whole number below 4294967296: -1. {FIND_SESSIONS}"
                ),
            ),
            (
                "memory_search",
                json!({"query": "rate", "created_after": "last week"}),
                format!("created_after is not a time: last week. {time_hint}"),
            ),
            (
                "memory_query",
                json!({"created_after": "2026-02-01", "created_before": "2026-01-31"}),
                "created_before is earlier than created_after. \
                 Give created_before a time after created_after, or leave one of them out"
                    .to_owned(),
            ),
        ] {
            assert_eq!(error_text(&env, tool, arguments.clone()).await, expected, "{tool} {arguments}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_name_the_next_step() {
    let edges = |edge: Value| json!({"event_type": "fact", "content": "x", "edges": [edge]});
    for env in test_envs_with_data().await {
        let mut failures = Vec::new();
        for (tool, arguments, expected) in [
            ("memory_add", json!({"event_type": "observation", "content": "x"}), "Use one of "),
            ("memory_add", json!({"event_type": "facts", "content": "x"}), "Use one of fact, "),
            ("memory_add", json!({"event_type": "fact"}), "Missing argument content"),
            ("memory_add", json!({"content": "x"}), "Example: memory_add {"),
            ("memory_add", json!({"event_type": "fact", "content": "x", "tags": ["a"]}), "Use only "),
            (
                "memory_add",
                json!({"event_type": "fact", "content": "x", "confidence": 95}),
                "not more than 1",
            ),
            ("memory_add", json!({"event_type": "fact", "content": "a\u{0}b"}), "Remove the NUL characters"),
            ("memory_add", edges(json!({"target_id": 0, "edge_type": "because"})), "Use one of "),
            (
                "memory_add",
                edges(json!({"target_id": 4, "edge_type": "supports"})),
                "target_id names the memory itself",
            ),
            ("memory_add", edges(json!({"edge_type": "supports"})), "Missing argument edges.0.target_id"),
            (
                "memory_add",
                json!({"event_type": "fact", "content": "x", "confidence": "high"}),
                "Send confidence as a number",
            ),
            ("memory_add_many", json!({"nodes": []}), "nodes"),
            (
                "memory_add_many",
                json!({"nodes": [edges(json!({"target_index": 1, "edge_type": "supports"}))]}),
                "target_index is 1, but nodes has 1 entries",
            ),
            (
                "memory_add_many",
                json!({"nodes": [edges(json!({"edge_type": "supports"}))]}),
                "edges has a link without target_id and target_index. Give each link edge_type and one target",
            ),
            (
                "memory_add_many",
                json!({"nodes": [edges(json!({"target_id": 0, "target_index": 0, "edge_type": "supports"}))]}),
                "edges has a link with both target_id and target_index. Give each link",
            ),
            (
                "memory_link",
                json!({"source_id": 3, "target_id": 0, "edge_type": "supports", "remove": true}),
                "Read amem://node/3",
            ),
            (
                "memory_link",
                json!({"source_id": 0, "target_id": 3, "edge_type": "supersedes"}),
                "memory_correct",
            ),
            ("memory_forget", json!({"node_id": 1}), "Missing argument reason"),
            ("memory_forget", json!({"node_id": 1, "reason": " "}), "Say why"),
            ("memory_query", json!({"limit": 0}), "limit is 0, less than 1"),
            ("memory_query", json!({"limit": 100_000}), "limit is 100000, more than 1000"),
            ("memory_query", json!({"min_confidence": 90}), "not more than 1"),
            ("memory_query", json!({"sort_by": "newest"}), "Use one of "),
            ("memory_query", json!({"cursor": "page2"}), "Start again without a cursor"),
            ("memory_traverse", json!({"start_id": 0, "cursor": "2"}), "Start again without a cursor"),
            ("memory_traverse", json!({"start_id": 0, "direction": "outgoing"}), "Use one of "),
            ("memory_context", json!({"node_id": 0, "depth": 9}), "depth is 9, more than 5"),
            ("memory_search", json!({}), "Missing argument query"),
            ("memory_search", json!({"query": ["rate"]}), "Send query as a string (What to look for)"),
            ("memory_search", json!({"query": "rate", "limit": 5_000}), "not more than"),
            ("memory_query", json!({"query": "rate"}), "Use only "),
            ("memory_forget", json!({"node_ids": [1], "reason": "x"}), "Send node_id as an integer"),
            ("memory_session_resume", json!({"session_id": 1}), "Use only limit"),
            ("session_start", json!({"name": "planning"}), "Use only metadata, session_id"),
            ("session_start", json!({"session_id": "planning"}), "amem://sessions"),
            (
                "memory_temporal",
                json!({"from": "2026-01-01", "to": "2026-02-01"}),
                "Example: memory_temporal {",
            ),
            (
                "memory_temporal",
                json!({"range_a": "2026-01", "range_b": "2026-02"}),
                "Send range_a as an object (The earlier range: times or sessions)",
            ),
            ("memory_search", json!({"query": "rate", "cursor": "x"}), "mode text"),
            ("memory_search", json!({"query": "?!"}), ". "),
            ("memory_similar", json!({}), "Give query_text or query_vec"),
            ("memory_similar", json!({"query_vec": [0, 0]}), "Give another vector"),
            (
                "memory_temporal",
                json!({"range_a": {}, "range_b": {}}),
                "range_a is empty. Give start and end",
            ),
            (
                "memory_temporal",
                json!({"range_a": {"start": "2026-02-01", "end": "2026-01-01"}, "range_b": {"session_id": 1}}),
                "end is earlier than start",
            ),
            ("conversation_log", json!({}), "Give user_message, agent_response or both"),
        ] {
            let text = error_text(&env, tool, arguments.clone()).await;
            if !text.contains(expected) {
                failures.push(format!("{tool} {arguments}: {text}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        env.call("session_end", json!({})).await.unwrap();
        for (arguments, expected) in
            [(json!({}), "session_start"), (json!({"session_id": 1}), "session_start")]
        {
            let text = error_text(&env, "session_end", arguments).await;
            assert!(text.contains(expected), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_reads_name_the_next_step() {
    for env in test_envs_with_data().await {
        for (uri, expected) in [
            ("amem://node/99", "memory_search"),
            ("amem://node/99/neighborhood", "memory_search"),
            ("amem://session/99", "amem://sessions"),
            ("amem://session/4294967296", "amem://sessions"),
            ("amem://types/facts", "fact"),
            ("amem://node/0/neighborhood?depth=6", "Give a depth from 1 to 5"),
            ("amem://types/fact?limit=0", "Give a limit from 1 to"),
            ("amem://types/fact?cursor=x", "Start again without a cursor"),
            ("amem://search", "amem://search?q="),
        ] {
            let error = env.read(uri).await.unwrap_err();
            assert!(error.hint_text().is_some_and(|hint| hint.contains(expected)), "{uri}: {error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_and_prompts_name_only_default_tools() {
    let env = test_envs_with_data().await.remove(0);
    let mut texts = vec![INSTRUCTIONS.to_owned()];
    for prompt in &prompt::PROMPTS {
        let arguments = prompt.arguments.iter().map(|argument| {
            let value = if argument.name.ends_with("_id") { "1" } else { "x" };
            (argument.name.to_owned(), json!(value))
        });
        let messages = env.prompt(prompt.name, Value::Object(arguments.collect())).await.unwrap();
        texts.push(format!("{messages:?}"));
    }
    let mut named: Vec<String> = texts.iter().flat_map(|text| tools_in(text)).collect();
    named.sort_unstable();
    named.dedup();
    assert!(named.len() >= 7, "{named:?}");
    for name in named {
        assert!(CORE_TOOLS.contains(&&*name), "{name}");
    }
}
