//! The tools that find memories by what they say.

use quad_core::tool::{ToolCall, ToolResult, ToolEffect};
use quad_core::{ReadSet, Result, Tool};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{answer, input, read, share, string, unknown, whole};
use crate::finding::{self, Search};
use crate::refusal::{self, invalid};
use crate::search::{Filter, Probe};
use crate::{Amem, limits, micros, routes, tags};

/// How alike vectors must be, unless the caller says otherwise.
const LIKE: f64 = 0.5;

/// How alike texts must be: the built-in embedding compares parts of words, of which unlike texts share few.
const TEXT_LIKE: f64 = 0.2;

/// How much of a claim's words must be found for it to count at all.
const GROUND: f64 = 0.3;

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::MEMORY_READ, ToolEffect::Reads)
    };
    let types = || json!({"type": "array", "items": {"type": "string"}, "description": "Only these types"});
    let superseded =
        || json!({"type": "boolean", "default": false, "description": "Also what has been corrected"});
    let results = || whole(1, limits::RESULTS_MAX, limits::SEARCH_DEFAULT);
    let micros = || json!({"type": "integer", "minimum": 0, "description": "Microseconds, inclusive"});
    vec![
        tool(
            "memory_search",
            "Search memories",
            "Searches memories by words, \"phrases\" and prefixes*; hybrid also by likeness.",
            input(
                &[
                    ("query", string("What to look for")),
                    ("mode", json!({"type": "string", "enum": ["hybrid", "text"], "default": "hybrid"})),
                    ("event_types", types()),
                    ("session_ids", json!({"type": "array", "items": {"type": "integer", "minimum": 0}})),
                    ("created_after", micros()),
                    ("created_before", micros()),
                    ("include_superseded", superseded()),
                    ("max_results", results()),
                    ("cursor", string("next_cursor of the answer before, in mode text")),
                ],
                &["query"],
            ),
        ),
        tool(
            "memory_similar",
            "Similar memories",
            "Finds the memories that are most like a text, or whose own vectors are most like a vector.",
            input(
                &[
                    ("query_text", string("A text")),
                    (
                        "query_vec",
                        json!({"type": "array", "items": {"type": "number"}, "description": "Or 128 numbers"}),
                    ),
                    ("top_k", whole(1, limits::RESULTS_MAX, limits::SEARCH_DEFAULT)),
                    (
                        "min_similarity",
                        json!({"type": "number", "minimum": -1, "maximum": 1, "description": "0.5; 0.2 for texts"}),
                    ),
                    ("event_types", types()),
                    ("include_superseded", superseded()),
                ],
                &[],
            ),
        ),
        tool(
            "memory_ground",
            "Ground a claim",
            "Checks whether the memory backs a claim: verified, partial, ungrounded, or superseded with what replaced it.",
            input(
                &[
                    ("claim", string("The claim")),
                    ("threshold", share("Share of its words that must be found; 0.3 by default")),
                ],
                &["claim"],
            ),
        ),
        tool(
            "memory_evidence",
            "Evidence",
            "Finds memories about something, each whole, with its links, score and matched words.",
            input(
                &[
                    ("query", string("What to look for")),
                    ("max_results", results()),
                    ("include_superseded", superseded()),
                ],
                &["query"],
            ),
        ),
    ]
}

pub(super) async fn call(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let sent = call.arguments;
    let name = call.tool.name;
    let engine = amem.engine.clone();
    read(amem, call.caller, move |sql| {
        let (now, arguments) = (micros::now(), Arguments(&sent));
        let found = match name {
            "memory_search" => {
                let search = search(arguments, arguments.required_text("query")?, "max_results")?;
                match (arguments.text("mode").unwrap_or("hybrid"), arguments.text("cursor")) {
                    ("text", cursor) => search.by_words(&engine, sql, cursor, now)?,
                    ("hybrid", None) => search.by_both(&engine, sql, now)?,
                    ("hybrid", Some(_)) => {
                        return Err(invalid("cursor", "goes with mode text; a hybrid search has one page"));
                    }
                    (other, _) => return Err(refusal::unknown("mode", other, &["hybrid", "text"])),
                }
            }
            "memory_similar" => {
                let vector: Vec<f32> = arguments
                    .list("query_vec")
                    .iter()
                    .map(|number| number.as_f64().unwrap_or(f64::NAN) as f32)
                    .collect();
                let (probe, least) = match (arguments.text("query_text"), arguments.get("query_vec")) {
                    (Some(text), None) => (Probe::Text(text), TEXT_LIKE),
                    (None, Some(_)) => (Probe::Vector(&vector), LIKE),
                    _ => return Err(invalid("query_text", "this or query_vec is needed, and not both")),
                };
                let least = arguments.number("min_similarity").unwrap_or(least) as f32;
                let search = search(arguments, "", "top_k")?;
                finding::similar(&engine, sql, probe, &search, least, now)?
            }
            "memory_ground" => {
                let threshold = arguments.number("threshold").unwrap_or(GROUND) as f32;
                finding::ground(&engine, sql, arguments.required_text("claim")?, threshold, now)?
            }
            "memory_evidence" => {
                let search = search(arguments, arguments.required_text("query")?, "max_results")?;
                search.evidence(&engine, sql, now)?
            }
            name => return Err(unknown(name)),
        };
        // Every memory that is added changes how telling its words are.
        let basis = ReadSet::at_version(sql.version()).with_tag(tags::nodes());
        let links = links(&found);
        let output = links
            .into_iter()
            .fold(answer(found), |output, id| output.with_link(format!("amem://node/{id}"), format!("Node {id}")));
        Ok((output, basis))
    })
    .await
}

fn search(arguments: Arguments<'_>, text: &str, limit: &str) -> Result<Search> {
    let types = arguments.event_types("event_types")?;
    let sessions = arguments.sessions("session_ids")?;
    Ok(Search {
        text: text.to_owned(),
        filter: Filter {
            event_types: types.into_iter().map(|kind| kind as u8).collect(),
            sessions: sessions.into_iter().map(|id| id.0).collect(),
            created_from: arguments.micros("created_after"),
            created_to: arguments.micros("created_before"),
        },
        limit: arguments.count(limit, limits::SEARCH_DEFAULT),
        superseded: arguments.truth("include_superseded", false),
    })
}

/// The best few nodes of an answer, to be read.
fn links(found: &Value) -> Vec<i64> {
    let lists = ["nodes", "matches", "evidence"].iter().filter_map(|name| found[*name].as_array());
    let ids = lists.flatten().filter_map(|node| node["id"].as_i64().or_else(|| node["node_id"].as_i64()));
    let latest = found["latest"]["id"].as_i64();
    latest.into_iter().chain(ids).take(limits::SEARCH_LINKS).collect()
}
