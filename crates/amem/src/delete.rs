//! `memory_forget`: deletes a node with its edges and its vector. Its id is never reused.

use std::collections::BTreeSet;

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::edge::{self, Direction, Edge, EdgeType, EdgeTypeSet};
use crate::node::{self, NodeId};
use crate::{caller_state, counters, limits, session, supersede, tags};

/// The result of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeleteResult {
    /// Whether the node itself is deleted. A node with too many edges loses only a part of them per call.
    pub done: bool,
    pub edges: usize,
}

/// Deletes a node, or as many of its edges as fit into one transaction.
pub(crate) fn delete_node(tx: &mut Tx<'_>, id: NodeId) -> Result<DeleteResult> {
    let mut counters = counters::lock(tx)?;
    let node = node::get(tx, id)?;
    let limit = limits::EDGES_PER_DELETE + 1;
    let mut edges = edge::for_node(tx, id, Direction::Outgoing, EdgeTypeSet::ALL, limit)?;
    edges.extend(edge::for_node(
        tx,
        id,
        Direction::Incoming,
        EdgeTypeSet::ALL,
        limit - edges.len().min(limit),
    )?);
    let done = edges.len() <= limits::EDGES_PER_DELETE;
    edges.truncate(limits::EDGES_PER_DELETE);
    remove_edges(tx, id, &edges, done)?;
    let mut changed_nodes = BTreeSet::from([id]);
    for edge in &edges {
        counters.count_edges(edge.edge_type, -1);
        changed_nodes.extend([edge.source, edge.target]);
        if edge.edge_type == EdgeType::Supersedes && (edge.source == id || !done) {
            supersede::recompute_superseded_by(tx, edge.target)?;
        }
    }
    if done {
        let tenant = tx.tenant().clone();
        for table in [
            "amem_vector WHERE tenant_id = $1 AND node_id = $2",
            "amem_node WHERE tenant_id = $1 AND id = $2",
        ] {
            tx.execute(&format!("DELETE FROM {table}"), params![tenant.as_str(), id.0])?;
        }
        counters.deleted += 1;
        tx.execute(
            "INSERT INTO amem_erased (tenant_id, mark, node_id) VALUES ($1, $2, $3)",
            params![tenant.as_str(), counters.deleted, id.0],
        )?;
        counters.count_nodes(node.event_type, -1);
        session::count_nodes(tx, &mut counters, node.session_id, -1)?;
        session::clear_episode(tx, node.session_id, id)?;
        caller_state::clear_last_node(tx, id)?;
        tx.invalidate(tags::session(node.session_id));
        tx.invalidate(tags::event_type(node.event_type));
    }
    counters.save(tx)?;
    tx.invalidate(tags::counters());
    tx.invalidate(tags::nodes());
    tags::invalidate_nodes(tx, &changed_nodes);
    Ok(DeleteResult { done, edges: edges.len() })
}

fn remove_edges(tx: &mut Tx<'_>, id: NodeId, edges: &[Edge], all: bool) -> Result<()> {
    if !all {
        return edge::remove_many(tx, edges);
    }
    edge::remove_all(tx, id, &edges.iter().map(|edge| edge.source).filter(|source| *source != id).collect())
}
