//! The tools that find memories by their text.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{ReadSet, Result, Tool};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{input_schema, integer, not_implemented, ratio, run_read, string, structured};
use crate::errors::{self, invalid_argument};
use crate::search::{Filter, SimilarityQuery};
use crate::search_results::{self, SearchRequest};
use crate::{Amem, limits, micros, routes, tags};

/// The default minimum similarity of vectors.
const MIN_VECTOR_SIMILARITY: f64 = 0.5;

/// The default minimum similarity of texts. Lower, because the built-in embedding compares parts of words, and
/// different texts share few.
const MIN_TEXT_SIMILARITY: f64 = 0.2;

/// The default share of a claim's words that must be found.
const GROUND_THRESHOLD: f64 = 0.3;

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::MEMORY_READ, ToolEffect::Reads)
    };
    let types = || json!({"type": "array", "items": {"type": "string"}, "description": "Only these types"});
    let include_superseded =
        || json!({"type": "boolean", "default": false, "description": "Also what has been corrected"});
    let max_results = || integer(1, limits::RESULTS_MAX, limits::SEARCH_DEFAULT);
    let timestamp = || json!({"type": "integer", "minimum": 0, "description": "Microseconds, inclusive"});
    vec![
        tool(
            "memory_search",
            "Search memories",
            "Searches memories by words, \"phrases\" and prefixes*; hybrid also by likeness.",
            input_schema(
                &[
                    ("query", string("What to look for")),
                    ("mode", json!({"type": "string", "enum": ["hybrid", "text"], "default": "hybrid"})),
                    ("event_types", types()),
                    ("session_ids", json!({"type": "array", "items": {"type": "integer", "minimum": 0}})),
                    ("created_after", timestamp()),
                    ("created_before", timestamp()),
                    ("include_superseded", include_superseded()),
                    ("max_results", max_results()),
                    ("cursor", string("next_cursor of the answer before, in mode text")),
                ],
                &["query"],
            ),
        ),
        tool(
            "memory_similar",
            "Similar memories",
            "Finds the memories that are most like a text, or whose own vectors are most like a vector.",
            input_schema(
                &[
                    ("query_text", string("A text")),
                    (
                        "query_vec",
                        json!({"type": "array", "items": {"type": "number"}, "description": "Or 128 numbers"}),
                    ),
                    ("top_k", integer(1, limits::RESULTS_MAX, limits::SEARCH_DEFAULT)),
                    (
                        "min_similarity",
                        json!({"type": "number", "minimum": -1, "maximum": 1, "description": "0.5; 0.2 for texts"}),
                    ),
                    ("event_types", types()),
                    ("include_superseded", include_superseded()),
                ],
                &[],
            ),
        ),
        tool(
            "memory_ground",
            "Ground a claim",
            "Checks whether the memory backs a claim: verified, partial, ungrounded, or superseded with what replaced it.",
            input_schema(
                &[
                    ("claim", string("The claim")),
                    ("threshold", ratio("Share of its words that must be found; 0.3 by default")),
                ],
                &["claim"],
            ),
        ),
        tool(
            "memory_evidence",
            "Evidence",
            "Finds memories about something, each whole, with its links, score and matched words.",
            input_schema(
                &[
                    ("query", string("What to look for")),
                    ("max_results", max_results()),
                    ("include_superseded", include_superseded()),
                ],
                &["query"],
            ),
        ),
    ]
}

pub(super) async fn call(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let raw_arguments = call.arguments;
    let name = call.tool.name;
    let engine = amem.engine.clone();
    run_read(amem, call.caller, move |sql| {
        let (now, arguments) = (micros::now(), Arguments(&raw_arguments));
        let result = match name {
            "memory_search" => {
                let request = search_request(arguments, arguments.required_text("query")?, "max_results")?;
                match (arguments.text("mode").unwrap_or("hybrid"), arguments.text("cursor")) {
                    ("text", cursor) => request.text_json(&engine, sql, cursor, now)?,
                    ("hybrid", None) => request.hybrid_json(&engine, sql, now)?,
                    ("hybrid", Some(_)) => {
                        return Err(invalid_argument(
                            "cursor",
                            "goes with mode text; a hybrid search has one page",
                        ));
                    }
                    (other, _) => return Err(errors::unknown_value("mode", other, &["hybrid", "text"])),
                }
            }
            "memory_similar" => {
                let vector: Vec<f32> = arguments
                    .list("query_vec")
                    .iter()
                    .map(|number| number.as_f64().unwrap_or(f64::NAN) as f32)
                    .collect();
                let (query, default_similarity) =
                    match (arguments.text("query_text"), arguments.get("query_vec")) {
                        (Some(text), None) => (SimilarityQuery::Text(text), MIN_TEXT_SIMILARITY),
                        (None, Some(_)) => (SimilarityQuery::Vector(&vector), MIN_VECTOR_SIMILARITY),
                        _ => {
                            return Err(invalid_argument(
                                "query_text",
                                "this or query_vec is needed, and not both",
                            ));
                        }
                    };
                let min_similarity = arguments.number("min_similarity").unwrap_or(default_similarity) as f32;
                let request = search_request(arguments, "", "top_k")?;
                search_results::similar_json(&engine, sql, query, &request, min_similarity, now)?
            }
            "memory_ground" => {
                let threshold = arguments.number("threshold").unwrap_or(GROUND_THRESHOLD) as f32;
                search_results::ground_claim(&engine, sql, arguments.required_text("claim")?, threshold, now)?
            }
            "memory_evidence" => {
                let request = search_request(arguments, arguments.required_text("query")?, "max_results")?;
                request.evidence_json(&engine, sql, now)?
            }
            name => return Err(not_implemented(name)),
        };
        // Every new memory changes how rare words are, and so the scores.
        let basis = ReadSet::at_version(sql.version()).with_tag(tags::nodes());
        let node_ids = top_node_ids(&result);
        let output = node_ids.into_iter().fold(structured(result), |output, id| {
            output.with_link(format!("amem://node/{id}"), format!("Node {id}"))
        });
        Ok((output, basis))
    })
    .await
}

fn search_request(arguments: Arguments<'_>, text: &str, limit_name: &str) -> Result<SearchRequest> {
    let types = arguments.event_types("event_types")?;
    let sessions = arguments.sessions("session_ids")?;
    Ok(SearchRequest {
        text: text.to_owned(),
        filter: Filter {
            event_types: types.into_iter().map(|event_type| event_type as u8).collect(),
            sessions: sessions.into_iter().map(|id| id.0).collect(),
            created_from: arguments.timestamp("created_after"),
            created_to: arguments.timestamp("created_before"),
        },
        limit: arguments.usize_or(limit_name, limits::SEARCH_DEFAULT),
        include_superseded: arguments.bool_or("include_superseded", false),
    })
}

/// The first nodes of a result, to link to.
fn top_node_ids(result: &Value) -> Vec<i64> {
    let lists = ["nodes", "matches", "evidence"].iter().filter_map(|name| result[*name].as_array());
    let ids = lists.flatten().filter_map(|node| node["id"].as_i64().or_else(|| node["node_id"].as_i64()));
    let latest = result["latest"]["id"].as_i64();
    latest.into_iter().chain(ids).take(limits::SEARCH_LINKS).collect()
}
