//! The tools that write memories: add, correct, link, forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, ratio, result, string, string_enum};
use quad_core::{JsonObjectWriter, Result, Tool, ToolEntry};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{run_write, schema, structured};
use crate::edge::{self, Edge, EdgeType};
use crate::edge_write::{self, EdgeChange};
use crate::errors::invalid_argument;
use crate::event_type::EventType;
use crate::insert::{self, InsertResult, NewEdge, NewNode, Target};
use crate::node::NodeId;
use crate::{Amem, conversation, delete, limits, near_duplicates, routes, supersede, vectors};

/// The confidence of a memory unless given.
const DEFAULT_CONFIDENCE: f64 = 0.9;

/// What a link of a new memory needs.
const EDGE_HINT: &str = "Give each link edge_type and one target: target_id for a memory that exists, target_index for one of this call";

/// The confidence of a logged conversation turn.
const CONVERSATION_CONFIDENCE: f64 = 0.72;

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![
        memory_add(),
        memory_add_many(),
        memory_correct(),
        memory_link(),
        memory_forget(),
        conversation_log(),
    ]
}

fn tool(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: Value,
    effect: ToolEffect,
) -> Tool {
    Tool::new(name, title, description, arguments, routes::MEMORY_WRITE, effect)
}

/// The schema of an edge: `others` and the fields that all edges have.
fn edge_schema(others: &[(&str, Value)], required: &[&str]) -> Value {
    let mut properties = others.to_vec();
    properties.push(("edge_type", schema::edge_type()));
    properties.push(("weight", json!({"type": "number", "default": 1, "description": "0 to 1"})));
    object(&properties, required)
}

/// The schema of a new node with edges of this schema.
fn node_schema(edge: Value) -> [(&'static str, Value); 5] {
    let mut confidence = ratio("How sure you are");
    confidence["default"] = DEFAULT_CONFIDENCE.into();
    let mut vector = schema::vector("Your own embedding");
    (vector["minItems"], vector["maxItems"]) = (1.into(), limits::MAX_DIMENSION.into());
    [
        ("event_type", schema::event_type()),
        ("content", string("What to remember")),
        ("confidence", confidence),
        (
            "edges",
            json!({"type": "array", "maxItems": limits::EDGES_PER_ADD, "items": edge,
                "description": "Links from the new memory"}),
        ),
        ("feature_vec", vector),
    ]
}

fn memory_add() -> ToolEntry<Amem> {
    let similar = schema::record(&["node_id", "event_type", "content", "similarity"], &[]);
    let edge = edge_schema(&[("target_id", schema::node_arg("A memory"))], &["target_id", "edge_type"]);
    let tool = tool(
        "memory_add",
        "Add a memory",
        "Stores one memory, with links to others, and names those that say nearly the same.",
        object(&node_schema(edge), &["event_type", "content"]),
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("node_id", schema::node_id("The new memory")),
            ("event_type", schema::event_type()),
            ("edges_created", schema::count("Links, with the one in time")),
            ("similar", array(similar, "Only if there are any: memories that say nearly the same")),
            ("message", string("What to do about them")),
        ],
        &["node_id", "event_type", "edges_created"],
    ))
    .with_stored_text()
    .example(json!({"event_type": "decision", "content": "Use PostgreSQL for the main database",
        "edges": [{"target_id": 0, "edge_type": "caused_by"}]}))
    .aliases(&[
        ("type", "event_type"),
        ("text", "content"),
        ("vector", "feature_vec"),
        ("embedding", "feature_vec"),
    ]);
    ToolEntry::new(tool, |amem, call| Box::pin(add(amem, call)))
}

async fn add(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
    let new_nodes = vec![new_node(arguments)?];
    // The answer shows stored memories, which a caller with only the scope to write may not read.
    let may_read = routes::MEMORY_READ.is_satisfied_by(&call.caller.scopes);
    let similar = if may_read {
        near_duplicates::find(amem, &call.caller.tenant, &new_nodes).await
    } else {
        Vec::new()
    };
    run_write(amem, call, move |tx| {
        let inserted = insert::insert_nodes(tx, &subject, &new_nodes, true)?;
        let (id, event_type) = first_node(&inserted, &new_nodes);
        tx.audit_output("node_id", id.0);
        let mut result = JsonObjectWriter::with_capacity(80);
        result.put("node_id", id.0);
        result.put("event_type", event_type.as_str());
        result.put("edges_created", inserted.edges);
        if !similar.is_empty() {
            result.put("similar", &similar);
            result.put("message", near_duplicates::MESSAGE);
        }
        Ok(structured(result).with_link(id.uri(), format!("Node {id}")))
    })
    .await
}

