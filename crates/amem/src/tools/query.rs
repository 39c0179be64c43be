//! The tools that find memories by their fields and their links.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{integer, object, ratio};
use quad_core::{JsonObjectWriter, ReadSet, Result, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{ReadCall, cursor, node_id, read_inline, structured};
use crate::errors::invalid_argument;
use crate::graph_cache::GraphReader;
use crate::neighborhood::{self, Neighborhood};
use crate::node::StaticField;
use crate::quality::{self, Thresholds};
use crate::query::{self, Order, Query};
use crate::range_diff::{self, Range};
use crate::traversal::{self, EdgeFilter, PathResult, TraversalOptions};
use crate::{Amem, caller_state, counters, limits, list, micros, routes, supersede, tags};

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![
        memory_query(),
        memory_resolve(),
        memory_traverse(),
        memory_context(),
        memory_causal(),
        memory_path(),
        memory_temporal(),
        memory_quality(),
        memory_stats(),
    ]
}

fn tool(name: &'static str, title: &'static str, description: &'static str, arguments: Value) -> Tool {
    Tool::new(name, title, description, arguments, routes::MEMORY_READ, ToolEffect::Reads)
}

fn string_array(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn max_results() -> Value {
    integer(1, limits::RESULTS_MAX, limits::RESULTS_DEFAULT)
}

fn direction(default: &str) -> Value {
    json!({"type": "string", "enum": ["forward", "backward", "both"], "default": default})
}

fn timestamp(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

/// The read set of a result that may show any node.
fn node_read_set(sql: &mut dyn Sql) -> ReadSet {
    ReadSet::at_version(sql.version()).with_tag(tags::nodes())
}

fn memory_query() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_query",
        "Query memories",
        "Finds memories by type, session, time and confidence, in one of four orders; most_important leaves superseded ones \
         out.",
        object(
            &[
                ("event_types", string_array("Only these types")),
                ("session_ids", json!({"type": "array", "items": {"type": "integer", "minimum": 0}})),
                ("min_confidence", json!({"type": "number"})),
                ("max_confidence", json!({"type": "number"})),
                ("created_after", timestamp("Microseconds, inclusive")),
                ("created_before", timestamp("Microseconds, inclusive")),
                ("sort_by", json!({"type": "string", "enum": query::ORDERS, "default": query::ORDERS[0]})),
                ("max_results", max_results()),
                ("cursor", cursor()),
            ],
            &[],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, run_query)))
}

fn run_query(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let (arguments, now) = (call.arguments(), micros::now());
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

fn memory_resolve() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_resolve",
        "Resolve a memory",
        "Follows corrections from a memory to the latest version of it.",
        object(&[("node_id", node_id("Any version of it"))], &["node_id"]),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, resolve)))
}

fn resolve(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let id = call.arguments().node("node_id")?;
    const FIELDS: [StaticField; 6] = [
        StaticField::Id,
        StaticField::EventType,
        StaticField::Content,
        StaticField::Confidence,
        StaticField::Session,
        StaticField::Created,
    ];
    let latest = supersede::resolve(sql, id)?;
    let result = json!({
        "original_id": id.0,
        "resolved_id": latest.id.0,
        "is_latest": latest.id == id,
        "latest": latest.as_static().to_json(&FIELDS),
    });
    let read_set = ReadSet::at_version(sql.version())
        .with_tag(tags::node(id))
        .with_tag(tags::node(latest.id))
        .with_tag(tags::any_node())
        .with_tag(tags::nodes());
    Ok((structured(result).with_link(latest.id.uri(), format!("Node {}", latest.id)), read_set))
}

fn memory_traverse() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_traverse",
        "Traverse links",
        "Walks from a memory along links, breadth first. forward follows links from source to target.",
        object(
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
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, traverse)))
}

fn traverse(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let options = TraversalOptions {
        start: arguments.node("start_id")?,
        edge_filter: arguments.edge_filter("forward")?,
        max_depth: arguments.usize_or("max_depth", 5),
        min_confidence: arguments.number("min_confidence").unwrap_or(0.0),
        max_nodes: 0,
    };
    let scope = options.cursor_scope();
    let offset = list::decode_offset(&scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("max_results", limits::RESULTS_DEFAULT);
    let page = traversal::traverse_page(
        &mut GraphReader::new(sql, &call.graph_cache)?,
        options,
        &scope,
        offset,
        limit,
    )?;
    let read_set = page.add_dependencies(ReadSet::at_version(sql.version()));
    Ok((
        structured(traversal::traversal_document(options.start, &page))
            .with_link(options.start.uri(), format!("Node {}", options.start)),
        read_set,
    ))
}

fn memory_context() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_context",
        "Context of a memory",
        "Shows a memory with everything around it and the links between.",
        object(
            &[
                ("node_id", node_id("The memory")),
                ("depth", integer(1, limits::MAX_NEIGHBORHOOD_DEPTH, neighborhood::DEFAULT_DEPTH)),
                ("cursor", cursor()),
            ],
            &["node_id"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(context(amem, call)))
}

async fn context(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let center = arguments.node("node_id")?;
    let depth = arguments.usize_or("depth", neighborhood::DEFAULT_DEPTH);
    let offset = list::decode_offset(&Neighborhood::cursor_scope(center, depth), arguments.text("cursor"))?;
    let (document, read_set) =
        neighborhood::read_with_links(amem, call.caller, center, depth, offset).await?;
    let uri = format!("{}/neighborhood?depth={depth}", center.uri());
    let output = structured(document).with_link(uri, format!("Neighborhood of node {center}"));
    Ok(ToolResult::read_only(output, read_set))
}

fn memory_causal() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_causal",
        "What depends on a memory",
        "Finds everything that was caused by a memory or for which it is evidence, and what depends on that in turn.",
        object(
            &[
                ("node_id", node_id("The memory")),
                ("max_depth", integer(1, limits::MAX_TRAVERSAL_DEPTH, 5)),
                ("max_results", integer(1, limits::RESULTS_MAX, 100)),
                ("cursor", cursor()),
            ],
            &["node_id"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, causal)))
}

