//! The tools that write memories: add, correct, link, forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use quad_core::tool::{ToolCall, ToolResult, ToolEffect};
use quad_core::{JsonObjectWriter, Result, Tool};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{answer, input, node_id, share, string, unknown, write};
use crate::adding::{self, Added, NewEdge, NewNode, Target};
use crate::edge::{self, Edge, EdgeType};
use crate::event_type::EventType;
use crate::linking::{self, Linked};
use crate::refusal::invalid;
use crate::{Amem, conversation, correcting, forgetting, limits, routes};

/// How sure a memory is unless the caller says otherwise.
const CONFIDENCE: f64 = 0.9;

/// How sure a logged turn of a conversation is.
const CONVERSATION_CONFIDENCE: f64 = 0.72;

const EVENT_TYPE: &str = "fact, decision, inference, correction, skill or episode";
const EDGE_TYPE: &str =
    "caused_by (derived_from), supports, contradicts, supersedes, related_to, part_of or temporal_next";

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema, effect| {
        Tool::new(name, title, description, input_schema, routes::MEMORY_WRITE, effect)
    };
    let edge = |extra: &[(&str, Value)], required: &[&str]| {
        let mut properties = extra.to_vec();
        properties.push(("edge_type", string(EDGE_TYPE)));
        properties.push(("weight", json!({"type": "number", "default": 1, "description": "0 to 1"})));
        input(&properties, required)
    };
    let vector = || {
        json!({"type": "array", "items": {"type": "number"}, "minItems": limits::DIMENSION, "maxItems": limits::DIMENSION,
            "description": "Your own embedding"})
    };
    let added = |edges: Value, most: usize| {
        [
            ("event_type", string(EVENT_TYPE)),
            ("content", string("What to remember")),
            ("confidence", json!({"type": "number", "minimum": 0, "maximum": 1, "default": CONFIDENCE})),
            (
                "edges",
                json!({"type": "array", "maxItems": most, "items": edges, "description": "Links from the new node"}),
            ),
            ("feature_vec", vector()),
        ]
    };
    let single = edge(&[("target_id", node_id("A node"))], &["target_id", "edge_type"]);
    let several = edge(
        &[
            ("target_id", node_id("A node that exists")),
            ("target_index", node_id("Or a node of this call, from 0")),
        ],
        &["edge_type"],
    );
    vec![
        tool(
            "memory_add",
            "Add a memory",
            "Stores one memory, with links to others. It follows your last one in time.",
            input(&added(single, limits::EDGES_PER_ADD), &["event_type", "content"]),
            ToolEffect::Creates,
        ),
        tool(
            "memory_add_many",
            "Add many memories",
            "Stores up to 1,000 memories at once, all or none; links may lead from one of them to another.",
            input(
                &[
                    (
                        "nodes",
                        json!({"type": "array", "minItems": 1, "maxItems": limits::MANY_NODES,
                            "items": input(&added(several, limits::EDGES_PER_ADD), &["event_type", "content"])}),
                    ),
                    (
                        "chain",
                        json!({"type": "boolean", "default": true, "description": "Link each to the one before in time"}),
                    ),
                ],
                &["nodes"],
            ),
            ToolEffect::Creates,
        ),
        tool(
            "memory_correct",
            "Correct a memory",
            "Stores a correction that supersedes an earlier memory. The old one stays, marked.",
            input(
                &[
                    ("old_node_id", node_id("What was wrong")),
                    ("new_content", string("What is right")),
                    ("confidence", share("1 unless you are less sure")),
                    ("reason", string("Why; kept in the audit trail")),
                ],
                &["old_node_id", "new_content"],
            ),
            ToolEffect::Creates,
        ),
        tool(
            "memory_link",
            "Link two memories",
            "Links two memories, changes the weight of a link, or removes it.",
            edge(
                &[
                    ("source_id", node_id("From")),
                    ("target_id", node_id("To")),
                    ("remove", json!({"type": "boolean", "default": false})),
                ],
                &["source_id", "target_id", "edge_type"],
            ),
            ToolEffect::Updates,
        ),
        tool(
            "memory_forget",
            "Forget a memory",
            "Removes a memory and its links for good; its id is never used again. To replace it, use memory_correct.",
            input(
                &[("node_id", node_id("What to forget")), ("reason", string("Why; kept in the audit trail"))],
                &["node_id", "reason"],
            ),
            ToolEffect::Deletes,
        ),
        tool(
            "conversation_log",
            "Log a conversation",
            "Stores what the user said, what you did, or both, as the next link of your chain.",
            input(
                &[
                    ("user_message", string("What the user said")),
                    ("agent_response", string("What you answered or did")),
                    ("topic", string("What it was about")),
                ],
                &[],
            ),
            ToolEffect::Creates,
        ),
    ]
}

