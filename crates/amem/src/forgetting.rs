//! Forgetting: a node goes with its edges and its vector. Its id is never given out again.

use std::collections::BTreeSet;

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::edge::{self, Edge, EdgeType, EdgeTypes, Side};
use crate::node::{self, NodeId};
use crate::{correcting, limits, place, session, stats, tags};

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// Whether the node itself is gone. A node with very many edges loses a part of them first.
    pub done: bool,
    pub edges: usize,
}

/// Forgets a node, or as many of its edges as one transaction should remove.
pub(crate) fn forget(tx: &mut Tx<'_>, id: NodeId) -> Result<Forgotten> {
    let mut stats = stats::lock(tx)?;
    let node = node::expect(tx, id)?;
    let room = limits::FORGET_EDGES + 1;
    let mut edges = edge::of_node(tx, id, Side::Outgoing, EdgeTypes::ALL, room)?;
    edges.extend(edge::of_node(tx, id, Side::Incoming, EdgeTypes::ALL, room - edges.len().min(room))?);
    let done = edges.len() <= limits::FORGET_EDGES;
    edges.truncate(limits::FORGET_EDGES);
    remove_edges(tx, id, &edges, done)?;
    let mut touched = BTreeSet::from([id]);
    for edge in &edges {
        stats.count_edges(edge.edge_type, -1);
        touched.extend([edge.source, edge.target]);
        if edge.edge_type == EdgeType::Supersedes && (edge.source == id || !done) {
            correcting::refresh(tx, edge.target)?;
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
        stats.erased += 1;
        tx.execute(
            "INSERT INTO amem_erased (tenant_id, mark, node_id) VALUES ($1, $2, $3)",
            params![tenant.as_str(), stats.erased, id.0],
        )?;
        stats.count_nodes(node.event_type, -1);
        session::count_nodes(tx, &mut stats, node.session_id, -1)?;
        session::forget_episode(tx, node.session_id, id)?;
        place::forget(tx, id)?;
        tx.invalidate(tags::session(node.session_id));
        tx.invalidate(tags::event_type(node.event_type));
    }
    stats.save(tx)?;
    tx.invalidate(tags::stats());
    tx.invalidate(tags::nodes());
    tags::touch_nodes(tx, &touched);
    Ok(Forgotten { done, edges: edges.len() })
}

fn remove_edges(tx: &mut Tx<'_>, id: NodeId, edges: &[Edge], all: bool) -> Result<()> {
    if !all {
        return edge::remove_many(tx, edges);
    }
    edge::remove_all(tx, id, &edges.iter().map(|edge| edge.source).filter(|source| *source != id).collect())
}
