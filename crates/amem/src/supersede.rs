//! Corrections: a new node supersedes an old one. The old node keeps its content and confidence.

use std::collections::BTreeSet;

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::adjacency::EdgesBySource;
use crate::edge::{self, Direction, Edge, EdgeType, EdgeTypeSet};
use crate::event_type::EventType;
use crate::insert::NewNode;
use crate::node::{self, Node, NodeId};
use crate::session::SessionId;
use crate::{caller_state, errors, limits, tags};

/// Corrects a node. The correction belongs to the caller's session but not to its chain.
pub(crate) fn correct(
    tx: &mut Tx<'_>,
    subject: &str,
    old: NodeId,
    content: &str,
    confidence: f64,
) -> Result<(NodeId, SessionId)> {
    let (mut counters, mut caller_state) = caller_state::lock_with_counters(tx, subject)?;
    if node::first_missing(tx, &[old])?.is_some() {
        return Err(errors::node_not_found(old));
    }
    let id = NodeId(counters.next_id);
    counters.next_id += 1;
    let at = counters.next_timestamp();
    let session = caller_state.ensure_session(tx, &mut counters, subject)?;
    let new = NewNode::new(EventType::Correction, content, confidence).to_node(id, session, at);
    let supersedes = Edge { source: id, target: old, edge_type: EdgeType::Supersedes, weight: 1.0 };
    node::insert(tx, subject, &[new], &EdgesBySource::new([&supersedes]))?;
    edge::insert_rows(tx, &[(supersedes, at)])?;
    set_superseded_by(tx, old, Some(id))?;
    counters.count_nodes(EventType::Correction, 1);
    counters.count_edges(EdgeType::Supersedes, 1);
    caller_state.count_nodes(&mut counters, 1);
    caller_state.save(tx, subject)?;
    counters.save(tx)?;
    for tag in [
        tags::counters(),
        tags::nodes(),
        tags::session(session),
        tags::event_type(EventType::Correction),
        tags::node(old),
    ] {
        tx.invalidate(tag);
    }
    Ok((id, session))
}

/// Follows a chain of corrections to the latest node.
pub(crate) fn resolve(sql: &mut dyn Sql, id: NodeId) -> Result<Node> {
    let mut latest = node::get(sql, id)?;
    for _ in 0..limits::RESOLVE_HOPS {
        match latest.superseded_by {
            None => return Ok(latest),
            Some(by) => latest = node::get(sql, by)?,
        }
    }
    Err(errors::limit_exceeded(
        "CHAIN_TOO_LONG",
        format!("Memory {id} was corrected more than {} times in a row", limits::RESOLVE_HOPS),
    )
    .hint(format!("Continue from {}, which is the last one that was followed", latest.id.uri())))
}

/// Rejects a `supersedes` edge that would close a cycle: `target` must not supersede `source`, directly or
/// indirectly.
pub(crate) fn check_cycle(sql: &mut dyn Sql, source: NodeId, target: NodeId) -> Result<()> {
    let supersedes = EdgeTypeSet::single(EdgeType::Supersedes);
    let mut seen = BTreeSet::from([target]);
    let mut level = vec![target];
    while !level.is_empty() {
        let mut next = Vec::new();
        for edge in edge::for_nodes(sql, &level, Direction::Outgoing, supersedes)?.into_values().flatten() {
            if edge.target == source {
                return Err(errors::supersede_cycle(source, target));
            }
            if seen.insert(edge.target) {
                next.push(edge.target);
            }
        }
        if seen.len() > limits::MAX_TRAVERSAL_NODES {
            return Err(errors::limit_exceeded(
                "CHAIN_TOO_LONG",
                format!("Memory {target} supersedes more memories than a check for cycles follows"),
            )
            .hint("Store what is right with memory_correct instead"));
        }
        level = next;
    }
    Ok(())
}

/// Sets the node that supersedes `target`.
pub(crate) fn set_superseded_by(tx: &mut Tx<'_>, target: NodeId, by: Option<NodeId>) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_node SET superseded_by = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), target.0, by.map(|id| id.0)],
    )?;
    Ok(())
}

/// Determines the newest superseding node of `target` again, after an edge was removed.
pub(crate) fn recompute_superseded_by(tx: &mut Tx<'_>, target: NodeId) -> Result<()> {
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(
        "SELECT source_id FROM amem_edge WHERE tenant_id = $1 AND target_id = $2 AND edge_type = 3 \
         ORDER BY created_at DESC, source_id DESC LIMIT 1",
        params![tenant.as_str(), target.0],
    )?;
    let by = row.map(|row| row.int(0)).transpose()?.map(NodeId);
    set_superseded_by(tx, target, by)
}
