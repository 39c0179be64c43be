//! The tools that find memories by their fields and their links.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{JsonObjectWriter, Principal, ReadSet, Result, Tool, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{cursor, input_schema, integer, node_id, not_implemented, ratio, read_inline, structured};
use crate::errors::invalid_argument;
use crate::graph_cache::{GraphCache, GraphReader};
use crate::node::{NodeId, OutputField};
use crate::quality::{self, Thresholds};
use crate::query::{self, Order, Query};
use crate::range_diff::{self, Range};
use crate::traversal::{self, EdgeFilter, Neighborhood, PathResult, TraversalOptions};
use crate::{Amem, caller_state, counters, limits, micros, neighborhood_links, routes, supersede, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::MEMORY_READ, ToolEffect::Reads)
    };
    let string_array =
        |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let max_results = || integer(1, limits::RESULTS_MAX, limits::RESULTS_DEFAULT);
    let direction = |default: &str| json!({"type": "string", "enum": ["forward", "backward", "both"], "default": default});
    let timestamp = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
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
            input_schema(
                &[
                    ("event_types", string_array("Only these types")),
                    ("session_ids", json!({"type": "array", "items": {"type": "integer", "minimum": 0}})),
                    ("min_confidence", json!({"type": "number"})),
                    ("max_confidence", json!({"type": "number"})),
                    ("created_after", timestamp("Microseconds, inclusive")),
                    ("created_before", timestamp("Microseconds, inclusive")),
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
            input_schema(&[("node_id", node_id("Any version of it"))], &["node_id"]),
        ),
        tool(
            "memory_traverse",
            "Traverse links",
            "Walks from a memory along links, breadth first. forward follows links from source to target.",
            input_schema(
                &[
                    ("start_id", node_id("Where to start")),
                    ("edge_types", string_array("Only these types of links")),
                    ("direction", direction("forward")),
                    ("max_depth", integer(0, limits::MAX_TRAVERSAL_DEPTH, 5)),
                    ("max_results", max_results()),
                    ("min_confidence", ratio("Passes over less sure memories and what lies behind them")),
                    ("cursor", cursor()),
                ],
                &["start_id"],
            ),
        ),
        tool(
            "memory_context",
            "Context of a memory",
            "Shows a memory with everything around it and the links between.",
            input_schema(
                &[
                    ("node_id", node_id("The memory")),
                    ("depth", integer(1, limits::MAX_NEIGHBORHOOD_DEPTH, traversal::DEFAULT_DEPTH)),
                    ("cursor", cursor()),
                ],
                &["node_id"],
            ),
        ),
        tool(
            "memory_causal",
            "What depends on a memory",
            "Finds everything that was caused by a memory or for which it is evidence, and what depends on that in turn.",
            input_schema(
                &[
                    ("node_id", node_id("The memory")),
                    ("max_depth", integer(1, limits::MAX_TRAVERSAL_DEPTH, 5)),
                    ("max_results", integer(1, limits::RESULTS_MAX, 100)),
                    ("cursor", cursor()),
                ],
                &["node_id"],
            ),
        ),
        tool(
            "memory_path",
            "Path between memories",
            "Finds a shortest chain of links from one memory to another.",
            input_schema(
                &[
                    ("from_id", node_id("From")),
                    ("to_id", node_id("To")),
                    ("edge_types", string_array("Only these types of links")),
                    ("direction", direction("both")),
                    ("max_depth", integer(1, limits::MAX_TRAVERSAL_DEPTH, 10)),
                ],
                &["from_id", "to_id"],
            ),
        ),
        tool(
            "memory_temporal",
            "Compare two times",
            "Compares what was known in two ranges: what was added, corrected, unchanged, or has faded.",
            input_schema(
                &[("range_a", range()), ("range_b", range()), ("cursor", cursor())],
                &["range_a", "range_b"],
            ),
        ),
        tool(
            "memory_quality",
            "Quality of the memory",
            "Reports doubtful memories: unsure, faded, unlinked, decisions without support, open contradictions.",
            input_schema(
                &[
                    ("low_confidence_threshold", ratio("0.45 by default")),
                    ("stale_decay_threshold", ratio("0.2 by default")),
                    ("max_examples", integer(0, limits::QUALITY_EXAMPLES, 20)),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "memory_stats",
            "Memory statistics",
            "Counts memories, links and sessions, and says which session you are in.",
            input_schema(&[], &[]),
        ),
    ]
}

pub(super) async fn call(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let raw_arguments = call.arguments;
    let subject = call.caller.subject.clone();
    let (name, graph_cache) = (call.tool.name, amem.graph_cache.clone());
    if name == "memory_context" {
        return context(amem, call.caller, Arguments(&raw_arguments)).await;
    }
    read_inline(amem, call.caller, move |sql| {
        let now = micros::now();
        let arguments = Arguments(&raw_arguments);
        match name {
            "memory_query" => run_query(sql, arguments, now),
            "memory_resolve" => resolve(sql, arguments.node("node_id")?, now),
            "memory_traverse" => traverse(sql, &graph_cache, arguments, now),
            "memory_causal" => causal(sql, &graph_cache, arguments, now),
            "memory_path" => path(sql, &graph_cache, arguments, now),
            "memory_temporal" => {
                let (first, second) = (range_arg(arguments, "range_a")?, range_arg(arguments, "range_b")?);
                let comparison = range_diff::diff(sql, &first, &second, arguments.text("cursor"), now)?;
                Ok((structured(comparison), node_read_set(sql)))
            }
            "memory_quality" => {
                let thresholds = Thresholds {
                    low_confidence: arguments.number("low_confidence_threshold").unwrap_or(0.45),
                    stale_decay: arguments.number("stale_decay_threshold").unwrap_or(0.2),
                    examples: arguments.usize_or("max_examples", 20),
                };
                let report = quality::report(sql, thresholds, arguments.text("cursor"), now)?;
                Ok((structured(report), node_read_set(sql)))
            }
            "memory_stats" => {
                let mut document = counters::read(sql)?.to_json();
                let current = caller_state::current_session(sql, &subject)?;
                if let Some(document) = document.as_object_mut() {
                    document.insert("current_session".into(), json!(current.map(|id| id.0)));
                }
                let basis = ReadSet::at_version(sql.version()).with_tag(tags::counters());
                Ok((structured(document).with_link("amem://graph/stats", "Graph Statistics"), basis))
            }
            name => Err(not_implemented(name)),
        }
    })
    .await
}

/// The read set of a result that may show any node.
fn node_read_set(sql: &mut dyn Sql) -> ReadSet {
    ReadSet::at_version(sql.version()).with_tag(tags::nodes())
}

fn run_query(sql: &mut dyn Sql, arguments: Arguments<'_>, now: i64) -> Result<(ToolOutput, ReadSet)> {
    let query = Query {
        event_types: arguments.event_types("event_types")?,
        sessions: arguments.sessions("session_ids")?,
        min_confidence: arguments.number("min_confidence").unwrap_or(0.0),
        max_confidence: arguments.number("max_confidence").unwrap_or(1.0),
        created_after: arguments.timestamp("created_after").unwrap_or(0),
        created_before: arguments.timestamp("created_before").unwrap_or(i64::MAX),
        order: Order::parse_arg(arguments.text("sort_by").unwrap_or(query::ORDERS[0]))?,
        limit: arguments.usize_or("max_results", limits::RESULTS_DEFAULT),
    };
    let page = query::run(sql, &query, arguments.text("cursor"), now)?;
    Ok((structured(page), node_read_set(sql)))
}

fn resolve(sql: &mut dyn Sql, id: NodeId, now: i64) -> Result<(ToolOutput, ReadSet)> {
    const FIELDS: [OutputField; 6] = [
        OutputField::Id,
        OutputField::EventType,
        OutputField::Content,
        OutputField::Confidence,
        OutputField::Session,
        OutputField::Created,
    ];
    let latest = supersede::resolve(sql, id)?;
    let result = json!({
        "original_id": id.0,
        "resolved_id": latest.id.0,
        "is_latest": latest.id == id,
        "latest": latest.to_json(&FIELDS, now),
    });
    let basis = ReadSet::at_version(sql.version())
        .with_tag(tags::node(id))
        .with_tag(tags::node(latest.id))
        .with_tag(tags::any_node())
        .with_tag(tags::nodes());
    Ok((structured(result).with_link(latest.id.uri(), format!("Node {}", latest.id)), basis))
}

fn traverse(
    sql: &mut dyn Sql,
    graph_cache: &GraphCache,
    arguments: Arguments<'_>,
    now: i64,
) -> Result<(ToolOutput, ReadSet)> {
    let options = TraversalOptions {
        start: arguments.node("start_id")?,
        edge_filter: arguments.edge_filter("forward")?,
        max_depth: arguments.usize_or("max_depth", 5),
        min_confidence: arguments.number("min_confidence").unwrap_or(0.0),
        max_nodes: 0,
    };
    let scope = format!("amem traverse {options:?}");
    let offset = traversal::decode_offset(&scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("max_results", limits::RESULTS_DEFAULT);
    let page =
        traversal::traverse_page(&mut GraphReader::new(sql, graph_cache)?, options, &scope, offset, limit)?;
    let basis = page.add_dependencies(ReadSet::at_version(sql.version()));
    Ok((
        structured(traversal::traversal_document(options.start, &page, now))
            .with_link(options.start.uri(), format!("Node {}", options.start)),
        basis,
    ))
}

async fn context(amem: &Amem, caller: &Principal, arguments: Arguments<'_>) -> Result<ToolResult> {
    let center = arguments.node("node_id")?;
    let depth = arguments.usize_or("depth", traversal::DEFAULT_DEPTH);
    let offset =
        traversal::decode_offset(&Neighborhood::cursor_scope(center, depth), arguments.text("cursor"))?;
    let (document, basis) = neighborhood_links::read_with_links(amem, caller, center, depth, offset).await?;
    let uri = format!("{}/neighborhood?depth={depth}", center.uri());
    Ok(ToolResult::read_only(
        structured(document).with_link(uri, format!("Neighborhood of node {center}")),
        basis,
    ))
}

fn causal(
    sql: &mut dyn Sql,
    graph_cache: &GraphCache,
    arguments: Arguments<'_>,
    now: i64,
) -> Result<(ToolOutput, ReadSet)> {
    let root = arguments.node("node_id")?;
    let options = TraversalOptions {
        start: root,
        edge_filter: EdgeFilter::dependents(),
        max_depth: arguments.usize_or("max_depth", 5),
        min_confidence: 0.0,
        max_nodes: 0,
    };
    let scope = format!("amem causal {root} {}", options.max_depth);
    // The traversal counts the root; the result does not.
    let offset = traversal::decode_offset(&scope, arguments.text("cursor"))?.max(1);
    let page = traversal::traverse_page(
        &mut GraphReader::new(sql, graph_cache)?,
        options,
        &scope,
        offset,
        arguments.usize_or("max_results", 100),
    )?;
    let basis = page.add_dependencies(ReadSet::at_version(sql.version()));
    Ok((
        structured(traversal::causal_document(root, &page, now))
            .with_link(root.uri(), format!("Node {root}")),
        basis,
    ))
}

fn path(
    sql: &mut dyn Sql,
    graph_cache: &GraphCache,
    arguments: Arguments<'_>,
    now: i64,
) -> Result<(ToolOutput, ReadSet)> {
    const FIELDS: [OutputField; 4] =
        [OutputField::Id, OutputField::EventType, OutputField::Content, OutputField::Confidence];
    let (from, to) = (arguments.node("from_id")?, arguments.node("to_id")?);
    let (edge_filter, max_depth) = (arguments.edge_filter("both")?, arguments.usize_or("max_depth", 10));
    let basis = ReadSet::at_version(sql.version()).with_tag(tags::counters()).with_tag(tags::nodes());
    let mut graph = GraphReader::new(sql, graph_cache)?;
    let path = traversal::shortest_path(&mut graph, from, to, edge_filter, max_depth)?;
    let mut result = JsonObjectWriter::default();
    result.put("from_id", from.0);
    result.put("to_id", to.0);
    result.put("found", matches!(path, PathResult::Found { .. }));
    match path {
        PathResult::Found { nodes, edges } => {
            graph.load_nodes(&nodes)?;
            let nodes = nodes.iter().filter_map(|id| graph.node(*id));
            result.put("length", edges.len());
            result.put_array("nodes", nodes, |object, node| node.write_json(object, &FIELDS, now));
            result.put_array("edges", edges, |object, edge| edge.write_json(object));
        }
        PathResult::None => {}
        PathResult::LimitReached => {
            let message = format!(
                "The search visited {} nodes and gave up; name edge_types",
                limits::MAX_TRAVERSAL_NODES
            );
            result.put("exhausted", true);
            result.put("message", message);
        }
    }
    Ok((structured(result), basis))
}

fn range_arg(arguments: Arguments<'_>, name: &str) -> Result<Range> {
    let Some(Value::Object(range)) = arguments.get(name) else {
        return Err(invalid_argument(name, "must be an object"));
    };
    let range = Arguments(range);
    Ok(match range.text("type") {
        Some("time_window") => Range::Window {
            start: range.timestamp("start").unwrap_or(0),
            end: range.timestamp("end").unwrap_or(i64::MAX),
        },
        Some("session") => Range::Sessions(range.session("session_id")?.into_iter().collect()),
        Some("sessions") => Range::Sessions(range.sessions("session_ids")?),
        _ => return Err(invalid_argument(name, "must have a type")),
    })
}
