//! The tools that find memories by their text.

use quad_core::tool::ToolEffect;
use quad_core::tool_schema::{integer, object, ratio, string};
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{ReadCall, read, structured};
use crate::errors::{self, invalid_argument};
use crate::search::{Filter, SimilarityQuery};
use crate::search_results::{self, SearchRequest, SearchResult};
use crate::{Amem, limits, micros, routes, tags};

/// The default minimum similarity of vectors.
const MIN_VECTOR_SIMILARITY: f64 = 0.5;

/// The default minimum similarity of texts. Lower, because the built-in embedding compares parts of words, and
/// different texts share few.
const MIN_TEXT_SIMILARITY: f64 = 0.2;

/// The default share of a claim's words that must be found.
const GROUND_THRESHOLD: f64 = 0.3;

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![memory_search(), memory_similar(), memory_ground(), memory_evidence()]
}

fn tool(name: &'static str, title: &'static str, description: &'static str, arguments: Value) -> Tool {
    Tool::new(name, title, description, arguments, routes::MEMORY_READ, ToolEffect::Reads)
}

fn types() -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": "Only these types"})
}

fn include_superseded() -> Value {
    json!({"type": "boolean", "default": false, "description": "Also what has been corrected"})
}

fn max_results() -> Value {
    integer(1, limits::RESULTS_MAX, limits::SEARCH_DEFAULT)
}

fn timestamp() -> Value {
    json!({"type": "integer", "minimum": 0, "description": "Microseconds, inclusive"})
}

fn memory_search() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_search",
        "Search memories",
        "Searches memories by words, \"phrases\" and prefixes*; hybrid also by likeness.",
        object(
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
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read(amem, call, search)))
}

fn search(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let (arguments, engine) = (call.arguments(), &call.engine);
    let request = search_request(arguments, arguments.required_text("query")?, "max_results")?;
    let result = match (arguments.text("mode").unwrap_or("hybrid"), arguments.text("cursor")) {
        ("text", cursor) => request.text(engine, sql, cursor)?,
        ("hybrid", None) => request.hybrid(engine, sql)?,
        ("hybrid", Some(_)) => {
            return Err(invalid_argument(
                "cursor",
                "works with mode text only; a hybrid search has one page",
            ));
        }
        (other, _) => return Err(errors::unknown_value("mode", other, &["hybrid", "text"])),
    };
    Ok(with_links(sql, result))
}

fn memory_similar() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_similar",
        "Similar memories",
        "Finds the memories that are most like a text, or whose own vectors are most like a vector.",
        object(
            &[
                ("query_text", string("A text")),
                (
                    "query_vec",
                    json!({"type": "array", "items": {"type": "number"}, "description": "Or 128 numbers"}),
                ),
                ("top_k", max_results()),
                (
                    "min_similarity",
                    json!({"type": "number", "minimum": -1, "maximum": 1, "description": "0.5; 0.2 for texts"}),
                ),
                ("event_types", types()),
                ("include_superseded", include_superseded()),
            ],
            &[],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read(amem, call, similar)))
}

fn similar(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let vector: Vec<f32> =
        arguments.list("query_vec").iter().map(|number| number.as_f64().unwrap_or(f64::NAN) as f32).collect();
    let (query, default_similarity) = match (arguments.text("query_text"), arguments.get("query_vec")) {
        (Some(text), None) => (SimilarityQuery::Text(text), MIN_TEXT_SIMILARITY),
        (None, Some(_)) => (SimilarityQuery::Vector(&vector), MIN_VECTOR_SIMILARITY),
        _ => return Err(invalid_argument("query_text", "give either query_text or query_vec")),
    };
    let min_similarity = arguments.number("min_similarity").unwrap_or(default_similarity) as f32;
    let request = search_request(arguments, "", "top_k")?;
    let result = request.similar(&call.engine, sql, query, min_similarity)?;
    Ok(with_links(sql, result))
}

fn memory_ground() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_ground",
        "Ground a claim",
        "Checks whether the memory backs a claim: verified, partial, ungrounded, or superseded with what replaced it.",
        object(
            &[
                ("claim", string("The claim")),
                ("threshold", ratio("Share of its words that must be found; 0.3 by default")),
            ],
            &["claim"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read(amem, call, ground)))
}

fn ground(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let threshold = arguments.number("threshold").unwrap_or(GROUND_THRESHOLD) as f32;
    let claim = arguments.required_text("claim")?;
    let result = search_results::ground_claim(&call.engine, sql, claim, threshold)?;
    Ok(with_links(sql, result))
}

fn memory_evidence() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_evidence",
        "Evidence",
        "Finds memories about something, each whole, with its links, score and matched words.",
        object(
            &[
                ("query", string("What to look for")),
                ("max_results", max_results()),
                ("include_superseded", include_superseded()),
            ],
            &["query"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read(amem, call, evidence)))
}

fn evidence(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let request = search_request(arguments, arguments.required_text("query")?, "max_results")?;
    let result = request.evidence(&call.engine, sql, micros::now())?;
    Ok(with_links(sql, result))
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

/// The output with links to the first nodes.
fn with_links(sql: &mut dyn Sql, result: SearchResult) -> (ToolOutput, ReadSet) {
    // Every new memory changes how rare words are, and so the scores.
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::nodes());
    let nodes = result.nodes.iter().take(limits::SEARCH_LINKS);
    let output = nodes
        .fold(structured(result.document), |output, id| output.with_link(id.uri(), format!("Node {id}")));
    (output, read_set)
}