fn causal(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
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
    let offset = list::decode_offset(&scope, arguments.text("cursor"))?.max(1);
    let page = traversal::traverse_page(
        &mut GraphReader::new(sql, &call.graph_cache)?,
        options,
        &scope,
        offset,
        arguments.usize_or("max_results", 100),
    )?;
    let read_set = page.add_dependencies(ReadSet::at_version(sql.version()));
    Ok((
        structured(traversal::causal_document(root, &page)).with_link(root.uri(), format!("Node {root}")),
        read_set,
    ))
}

fn memory_path() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_path",
        "Path between memories",
        "Finds a shortest chain of links from one memory to another.",
        object(
            &[
                ("from_id", node_id("From")),
                ("to_id", node_id("To")),
                ("edge_types", string_array("Only these types of links")),
                ("direction", direction("both")),
                ("max_depth", integer(1, limits::MAX_TRAVERSAL_DEPTH, 10)),
            ],
            &["from_id", "to_id"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, path)))
}

fn path(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    const FIELDS: [StaticField; 4] =
        [StaticField::Id, StaticField::EventType, StaticField::Content, StaticField::Confidence];
    let (from, to) = (arguments.node("from_id")?, arguments.node("to_id")?);
    let (edge_filter, max_depth) = (arguments.edge_filter("both")?, arguments.usize_or("max_depth", 10));
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::counters()).with_tag(tags::nodes());
    let mut graph = GraphReader::new(sql, &call.graph_cache)?;
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
            result.put_array("nodes", nodes, |object, node| node.write_json(object, &FIELDS));
            result.put_array("edges", edges, |object, edge| edge.write_json(object));
        }
        PathResult::None => {}
        PathResult::LimitReached => {
            let message = format!(
                "The search stopped after {} nodes; restrict edge_types",
                limits::MAX_TRAVERSAL_NODES
            );
            result.put("exhausted", true);
            result.put("message", message);
        }
    }
    Ok((structured(result), read_set))
}

fn memory_temporal() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_temporal",
        "Compare two times",
        "Compares what was known in two ranges: what was added, corrected, unchanged, or has faded.",
        object(
            &[("range_a", range_schema()), ("range_b", range_schema()), ("cursor", cursor())],
            &["range_a", "range_b"],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, temporal)))
}

fn temporal(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let (first, second) = (range_arg(arguments, "range_a")?, range_arg(arguments, "range_b")?);
    let comparison = range_diff::diff(sql, &first, &second, arguments.text("cursor"), micros::now())?;
    Ok((structured(comparison), node_read_set(sql)))
}

fn range_schema() -> Value {
    json!({"oneOf": [
        {"type": "object", "properties": {"type": {"const": "time_window"}, "start": {"type": "integer", "minimum": 0},
            "end": {"type": "integer", "minimum": 0}}, "required": ["type", "start", "end"], "additionalProperties": false},
        {"type": "object", "properties": {"type": {"const": "session"}, "session_id": {"type": "integer", "minimum": 0}},
            "required": ["type", "session_id"], "additionalProperties": false},
        {"type": "object", "properties": {"type": {"const": "sessions"}, "session_ids": {"type": "array",
            "items": {"type": "integer", "minimum": 0}}}, "required": ["type", "session_ids"], "additionalProperties": false}
    ]})
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

fn memory_quality() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_quality",
        "Quality of the memory",
        "Reports doubtful memories: unsure, faded, unlinked, decisions without support, open contradictions.",
        object(
            &[
                ("low_confidence_threshold", ratio("0.45 by default")),
                ("stale_decay_threshold", ratio("0.2 by default")),
                ("max_examples", integer(0, limits::QUALITY_EXAMPLES, 20)),
                ("cursor", cursor()),
            ],
            &[],
        ),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, quality)))
}

fn quality(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let arguments = call.arguments();
    let thresholds = Thresholds {
        low_confidence: arguments.number("low_confidence_threshold").unwrap_or(0.45),
        stale_decay: arguments.number("stale_decay_threshold").unwrap_or(0.2),
        examples: arguments.usize_or("max_examples", 20),
    };
    let report = quality::report(sql, thresholds, arguments.text("cursor"), micros::now())?;
    Ok((structured(report), node_read_set(sql)))
}

fn memory_stats() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_stats",
        "Memory statistics",
        "Counts memories, links and sessions, and says which session you are in.",
        object(&[], &[]),
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, stats)))
}

fn stats(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let mut document = counters::read(sql)?.to_json();
    let current = caller_state::current_session(sql, &call.subject)?;
    if let Some(document) = document.as_object_mut() {
        document.insert("current_session".into(), json!(current.map(|id| id.0)));
    }
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::counters());
    Ok((structured(document).with_link("amem://graph/stats", "Graph Statistics"), read_set))
}
