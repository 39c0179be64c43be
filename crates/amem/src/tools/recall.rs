//! The tools that find memories by what they are and how they hang together.

use quad_core::tool::{ToolCall, ToolResult, ToolEffect};
use quad_core::{ReadSet, JsonObjectWriter, Principal, Result, Tool, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{answer, cursor, glance, input, node_id, share, unknown, whole};
use crate::held::{Graph, Held};
use crate::node::{Field, NodeId};
use crate::quality::{self, Thresholds};
use crate::query::{self, Order, Query};
use crate::refusal::invalid;
use crate::temporal::{self, Range};
use crate::walk::{self, Neighbourhood, Path, Plan, Ways};
use crate::{Amem, cited, correcting, limits, micros, place, routes, stats, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::MEMORY_READ, ToolEffect::Reads)
    };
    let words =
        |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let max_results = || whole(1, limits::RESULTS_MAX, limits::RESULTS_DEFAULT);
    let direction = |default: &str| json!({"type": "string", "enum": ["forward", "backward", "both"], "default": default});
    let micros = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let range = || {
        json!({"oneOf": [
            {"type": "object", "properties": {"type": {"const": "time_window"}, "start": {"type": "integer", "minimum": 0},
                "end": {"type": "integer", "minimum": 0}}, "required": ["type", "start", "end"], "additionalProperties": false},
            {"type": "object", "properties": {"type": {"const": "session"}, "session_id": {"type": "integer", "minimum": 0}},
                "required": ["type", "session_id"], "additionalProperties": false},
            {"type": "object", "properties": {"type": {"const": "sessions"}, "session_ids": {"type": "array",
                "items": {"type": "integer", "minimum": 0}}}, "required": ["type", "session_ids"], "additionalProperties": false}
        ]})
    };
    vec![
        tool(
            "memory_query",
            "Query memories",
            "Finds memories by type, session, time and confidence, in one of four orders; most_important leaves superseded ones \
             out.",
            input(
                &[
                    ("event_types", words("Only these types")),
                    ("session_ids", json!({"type": "array", "items": {"type": "integer", "minimum": 0}})),
                    ("min_confidence", json!({"type": "number"})),
                    ("max_confidence", json!({"type": "number"})),
                    ("created_after", micros("Microseconds, inclusive")),
                    ("created_before", micros("Microseconds, inclusive")),
                    (
                        "sort_by",
                        json!({"type": "string", "enum": query::ORDERS, "default": query::ORDERS[0]}),
                    ),
                    ("max_results", max_results()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "memory_resolve",
            "Resolve a memory",
            "Follows corrections from a memory to the latest version of it.",
            input(&[("node_id", node_id("Any version of it"))], &["node_id"]),
        ),
        tool(
            "memory_traverse",
            "Traverse links",
            "Walks from a memory along links, breadth first. forward follows links from source to target.",
            input(
                &[
                    ("start_id", node_id("Where to start")),
                    ("edge_types", words("Only these types of links")),
                    ("direction", direction("forward")),
                    ("max_depth", whole(0, limits::WALK_DEPTH, 5)),
                    ("max_results", max_results()),
                    ("min_confidence", share("Passes over less sure memories and what lies behind them")),
                    ("cursor", cursor()),
                ],
                &["start_id"],
            ),
        ),
        tool(
            "memory_context",
            "Context of a memory",
            "Shows a memory with everything around it and the links between.",
            input(
                &[
                    ("node_id", node_id("The memory")),
                    ("depth", whole(1, limits::CONTEXT_DEPTH, walk::DEPTH_DEFAULT)),
                    ("cursor", cursor()),
                ],
                &["node_id"],
            ),
        ),
        tool(
            "memory_causal",
            "What depends on a memory",
            "Finds everything that was caused by a memory or for which it is evidence, and what depends on that in turn.",
            input(
                &[
                    ("node_id", node_id("The memory")),
                    ("max_depth", whole(1, limits::WALK_DEPTH, 5)),
                    ("max_results", whole(1, limits::RESULTS_MAX, 100)),
                    ("cursor", cursor()),
                ],
                &["node_id"],
            ),
        ),
        tool(
            "memory_path",
            "Path between memories",
            "Finds a shortest chain of links from one memory to another.",
            input(
                &[
                    ("from_id", node_id("From")),
                    ("to_id", node_id("To")),
                    ("edge_types", words("Only these types of links")),
                    ("direction", direction("both")),
                    ("max_depth", whole(1, limits::WALK_DEPTH, 10)),
                ],
                &["from_id", "to_id"],
            ),
        ),
        tool(
            "memory_temporal",
            "Compare two times",
            "Compares what was known in two ranges: what was added, corrected, unchanged, or has faded.",
            input(
                &[("range_a", range()), ("range_b", range()), ("cursor", cursor())],
                &["range_a", "range_b"],
            ),
        ),
        tool(
            "memory_quality",
            "Quality of the memory",
            "Reports doubtful memories: unsure, faded, unlinked, decisions without support, open contradictions.",
            input(
                &[
                    ("low_confidence_threshold", share("0.45 by default")),
                    ("stale_decay_threshold", share("0.2 by default")),
                    ("max_examples", whole(0, limits::QUALITY_EXAMPLES, 20)),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "memory_stats",
            "Memory statistics",
            "Counts memories, links and sessions, and says which session you are in.",
            input(&[], &[]),
        ),
    ]
}

pub(super) async fn call(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let sent = call.arguments;
    let subject = call.caller.subject.clone();
    let (name, held) = (call.tool.name, amem.held.clone());
    if name == "memory_context" {
        return context(amem, call.caller, Arguments(&sent)).await;
    }
    glance(amem, call.caller, move |sql| {
        let now = micros::now();
        let arguments = Arguments(&sent);
        match name {
            "memory_query" => run_query(sql, arguments, now),
            "memory_resolve" => resolve(sql, arguments.node("node_id")?, now),
            "memory_traverse" => traverse(sql, &held, arguments, now),
            "memory_causal" => causal(sql, &held, arguments, now),
            "memory_path" => path(sql, &held, arguments, now),
            "memory_temporal" => {
                let (first, second) = (range(arguments, "range_a")?, range(arguments, "range_b")?);
                let found = temporal::compare(sql, &first, &second, arguments.text("cursor"), now)?;
                Ok((answer(found), any_node(sql)))
            }
            "memory_quality" => {
                let thresholds = Thresholds {
                    low_confidence: arguments.number("low_confidence_threshold").unwrap_or(0.45),
                    stale_decay: arguments.number("stale_decay_threshold").unwrap_or(0.2),
                    examples: arguments.count("max_examples", 20),
                };
                let report = quality::report(sql, thresholds, arguments.text("cursor"), now)?;
                Ok((answer(report), any_node(sql)))
            }
            "memory_stats" => {
                let mut document = stats::read(sql)?.document();
                let current = place::session_of(sql, &subject)?;
                if let Some(document) = document.as_object_mut() {
                    document.insert("current_session".into(), json!(current.map(|id| id.0)));
                }
                let basis = ReadSet::at_version(sql.version()).with_tag(tags::stats());
                Ok((answer(document).with_link("amem://graph/stats", "Graph Statistics"), basis))
            }
            name => Err(unknown(name)),
        }
    })
    .await
}

/// What an answer rests on that may show any node.
fn any_node(sql: &mut dyn Sql) -> ReadSet {
    ReadSet::at_version(sql.version()).with_tag(tags::nodes())
}

fn run_query(sql: &mut dyn Sql, arguments: Arguments<'_>, now: i64) -> Result<(ToolOutput, ReadSet)> {
    let query = Query {
        event_types: arguments.event_types("event_types")?,
        sessions: arguments.sessions("session_ids")?,
        min_confidence: arguments.number("min_confidence").unwrap_or(0.0),
        max_confidence: arguments.number("max_confidence").unwrap_or(1.0),
        created_after: arguments.micros("created_after").unwrap_or(0),
        created_before: arguments.micros("created_before").unwrap_or(i64::MAX),
        order: Order::expect(arguments.text("sort_by").unwrap_or(query::ORDERS[0]))?,
        limit: arguments.count("max_results", limits::RESULTS_DEFAULT),
    };
    let found = query::run(sql, &query, arguments.text("cursor"), now)?;
    Ok((answer(found), any_node(sql)))
}

fn resolve(sql: &mut dyn Sql, id: NodeId, now: i64) -> Result<(ToolOutput, ReadSet)> {
    const FIELDS: [Field; 6] =
        [Field::Id, Field::EventType, Field::Content, Field::Confidence, Field::Session, Field::Created];
    let latest = correcting::resolve(sql, id)?;
    let result = json!({
        "original_id": id.0,
        "resolved_id": latest.id.0,
        "is_latest": latest.id == id,
        "latest": latest.show(&FIELDS, now),
    });
    let basis = ReadSet::at_version(sql.version())
        .with_tag(tags::node(id))
        .with_tag(tags::node(latest.id))
        .with_tag(tags::bulk())
        .with_tag(tags::nodes());
    Ok((answer(result).with_link(latest.id.uri(), format!("Node {}", latest.id)), basis))
}

fn traverse(
    sql: &mut dyn Sql,
    held: &Held,
    arguments: Arguments<'_>,
    now: i64,
) -> Result<(ToolOutput, ReadSet)> {
    let plan = Plan {
        start: arguments.node("start_id")?,
        ways: arguments.ways("forward")?,
        max_depth: arguments.count("max_depth", 5),
        min_confidence: arguments.number("min_confidence").unwrap_or(0.0),
        wanted: 0,
    };
    let list = format!("amem traverse {plan:?}");
    let offset = walk::offset(&list, arguments.text("cursor"))?;
    let limit = arguments.count("max_results", limits::RESULTS_DEFAULT);
    let window = walk::window(&mut Graph::new(sql, held)?, plan, &list, offset, limit)?;
    let basis = window.rests_on(ReadSet::at_version(sql.version()));
    Ok((
        answer(walk::traversal(plan.start, &window, now))
            .with_link(plan.start.uri(), format!("Node {}", plan.start)),
        basis,
    ))
}

async fn context(amem: &Amem, caller: &Principal, arguments: Arguments<'_>) -> Result<ToolResult> {
    let center = arguments.node("node_id")?;
    let depth = arguments.count("depth", walk::DEPTH_DEFAULT);
    let offset = walk::offset(&Neighbourhood::list(center, depth), arguments.text("cursor"))?;
    let (document, basis) = cited::around(amem, caller, center, depth, offset).await?;
    let uri = format!("{}/neighborhood?depth={depth}", center.uri());
    Ok(ToolResult::read_only(answer(document).with_link(uri, format!("Neighborhood of node {center}")), basis))
}

fn causal(sql: &mut dyn Sql, held: &Held, arguments: Arguments<'_>, now: i64) -> Result<(ToolOutput, ReadSet)> {
    let root = arguments.node("node_id")?;
    let plan = Plan {
        start: root,
        ways: Ways::dependents(),
        max_depth: arguments.count("max_depth", 5),
        min_confidence: 0.0,
        wanted: 0,
    };
    let list = format!("amem causal {root} {}", plan.max_depth);
    // The walk counts the root, the answer does not.
    let offset = walk::offset(&list, arguments.text("cursor"))?.max(1);
    let window =
        walk::window(&mut Graph::new(sql, held)?, plan, &list, offset, arguments.count("max_results", 100))?;
    let basis = window.rests_on(ReadSet::at_version(sql.version()));
    Ok((answer(walk::causal(root, &window, now)).with_link(root.uri(), format!("Node {root}")), basis))
}

fn path(sql: &mut dyn Sql, held: &Held, arguments: Arguments<'_>, now: i64) -> Result<(ToolOutput, ReadSet)> {
    const FIELDS: [Field; 4] = [Field::Id, Field::EventType, Field::Content, Field::Confidence];
    let (from, to) = (arguments.node("from_id")?, arguments.node("to_id")?);
    let (ways, most) = (arguments.ways("both")?, arguments.count("max_depth", 10));
    let basis = ReadSet::at_version(sql.version()).with_tag(tags::stats()).with_tag(tags::nodes());
    let mut graph = Graph::new(sql, held)?;
    let found = walk::path(&mut graph, from, to, ways, most)?;
    let mut result = JsonObjectWriter::default();
    result.put("from_id", from.0);
    result.put("to_id", to.0);
    result.put("found", matches!(found, Path::Found { .. }));
    match found {
        Path::Found { nodes, edges } => {
            graph.meet(&nodes)?;
            let nodes = nodes.iter().filter_map(|id| graph.node(*id));
            result.put("length", edges.len());
            result.put_array("nodes", nodes, |shown, node| node.write(shown, &FIELDS, now));
            result.put_array("edges", edges, |shown, edge| edge.write(shown));
        }
        Path::None => {}
        Path::GaveUp => {
            let message =
                format!("The search visited {} nodes and gave up; name edge_types", limits::WALK_VISITED);
            result.put("exhausted", true);
            result.put("message", message);
        }
    }
    Ok((answer(result), basis))
}

fn range(arguments: Arguments<'_>, name: &str) -> Result<Range> {
    let Some(Value::Object(range)) = arguments.get(name) else {
        return Err(invalid(name, "must be an object"));
    };
    let range = Arguments(range);
    Ok(match range.text("type") {
        Some("time_window") => Range::Window {
            start: range.micros("start").unwrap_or(0),
            end: range.micros("end").unwrap_or(i64::MAX),
        },
        Some("session") => Range::Sessions(range.session("session_id")?.into_iter().collect()),
        Some("sessions") => Range::Sessions(range.sessions("session_ids")?),
        _ => return Err(invalid(name, "must have a type")),
    })
}