fn memory_add_many() -> ToolEntry<Amem> {
    let ends = [
        ("target_id", schema::node_arg("A memory that exists")),
        ("target_index", schema::count("Or a memory of this call, from 0")),
    ];
    let node = object(&node_schema(edge_schema(&ends, &["edge_type"])), &["event_type", "content"]);
    let tool = tool(
        "memory_add_many",
        "Add many memories",
        "Stores up to 1,000 memories at once, all or none; links may lead from one of them to another.",
        object(
            &[
                (
                    "nodes",
                    json!({"type": "array", "minItems": 1, "maxItems": limits::MAX_NODES_PER_ADD_MANY,
                        "items": node, "description": "The memories"}),
                ),
                ("chain", schema::flag(true, "Link each to the one before in time")),
            ],
            &["nodes"],
        ),
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("node_ids", schema::ids("The new memories, in the order of the call")),
            ("count", schema::count("New memories")),
            ("edges_created", schema::count("Links, with those in time")),
            ("session_id", schema::count("The session of the memories")),
        ],
        &["node_ids", "count", "edges_created", "session_id"],
    ))
    .example(json!({"nodes": [
        {"event_type": "fact", "content": "The API listens on port 8080"},
        {"event_type": "decision", "content": "Put a proxy in front", "edges": [{"target_index": 0, "edge_type": "caused_by"}]},
    ]}))
    .aliases(&[("memories", "nodes"), ("items", "nodes"), ("entries", "nodes")]);
    ToolEntry::new(tool, |amem, call| Box::pin(add_many(amem, call)))
}

async fn add_many(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
    let parts = arguments.list("nodes").iter().map(|node| match node {
        Value::Object(node) => new_node(Arguments(node)),
        _ => {
            let hint = "Give each memory as an object with event_type and content";
            Err(invalid_argument("nodes", "has an entry that is not an object", hint))
        }
    });
    let new_nodes = parts.collect::<Result<Vec<NewNode>>>()?;
    let chain = arguments.bool_or("chain", true);
    let tenant = call.caller.tenant.clone();
    let last_id = Arc::new(AtomicI64::new(-1));
    let last_id_in_tx = last_id.clone();
    let result = run_write(amem, call, move |tx| {
        let inserted = insert::insert_nodes(tx, &subject, &new_nodes, chain)?;
        last_id_in_tx.store(inserted.ids.last().map_or(-1, |id| id.0), Ordering::Relaxed);
        let ids: Vec<i64> = inserted.ids.iter().map(|id| id.0).collect();
        tx.audit_output("first_node_id", first_node(&inserted, &new_nodes).0.0);
        tx.audit_output("count", ids.len());
        let result = json!({"node_ids": ids, "count": inserted.ids.len(), "edges_created": inserted.edges,
            "session_id": inserted.session.0});
        Ok(structured(result).with_link(inserted.session.uri(), format!("Session {}", inserted.session)))
    })
    .await?;
    // Starts indexing during a long series of calls instead of at the next search.
    if let Ok(last_id) = u64::try_from(last_id.load(Ordering::Relaxed)) {
        amem.engine.notify_added(&tenant, last_id);
    }
    Ok(result)
}

fn memory_correct() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_correct",
        "Correct a memory",
        "Stores a correction that supersedes an earlier memory. The old one stays, marked.",
        object(
            &[
                ("old_node_id", schema::node_arg("What was wrong")),
                ("new_content", string("What is right")),
                ("confidence", ratio("1 unless you are less sure")),
                ("reason", string("Why; kept in the audit trail")),
            ],
            &["old_node_id", "new_content"],
        ),
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("new_node_id", schema::node_id("The correction")),
            ("old_node_id", schema::node_id("What it supersedes")),
            ("supersedes", json!({"type": "boolean", "description": "Always true"})),
            ("reason", string("The reason, if given")),
        ],
        &["new_node_id", "old_node_id", "supersedes"],
    ))
    .example(json!({"old_node_id": 0, "new_content": "The API rate limit is 200 requests per minute",
        "reason": "The documentation changed"}))
    .aliases(&[
        ("node_id", "old_node_id"),
        ("node", "old_node_id"),
        ("id", "old_node_id"),
        ("old_id", "old_node_id"),
        ("memory_id", "old_node_id"),
        ("content", "new_content"),
        ("correction", "new_content"),
    ]);
    ToolEntry::new(tool, |amem, call| Box::pin(correct(amem, call)))
}

