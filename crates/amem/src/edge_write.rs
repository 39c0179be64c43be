//! `memory_link`: creates an edge between existing nodes, changes its weight, or removes it.

use std::collections::BTreeSet;

use quad_core::{Error, Kind, Result};
use quad_store::Tx;

use crate::edge::{self, Edge, EdgeType};
use crate::{counters, errors, limits, node, supersede, tags};

/// What happened to the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeChange {
    Created,
    /// It existed; its weight was replaced.
    Updated,
    Removed,
}

/// Creates an edge, or changes the weight of an existing one.
pub(crate) fn link(tx: &mut Tx<'_>, edge: Edge) -> Result<EdgeChange> {
    let mut counters = counters::lock(tx)?;
    if edge.source == edge.target {
        return Err(errors::self_edge());
    }
    if let Some(missing) = node::first_missing(tx, &[edge.source, edge.target])? {
        return Err(errors::node_not_found(missing));
    }
    // An earlier correction of the target that the new edge replaces.
    let mut replaced = None;
    let is_new = edge::find(tx, edge.source, edge.target, edge.edge_type)?.is_none();
    if is_new {
        if edge.edge_type != EdgeType::TemporalNext
            && edge::count_outgoing(tx, edge.source)? >= limits::MAX_OUTGOING_EDGES
        {
            return Err(errors::limit_exceeded(
                "TOO_MANY_EDGES",
                format!(
                    "Memory {} has {} outgoing links, the maximum",
                    edge.source,
                    limits::MAX_OUTGOING_EDGES
                ),
            )
            .hint("Link through a memory in between, such as an episode"));
        }
        if edge.edge_type == EdgeType::Supersedes {
            supersede::check_cycle(tx, edge.source, edge.target)?;
            replaced = supersede::replaced_correction(tx, edge.source, edge.target)?;
            for target in [Some(edge.target), replaced.map(|edge| edge.target)].into_iter().flatten() {
                supersede::set_superseded_by(tx, target, Some(edge.source))?;
            }
            tx.invalidate(tags::nodes());
        }
        counters.count_edges(edge.edge_type, 1);
        tx.invalidate(tags::counters());
    }
    let at = counters.next_timestamp();
    edge::upsert(tx, &edge, at)?;
    let mut changed_nodes = BTreeSet::from([edge.source, edge.target]);
    if let Some(replaced) = replaced {
        edge::upsert(tx, &replaced, at)?;
        counters.count_edges(replaced.edge_type, 1);
        changed_nodes.insert(replaced.target);
    }
    counters.save(tx)?;
    tags::invalidate_nodes(tx, &changed_nodes);
    Ok(if is_new { EdgeChange::Created } else { EdgeChange::Updated })
}

/// Removes an edge.
pub(crate) fn unlink(tx: &mut Tx<'_>, edge: Edge) -> Result<EdgeChange> {
    let mut counters = counters::lock(tx)?;
    if !edge::remove(tx, &edge)? {
        let (source, target, edge_type) = (edge.source, edge.target, edge.edge_type.as_str());
        let message = format!("Memory {source} has no link {edge_type} to memory {target}");
        return Err(Error::new(Kind::NotFound, "NOT_FOUND", message)
            .hint(format!("Read {} for the links of memory {source}", source.uri())));
    }
    if edge.edge_type == EdgeType::Supersedes {
        supersede::recompute_superseded_by(tx, edge.target)?;
        tx.invalidate(tags::nodes());
    }
    counters.count_edges(edge.edge_type, -1);
    counters.save(tx)?;
    tx.invalidate(tags::counters());
    tags::invalidate_nodes(tx, &BTreeSet::from([edge.source, edge.target]));
    Ok(EdgeChange::Removed)
}
