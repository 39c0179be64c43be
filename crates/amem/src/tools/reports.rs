//! The tools that report on many memories: a comparison of two ranges, and the quality report.

use quad_core::tool::ToolEffect;
use quad_core::tool_schema::{object, ratio, result, string, string_enum};
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{ReadCall, node_read_set, read_inline, schema, structured};
use crate::errors::invalid_argument;
use crate::quality::{self, Thresholds};
use crate::range_diff::{self, Range};
use crate::{Amem, limits, micros, routes};

/// Below this confidence a memory counts as unsure unless given.
const LOW_CONFIDENCE: f64 = 0.45;

/// Below this score a memory counts as faded unless given.
const STALE_DECAY: f64 = 0.2;

/// Examples of each kind unless given.
const EXAMPLES: usize = 20;

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![memory_temporal(), memory_quality()]
}

fn tool(name: &'static str, title: &'static str, description: &'static str, arguments: Value) -> Tool {
    Tool::new(name, title, description, arguments, routes::MEMORY_READ, ToolEffect::Reads)
}

fn memory_temporal() -> ToolEntry<Amem> {
    let summary = schema::counts(&["added_count", "corrected_count", "unchanged_count", "stale_count"]);
    let tool = tool(
        "memory_temporal",
        "Compare two times",
        "Compares what was known in two ranges: what was added, corrected, unchanged, or has faded.",
        object(
            &[
                ("range_a", range_schema("The earlier range: times or sessions")),
                ("range_b", range_schema("The later range: times or sessions")),
                ("cursor", schema::cursor()),
            ],
            &["range_a", "range_b"],
        ),
    )
    .output(result(
        &[
            ("added", schema::ids("Only in the later range")),
            (
                "corrected",
                schema::id_pairs("Each a memory of the earlier range and its correction in the later one"),
            ),
            ("unchanged", schema::ids("In the earlier range, and not corrected")),
            ("potentially_stale", schema::ids("Like unchanged, but faded")),
            ("summary", summary),
            ("next_cursor", schema::next_cursor()),
        ],
        &["added", "corrected", "unchanged", "potentially_stale", "summary"],
    ))
    .example(
        json!({"range_a": {"start": "2026-01-01", "end": "2026-01-31"}, "range_b": {"start": "2026-02-01"}}),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, temporal)))
}

fn temporal(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let (first, second) = (range_arg(arguments, "range_a")?, range_arg(arguments, "range_b")?);
    let comparison = range_diff::diff(sql, &first, &second, arguments.text("cursor"), micros::now())?;
    Ok((structured(comparison), node_read_set(sql)))
}

/// A range: times, one session or several. `type` says which, for callers that send it.
fn range_schema(description: &str) -> Value {
    let mut schema = object(
        &[
            ("start", schema::time("From this date or time")),
            ("end", schema::time("Up to this date or time")),
            ("session_id", schema::session_arg("Or one session")),
            ("session_ids", schema::session_ids()),
            ("type", string_enum(&["time_window", "session", "sessions"], "Optional")),
        ],
        &[],
    );
    schema["description"] = description.into();
    schema
}

fn range_arg(arguments: Arguments<'_>, name: &str) -> Result<Range> {
    const HINT: &str = "Give start and end (dates such as 2026-01-31), session_id or session_ids";
    let Some(Value::Object(range)) = arguments.get(name) else {
        return Err(invalid_argument(name, "is not an object", HINT));
    };
    let range = Arguments(range);
    let has = |field: &str| range.get(field).is_some();
    let has_times = has("start") || has("end");
    let kinds = [has_times, has("session_id"), has("session_ids")];
    let kind = match (range.text("type"), kinds) {
        (None | Some("time_window"), [true, false, false]) => "time_window",
        (None | Some("session"), [false, true, false]) => "session",
        (None | Some("sessions"), [false, false, true]) => "sessions",
        (_, [false, false, false]) => return Err(invalid_argument(name, "is empty", HINT)),
        (Some(kind), _) => {
            let fact = format!("has the type {kind}, which does not go with its other fields");
            return Err(invalid_argument(name, fact, HINT));
        }
        (None, _) => return Err(invalid_argument(name, "has both times and sessions", HINT)),
    };
    Ok(match kind {
        "time_window" => {
            let (start, end) = range.time_range("start", "end")?;
            Range::Window { start: start.unwrap_or(i64::MIN), end: end.unwrap_or(i64::MAX) }
        }
        "session" => Range::Sessions(range.session("session_id")?.into_iter().collect()),
        _ => Range::Sessions(range.sessions("session_ids")?),
    })
}

fn memory_quality() -> ToolEntry<Amem> {
    let counts = [
        "nodes",
        "edges",
        "low_confidence_count",
        "stale_count",
        "orphan_count",
        "decisions_without_support_count",
        "contradiction_edges",
        "supersedes_edges",
        "open_contradiction_count",
        "examined",
    ];
    let examples = json!({
        "type": "object",
        "properties": {
            "low_confidence": schema::ids("Unsure memories"),
            "stale": schema::ids("Faded memories"),
            "orphan": schema::ids("Memories without links"),
            "unsupported_decisions": schema::ids("Decisions without a cause or evidence"),
            "contradictions": schema::id_pairs("Memories that contradict each other"),
        },
        "required": ["low_confidence", "stale", "orphan", "unsupported_decisions", "contradictions"],
    });
    let tool = tool(
        "memory_quality",
        "Quality of the memory",
        "Reports doubtful memories: unsure, faded, unlinked, decisions without support, open contradictions.",
        object(
            &[
                ("low_confidence_threshold", ratio("0.45 by default")),
                ("stale_decay_threshold", ratio("0.2 by default")),
                (
                    "limit",
                    schema::integer(0, limits::QUALITY_EXAMPLES, EXAMPLES, "Most examples of each kind"),
                ),
                ("cursor", schema::cursor()),
            ],
            &[],
        ),
    )
    .output(result(
        &[
            ("status", string_enum(&["pass", "warn", "fail"], "fail means a decision without support")),
            ("summary", schema::counts(&counts)),
            ("examples", examples),
            ("next_cursor", string("Only if not all memories were examined: the cursor of the next call")),
        ],
        &["status", "summary", "examples"],
    ))
    .example(json!({"low_confidence_threshold": 0.6, "limit": 5}))
    .aliases(&[("max_examples", "limit"), ("examples", "limit")]);
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, quality)))
}

fn quality(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let thresholds = Thresholds {
        low_confidence: arguments.number("low_confidence_threshold").unwrap_or(LOW_CONFIDENCE),
        stale_decay: arguments.number("stale_decay_threshold").unwrap_or(STALE_DECAY),
        examples: arguments.usize_or("limit", EXAMPLES),
    };
    let report = quality::report(sql, thresholds, arguments.text("cursor"), micros::now())?;
    Ok((structured(report), node_read_set(sql)))
}