async fn correct(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
    let old = arguments.node("old_node_id")?;
    let content = arguments.required_text("new_content")?.to_owned();
    insert::check_content("new_content", &content)?;
    let confidence = arguments.confidence(1.0)?;
    let reason = arguments.reason()?.map(str::to_owned);
    run_write(amem, call, move |tx| {
        let (id, _) = supersede::correct(tx, &subject, old, &content, confidence)?;
        tx.audit_output("node_id", id.0);
        tx.audit_output("superseded_id", old.0);
        let mut result = json!({"new_node_id": id.0, "old_node_id": old.0, "supersedes": true});
        if let (Some(reason), Some(result)) = (&reason, result.as_object_mut()) {
            result.insert("reason".into(), reason.as_str().into());
            tx.audit_output("reason", reason.as_str());
        }
        Ok(structured(result)
            .with_link(id.uri(), format!("Node {id}"))
            .with_link(old.uri(), format!("Node {old}")))
    })
    .await
}

fn memory_link() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_link",
        "Link two memories",
        "Links two memories, changes the weight of a link, or removes it.",
        edge_schema(
            &[
                ("source_id", schema::node_arg("From")),
                ("target_id", schema::node_arg("To")),
                ("remove", schema::flag(false, "Whether to remove the link")),
            ],
            &["source_id", "target_id", "edge_type"],
        ),
        ToolEffect::Updates,
    )
    .output(result(
        &[
            ("source_id", schema::node_id("From")),
            ("target_id", schema::node_id("To")),
            ("edge_type", string_enum(&edge::NAMES, "Type of link")),
            ("weight", ratio("Its strength")),
            ("result", string_enum(&["created", "updated", "removed"], "What happened")),
        ],
        &["source_id", "target_id", "edge_type", "weight", "result"],
    ))
    .example(json!({"source_id": 2, "target_id": 0, "edge_type": "supports", "weight": 0.7}))
    .aliases(&[
        ("from_id", "source_id"),
        ("from", "source_id"),
        ("to_id", "target_id"),
        ("to", "target_id"),
        ("type", "edge_type"),
        ("relation", "edge_type"),
        ("link_type", "edge_type"),
    ]);
    ToolEntry::new(tool, |amem, call| Box::pin(link(amem, call)))
}

async fn link(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let edge = Edge {
        source: arguments.node("source_id")?,
        target: arguments.node("target_id")?,
        edge_type: EdgeType::parse_arg(arguments.required_text("edge_type")?)?,
        weight: edge::clamp_weight(arguments.number("weight").unwrap_or(1.0)),
    };
    let remove = arguments.bool_or("remove", false);
    run_write(amem, call, move |tx| {
        let change = if remove { edge_write::unlink(tx, edge)? } else { edge_write::link(tx, edge)? };
        tx.audit_output("source_id", edge.source.0);
        tx.audit_output("target_id", edge.target.0);
        let mut result = JsonObjectWriter::default();
        edge.write_json(&mut result);
        let outcome = match change {
            EdgeChange::Created => "created",
            EdgeChange::Updated => "updated",
            EdgeChange::Removed => "removed",
        };
        result.put("result", outcome);
        Ok(structured(result).with_link(edge.source.uri(), format!("Node {}", edge.source)))
    })
    .await
}

fn memory_forget() -> ToolEntry<Amem> {
    let tool = tool(
        "memory_forget",
        "Forget a memory",
        "Removes a memory and its links for good; its id is never used again. To replace it, use memory_correct.",
        object(
            &[("node_id", schema::node_arg("What to forget")), ("reason", string("Why; kept in the audit trail"))],
            &["node_id", "reason"],
        ),
        ToolEffect::Deletes,
    )
    .output(result(
        &[
            ("node_id", schema::node_id("The memory")),
            ("forgotten", json!({"type": "boolean", "description": "False if more calls are needed"})),
            ("edges_removed", schema::count("Links that were removed")),
            ("message", string("What is left to do")),
        ],
        &["node_id", "forgotten", "edges_removed"],
    ))
    .example(json!({"node_id": 3, "reason": "Said in error"}));
    ToolEntry::new(tool, |amem, call| Box::pin(forget(amem, call)))
}

async fn forget(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let id = arguments.node("node_id")?;
    let reason = arguments.reason()?.map(str::trim).unwrap_or_default().to_owned();
    if reason.is_empty() {
        return Err(invalid_argument("reason", "is empty", "Say why the memory is removed"));
    }
    run_write(amem, call, move |tx| {
        let deletion = delete::delete_node(tx, id)?;
        tx.audit_output("node_id", id.0);
        tx.audit_output("reason", reason.as_str());
        let mut result =
            json!({"node_id": id.0, "forgotten": deletion.done, "edges_removed": deletion.edges});
        if let (false, Some(result)) = (deletion.done, result.as_object_mut()) {
            let message = "The node has more links than one call removes; call memory_forget again";
            result.insert("message".into(), message.into());
        }
        Ok(structured(result))
    })
    .await
}