pub(super) async fn call(amem: &Amem, mut call: ToolCall<'_>) -> Result<ToolResult> {
    let sent = std::mem::take(&mut call.arguments);
    let arguments = Arguments(&sent);
    let subject = call.caller.subject.clone();
    match call.tool.name {
        "memory_add" => {
            let new = vec![new_node(arguments)?];
            write(amem, call, move |tx| {
                let added = adding::add(tx, &subject, &new, true)?;
                let (id, event_type) = first(&added, &new);
                tx.audit_output("node_id", id.0);
                let mut result = JsonObjectWriter::with_capacity(80);
                result.put("node_id", id.0);
                result.put("event_type", event_type.as_str());
                result.put("edges_created", added.edges);
                Ok(answer(result).with_link(id.uri(), format!("Node {id}")))
            })
            .await
        }
        "memory_add_many" => {
            let parts = arguments.list("nodes").iter().map(|node| match node {
                Value::Object(node) => new_node(Arguments(node)),
                _ => Err(invalid("nodes", "must be objects")),
            });
            let new = parts.collect::<Result<Vec<NewNode>>>()?;
            let chain = arguments.truth("chain", true);
            let tenant = call.caller.tenant.clone();
            let newest = Arc::new(AtomicI64::new(-1));
            let made = newest.clone();
            let called = write(amem, call, move |tx| {
                let added = adding::add(tx, &subject, &new, chain)?;
                made.store(added.ids.last().map_or(-1, |id| id.0), Ordering::Relaxed);
                let ids: Vec<i64> = added.ids.iter().map(|id| id.0).collect();
                tx.audit_output("first_node_id", first(&added, &new).0.0);
                tx.audit_output("count", ids.len());
                let result = json!({"node_ids": ids, "count": added.ids.len(), "edges_created": added.edges,
                    "session_id": added.session.0});
                Ok(answer(result).with_link(added.session.uri(), format!("Session {}", added.session)))
            })
            .await?;
            // A long import is indexed while it runs, not at the next search.
            if let Ok(newest) = u64::try_from(newest.load(Ordering::Relaxed)) {
                amem.engine.grown(&tenant, newest);
            }
            Ok(called)
        }
        "memory_correct" => {
            let old = arguments.node("old_node_id")?;
            let content = arguments.required_text("new_content")?.to_owned();
            adding::check_content("new_content", &content)?;
            let confidence = arguments.confidence(1.0)?;
            let reason = arguments.reason()?.map(str::to_owned);
            write(amem, call, move |tx| {
                let (id, _) = correcting::correct(tx, &subject, old, &content, confidence)?;
                tx.audit_output("node_id", id.0);
                tx.audit_output("superseded_id", old.0);
                let mut result = json!({"new_node_id": id.0, "old_node_id": old.0, "supersedes": true});
                if let (Some(reason), Some(result)) = (&reason, result.as_object_mut()) {
                    result.insert("reason".into(), reason.as_str().into());
                    tx.audit_output("reason", reason.as_str());
                }
                Ok(answer(result).with_link(id.uri(), format!("Node {id}")).with_link(old.uri(), format!("Node {old}")))
            })
            .await
        }
        "memory_link" => {
            let edge = Edge {
                source: arguments.node("source_id")?,
                target: arguments.node("target_id")?,
                edge_type: EdgeType::expect(arguments.required_text("edge_type")?)?,
                weight: edge::weight(arguments.number("weight").unwrap_or(1.0)),
            };
            let remove = arguments.truth("remove", false);
            write(amem, call, move |tx| {
                let linked = if remove { linking::unlink(tx, edge)? } else { linking::link(tx, edge)? };
                tx.audit_output("source_id", edge.source.0);
                tx.audit_output("target_id", edge.target.0);
                let mut result = JsonObjectWriter::default();
                edge.write(&mut result);
                let what = match linked {
                    Linked::Created => "created",
                    Linked::Updated => "updated",
                    Linked::Removed => "removed",
                };
                result.put("result", what);
                Ok(answer(result).with_link(edge.source.uri(), format!("Node {}", edge.source)))
            })
            .await
        }
        "memory_forget" => {
            let id = arguments.node("node_id")?;
            let reason = arguments.reason()?.map(str::trim).unwrap_or_default().to_owned();
            if reason.is_empty() {
                return Err(invalid("reason", "must say why: it is all that remains"));
            }
            write(amem, call, move |tx| {
                let forgotten = forgetting::forget(tx, id)?;
                tx.audit_output("node_id", id.0);
                tx.audit_output("reason", reason.as_str());
                let mut result =
                    json!({"node_id": id.0, "forgotten": forgotten.done, "edges_removed": forgotten.edges});
                if let (false, Some(result)) = (forgotten.done, result.as_object_mut()) {
                    let message = "The node has more links than one call removes; call again";
                    result.insert("message".into(), message.into());
                }
                Ok(answer(result))
            })
            .await
        }
        "conversation_log" => {
            let new = vec![conversation(arguments)?];
            write(amem, call, move |tx| {
                let added = adding::add(tx, &subject, &new, true)?;
                let (id, _) = first(&added, &new);
                tx.audit_output("node_id", id.0);
                let result = json!({"node_id": id.0, "edges_created": added.edges,
                    "message": "Logged, as the next link of the chain"});
                Ok(answer(result).with_link(id.uri(), format!("Node {id}")))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}

fn first(added: &Added, new: &[NewNode]) -> (crate::node::NodeId, EventType) {
    let id = added.ids.first().copied().unwrap_or(crate::node::NodeId(0));
    (id, new.first().map_or(EventType::Fact, |new| new.event_type))
}

fn new_node(arguments: Arguments<'_>) -> Result<NewNode> {
    let content = arguments.required_text("content")?;
    adding::check_content("content", content)?;
    Ok(NewNode {
        event_type: EventType::expect(arguments.required_text("event_type")?)?,
        content: content.to_owned(),
        confidence: arguments.confidence(CONFIDENCE)?,
        edges: arguments.list("edges").iter().map(new_edge).collect::<Result<_>>()?,
        vector: vector(arguments)?,
    })
}

fn new_edge(value: &Value) -> Result<NewEdge> {
    let Value::Object(edge) = value else { return Err(invalid("edges", "must be objects")) };
    let edge = Arguments(edge);
    let target = match (edge.whole("target_id"), edge.whole("target_index")) {
        (Some(id), None) => Target::Node(crate::node::NodeId::of(id)),
        (None, Some(position)) => Target::Position(usize::try_from(position).unwrap_or(usize::MAX)),
        _ => return Err(invalid("edges", "each needs target_id or target_index, and not both")),
    };
    Ok(NewEdge {
        target,
        edge_type: EdgeType::expect(edge.required_text("edge_type")?)?,
        weight: edge::weight(edge.number("weight").unwrap_or(1.0)),
    })
}

/// A vector that can be compared: of the right length, of finite numbers, not all zero.
fn vector(arguments: Arguments<'_>) -> Result<Option<Vec<f32>>> {
    let numbers = arguments.list("feature_vec");
    if numbers.is_empty() {
        return Ok(None);
    }
    let vector: Vec<f32> = numbers.iter().map(|number| number.as_f64().unwrap_or(f64::NAN) as f32).collect();
    let good = vector.len() == limits::DIMENSION
        && vector.iter().all(|number| number.is_finite())
        && vector.iter().any(|number| *number != 0.0);
    if good {
        Ok(Some(vector))
    } else {
        Err(invalid(
            "feature_vec",
            format!("must be {} finite numbers, not all of them zero", limits::DIMENSION),
        ))
    }
}

/// A turn of a conversation as a node.
fn conversation(arguments: Arguments<'_>) -> Result<NewNode> {
    let (user, agent) = (arguments.text("user_message"), arguments.text("agent_response"));
    if user.is_none() && agent.is_none() {
        return Err(invalid("user_message", "this or agent_response is needed"));
    }
    let content = conversation::content(user, agent, arguments.text("topic"));
    adding::check_content("conversation", &content)?;
    Ok(NewNode::new(EventType::Inference, content, CONVERSATION_CONFIDENCE))
}
