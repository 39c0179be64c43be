//! A node's outgoing edges, packed into the node's own row.
//!
//! `amem_edge` is the truth, and this says the same again: a walk needs a node and where it leads, and so finds both in one place and
//! not in two, which at a million nodes is the difference between being ahead of a graph in memory and not. Whoever changes edges
//! does so in [`edge`], which packs them anew in the same transaction; `quad doctor --deep` compares. Where a row says
//! nothing (it is older than this, or has too many edges) the edges are where they always were.
//!
//! Packed they are words: target, number of the type and weight of each edge, in the order of [`edge::of_node`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use quad_core::{Error, Result};
use quad_store::{Backend, Sql, Tx, Value as Cell, batch, params};

use crate::edge::{self, Edge, EdgeType, EdgeTypes, Side};
use crate::limits;
use crate::node::NodeId;

/// Edges by their sources.
pub(crate) type BySource = BTreeMap<NodeId, Vec<Edge>>;

/// Puts edges under their sources.
pub(crate) fn by_source<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> BySource {
    let mut sources = BySource::new();
    for edge in edges {
        sources.entry(edge.source).or_default().push(*edge);
    }
    sources
}

/// Packs all edges that leave one node, unless they are too many.
pub(crate) fn pack(edges: &[Edge]) -> Option<String> {
    if edges.len() > limits::PACKED_EDGES {
        return None;
    }
    let mut sorted: Vec<&Edge> = edges.iter().collect();
    sorted.sort_by_key(|edge| edge.key());
    let mut packed = String::with_capacity(16 * sorted.len());
    for edge in sorted {
        let gap = if packed.is_empty() { "" } else { " " };
        // Writing into a string cannot fail.
        let _ = write!(packed, "{gap}{} {} {}", edge.target, edge.edge_type.number(), edge.weight);
    }
    Some(packed)
}

/// The edges that leave `source`.
pub(crate) fn unpack(source: NodeId, packed: &str) -> Result<Vec<Edge>> {
    let mut words = packed.split_ascii_whitespace();
    let mut edges = Vec::new();
    while let Some(target) = words.next() {
        let edge = (|| {
            Some(Edge {
                source,
                target: NodeId(target.parse().ok()?),
                edge_type: EdgeType::stored(words.next()?.parse().ok()?).ok()?,
                weight: words.next()?.parse().ok()?,
            })
        })();
        edges.push(
            edge.ok_or_else(|| Error::internal(format!("the packed edges of node {source} are damaged")))?,
        );
    }
    Ok(edges)
}

/// Packs anew what leaves these nodes, after some of it has changed.
pub(crate) fn refresh(tx: &mut Tx<'_>, sources: &BTreeSet<NodeId>) -> Result<()> {
    match tx.backend() {
        Backend::Sqlite => sources.iter().try_for_each(|source| refresh_one(tx, *source)),
        // Each statement is a journey. SQLite would look at every node there is for those of a list.
        Backend::Postgres => refresh_many(tx, &sources.iter().copied().collect::<Vec<_>>()),
    }
}

fn refresh_one(tx: &mut Tx<'_>, source: NodeId) -> Result<()> {
    // One that has very many is asked for no more than it takes to see that.
    let most = limits::PACKED_EDGES + 1;
    let edges = edge::of_node(tx, source, Side::Outgoing, EdgeTypes::ALL, most)?;
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_node SET outgoing = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), source.0, pack(&edges)],
    )?;
    Ok(())
}

fn refresh_many(tx: &mut Tx<'_>, sources: &[NodeId]) -> Result<()> {
    static UPDATE: batch::BatchStatement = batch::BatchStatement::new(|rows| {
        let one = |row: usize| format!("(CAST(${} AS BIGINT), CAST(${} AS TEXT))", 2 + row * 2, 3 + row * 2);
        let packed = (0..rows).map(one).collect::<Vec<_>>().join(", ");
        format!(
            "UPDATE amem_node SET outgoing = p.column2 FROM (VALUES {packed}) AS p \
             WHERE tenant_id = $1 AND id = p.column1"
        )
    });
    for piece in batch::chunks(sources) {
        let mut edges = edge::of_nodes(tx, piece, Side::Outgoing, EdgeTypes::ALL)?;
        let mut cells = vec![Cell::from(tx.tenant().as_str())];
        for source in piece {
            let packed = pack(&edges.remove(source).unwrap_or_default());
            cells.extend([Cell::Int(source.0), packed.into()]);
        }
        tx.execute(&UPDATE.for_row_count(piece.len()), &cells)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(target: i64, edge_type: EdgeType, weight: f64) -> Edge {
        Edge { source: NodeId(7), target: NodeId(target), edge_type, weight }
    }

    #[test]
    fn what_is_packed_is_unpacked_in_order() {
        let edges = [
            edge(i64::MAX, EdgeType::TemporalNext, 1.0),
            edge(3, EdgeType::Supports, 0.1 + 0.2),
            edge(3, EdgeType::CausedBy, 0.0),
        ];
        let packed = pack(&edges).unwrap();
        assert_eq!(packed, "3 0 0 3 1 0.30000000000000004 9223372036854775807 6 1");
        let sorted: Vec<Edge> = edges.into_iter().rev().collect();
        assert_eq!(unpack(NodeId(7), &packed).unwrap(), sorted);
        assert_eq!(pack(&[]).unwrap(), "");
        assert_eq!(unpack(NodeId(7), "").unwrap(), []);
    }

    #[test]
    fn too_many_are_not_packed() {
        let edges: Vec<Edge> =
            (0..=limits::PACKED_EDGES as i64).map(|target| edge(target, EdgeType::PartOf, 1.0)).collect();
        assert!(pack(&edges).is_none());
        assert!(pack(&edges[1..]).is_some());
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        for damaged in ["1", "1 0", "1 7 0.5", "x 0 0.5", "1 0 heavy", "1 0 0.5 2"] {
            assert!(unpack(NodeId(7), damaged).is_err(), "{damaged}");
        }
    }
}