fn conversation_log() -> ToolEntry<Amem> {
    let tool = tool(
        "conversation_log",
        "Log a conversation",
        "Stores what the user said, what you did, or both, as the next link of your chain.",
        object(
            &[
                ("user_message", string("What the user said")),
                ("agent_response", string("What you answered or did")),
                ("topic", string("What it was about")),
            ],
            &[],
        ),
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("node_id", schema::node_id("The new memory")),
            ("edges_created", schema::count("Links in time")),
            ("message", string("What happened")),
        ],
        &["node_id", "edges_created", "message"],
    ))
    .example(
        json!({"user_message": "Which port does the API use?", "agent_response": "8080", "topic": "API"}),
    )
    .aliases(&[
        ("user", "user_message"),
        ("assistant", "agent_response"),
        ("agent", "agent_response"),
        ("response", "agent_response"),
        ("assistant_message", "agent_response"),
        ("assistant_response", "agent_response"),
        ("agent_message", "agent_response"),
    ]);
    ToolEntry::new(tool, |amem, call| Box::pin(log_conversation(amem, call)))
}

async fn log_conversation(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
    let new_nodes = vec![conversation_node(arguments)?];
    run_write(amem, call, move |tx| {
        let inserted = insert::insert_nodes(tx, &subject, &new_nodes, true)?;
        let (id, _) = first_node(&inserted, &new_nodes);
        tx.audit_output("node_id", id.0);
        let result = json!({"node_id": id.0, "edges_created": inserted.edges,
            "message": "Logged as the next node of your chain"});
        Ok(structured(result).with_link(id.uri(), format!("Node {id}")))
    })
    .await
}

fn first_node(inserted: &InsertResult, new_nodes: &[NewNode]) -> (NodeId, EventType) {
    let id = inserted.ids.first().copied().unwrap_or(NodeId(0));
    (id, new_nodes.first().map_or(EventType::Fact, |node| node.event_type))
}

fn new_node(arguments: Arguments<'_>) -> Result<NewNode> {
    let content = arguments.required_text("content")?;
    insert::check_content("content", content)?;
    Ok(NewNode {
        event_type: EventType::parse_arg(arguments.required_text("event_type")?)?,
        content: content.to_owned(),
        confidence: arguments.confidence(DEFAULT_CONFIDENCE)?,
        edges: arguments.list("edges").iter().map(new_edge).collect::<Result<_>>()?,
        vector: vector(arguments)?,
    })
}

fn new_edge(value: &Value) -> Result<NewEdge> {
    let Value::Object(edge) = value else {
        return Err(invalid_argument("edges", "has an entry that is not an object", EDGE_HINT));
    };
    let edge = Arguments(edge);
    let target = match (edge.get("target_id"), edge.integer("target_index")) {
        (Some(_), None) => Target::Node(edge.node("target_id")?),
        (None, Some(position)) => Target::BatchIndex(usize::try_from(position).unwrap_or(usize::MAX)),
        (None, None) => {
            return Err(invalid_argument(
                "edges",
                "has a link without target_id and target_index",
                EDGE_HINT,
            ));
        }
        _ => {
            return Err(invalid_argument(
                "edges",
                "has a link with both target_id and target_index",
                EDGE_HINT,
            ));
        }
    };
    Ok(NewEdge {
        target,
        edge_type: EdgeType::parse_arg(edge.required_text("edge_type")?)?,
        weight: edge::clamp_weight(edge.number("weight").unwrap_or(1.0)),
    })
}

/// A vector that can be compared. Its dimension is checked in the transaction.
fn vector(arguments: Arguments<'_>) -> Result<Option<Vec<f32>>> {
    let numbers = arguments.list("feature_vec");
    if numbers.is_empty() {
        return Ok(None);
    }
    let vector: Vec<f32> = numbers.iter().map(|number| number.as_f64().unwrap_or(f64::NAN) as f32).collect();
    if vectors::is_valid(&vector) {
        Ok(Some(vector))
    } else {
        Err(invalid_argument(
            "feature_vec",
            format!(
                "is not a vector of up to {} finite numbers, not all of them zero",
                limits::MAX_DIMENSION
            ),
            "Give another vector, or leave feature_vec out",
        ))
    }
}

/// A conversation turn as a node.
fn conversation_node(arguments: Arguments<'_>) -> Result<NewNode> {
    let (user, agent) = (arguments.text("user_message"), arguments.text("agent_response"));
    if user.is_none() && agent.is_none() {
        return Err(invalid_argument(
            "user_message",
            "and agent_response are both missing",
            "Give user_message, agent_response or both",
        ));
    }
    let content = conversation::encode_turn(user, agent, arguments.text("topic"));
    insert::check_content("conversation", &content)?;
    Ok(NewNode::new(EventType::Inference, content, CONVERSATION_CONFIDENCE))
}
