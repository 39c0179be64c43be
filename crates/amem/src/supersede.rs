//! Corrections: a new node supersedes an old one. The old node keeps its content and confidence.
//!
//! Of several corrections of one node the newest counts. So that every list, search and walk sees this in the one column
//! `superseded_by`, a new correction also supersedes the node that corrected the old one before.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Kind, Result};
use quad_store::{Sql, Tx, params};

use crate::adjacency::EdgesBySource;
use crate::edge::{self, Direction, Edge, EdgeType, EdgeTypeSet};
use crate::event_type::EventType;
use crate::insert::NewNode;
use crate::node::{self, Node, NodeId};
use crate::session::SessionId;
use crate::{caller_state, errors, limits, tags};

/// Corrects a node, and whatever corrected it before. The correction belongs to the caller's session but not to its
/// chain.
pub(crate) fn correct(
    tx: &mut Tx<'_>,
    subject: &str,
    old: NodeId,
    content: &str,
    confidence: f64,
) -> Result<(NodeId, SessionId)> {
    let (mut counters, mut caller_state) = caller_state::lock_with_counters(tx, subject)?;
    let latest = resolve(tx, old)?.id;
    let id = NodeId(counters.next_id);
    counters.next_id += 1;
    let at = counters.next_timestamp();
    let session = caller_state.ensure_session(tx, &mut counters, subject)?;
    let new = NewNode::new(EventType::Correction, content, confidence).to_node(id, session, at);
    let targets = BTreeSet::from([old, latest]);
    let edges: Vec<Edge> = targets.iter().map(|target| supersedes(id, *target)).collect();
    node::insert(tx, subject, &[new], &EdgesBySource::new(&edges))?;
    edge::insert_rows(tx, &edges.iter().map(|edge| (*edge, at)).collect::<Vec<_>>())?;
    for target in &targets {
        set_superseded_by(tx, *target, Some(id))?;
        counters.count_edges(EdgeType::Supersedes, 1);
        tx.invalidate(tags::node(*target));
    }
    counters.count_nodes(EventType::Correction, 1);
    caller_state.count_nodes(&mut counters, 1);
    caller_state.save(tx, subject)?;
    counters.save(tx)?;
    for tag in
        [tags::counters(), tags::nodes(), tags::session(session), tags::event_type(EventType::Correction)]
    {
        tx.invalidate(tag);
    }
    Ok((id, session))
}

/// The edge of a correction.
fn supersedes(source: NodeId, target: NodeId) -> Edge {
    Edge { source, target, edge_type: EdgeType::Supersedes, weight: 1.0 }
}

/// The correction that `target` has already and that a new edge from `source` to it replaces as well. `None` if `target`
/// has no correction, and if `source` is itself superseded: then it replaces nothing that holds. A node of another type
/// than a correction stays beside the new one: a node may be split into several.
pub(crate) fn replaced_correction(sql: &mut dyn Sql, source: NodeId, target: NodeId) -> Result<Option<Edge>> {
    let Some(latest) = latest_of(sql, target)? else { return Ok(None) };
    let is_replaced = ![source, target].contains(&latest.id) && latest.event_type == EventType::Correction;
    if !is_replaced || node::find(sql, source)?.is_some_and(|node| node.superseded_by.is_some()) {
        return Ok(None);
    }
    Ok(Some(supersedes(source, latest.id)))
}

/// The edges by which new nodes replace earlier corrections of the nodes that they supersede. `superseded` are the nodes
/// that the nodes of this call supersede; several new ones that supersede the same node stay side by side.
pub(crate) fn replaced_by_new(
    sql: &mut dyn Sql,
    edges: &[Edge],
    first_new: NodeId,
    superseded: &BTreeMap<NodeId, NodeId>,
) -> Result<Vec<Edge>> {
    let mut replaced = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.edge_type == EdgeType::Supersedes) {
        if edge.target < first_new
            && !superseded.contains_key(&edge.source)
            && let Some(edge) = replaced_correction(sql, edge.source, edge.target)?
        {
            replaced.insert(edge.key(), edge);
        }
    }
    for edge in edges {
        replaced.remove(&edge.key());
    }
    Ok(replaced.into_values().collect())
}

/// Lets the newest node that supersedes `target` also supersede its earlier corrections. For graphs from programs that
/// do not: there every correction of a node still holds. Returns the edges that the caller has to insert.
pub(crate) fn replace_earlier_corrections(tx: &mut Tx<'_>, target: NodeId) -> Result<Vec<Edge>> {
    let Some(latest) = latest_of(tx, target)?.map(|node| node.id) else { return Ok(Vec::new()) };
    let types = EdgeTypeSet::single(EdgeType::Supersedes);
    let incoming = edge::for_node(tx, target, Direction::Incoming, types, limits::MAX_EDGES_PER_EXPANSION)?;
    let sources: Vec<NodeId> =
        incoming.iter().map(|edge| edge.source).filter(|source| *source != latest).collect();
    let mut added = Vec::new();
    for node in node::find_many(tx, &sources)?.into_values() {
        if node.event_type == EventType::Correction && node.superseded_by.is_none() {
            added.push(supersedes(latest, node.id));
            set_superseded_by(tx, node.id, Some(latest))?;
        }
    }
    Ok(added)
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

/// The latest node of a chain of corrections, or `None` if the chain is longer than [`resolve`] follows.
fn latest_of(sql: &mut dyn Sql, id: NodeId) -> Result<Option<Node>> {
    match resolve(sql, id) {
        Ok(node) => Ok(Some(node)),
        Err(error) if error.kind() == Kind::Limit => Ok(None),
        Err(error) => Err(error),
    }
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
