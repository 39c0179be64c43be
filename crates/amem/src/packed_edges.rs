//! A node's outgoing edges, packed into the node's own row.
//!
//! The table `amem_edge` is the source of truth; the column `amem_node.outgoing` repeats it. A traversal needs a
//! node and its outgoing edges, and reads both with one row lookup instead of two. The functions of [`edge`] that
//! change edges pack them again in the same transaction; `quad doctor --deep` compares both. The column is null in
//! rows written before it existed and for nodes with more than [`limits::MAX_PACKED_EDGES`] edges; readers then use
//! the table.
//!
//! The format is text: target, type number and weight of each edge, separated by spaces, in the order of
//! [`edge::for_node`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use quad_core::{Error, Result};
use quad_store::{Backend, Sql, Tx, Value as Cell, batch, params};

use crate::edge::{self, Direction, Edge, EdgeType, EdgeTypeSet};
use crate::limits;
use crate::node::NodeId;

/// Edges grouped by source.
pub(crate) type EdgesBySource = BTreeMap<NodeId, Vec<Edge>>;

/// Groups edges by source.
pub(crate) fn group_by_source<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> EdgesBySource {
    let mut by_source = EdgesBySource::new();
    for edge in edges {
        by_source.entry(edge.source).or_default().push(*edge);
    }
    by_source
}

/// Packs all outgoing edges of one node; `None` if there are too many.
pub(crate) fn encode(edges: &[Edge]) -> Option<String> {
    if edges.len() > limits::MAX_PACKED_EDGES {
        return None;
    }
    let mut sorted: Vec<&Edge> = edges.iter().collect();
    sorted.sort_by_key(|edge| edge.key());
    let mut packed = String::with_capacity(16 * sorted.len());
    for edge in sorted {
        let separator = if packed.is_empty() { "" } else { " " };
        // Writing into a string cannot fail.
        let _ = write!(packed, "{separator}{} {} {}", edge.target, edge.edge_type.number(), edge.weight);
    }
    Some(packed)
}

/// Unpacks the outgoing edges of `source`.
pub(crate) fn decode(source: NodeId, packed: &str) -> Result<Vec<Edge>> {
    let mut words = packed.split_ascii_whitespace();
    let mut edges = Vec::new();
    while let Some(target) = words.next() {
        let edge = (|| {
            Some(Edge {
                source,
                target: NodeId(target.parse().ok()?),
                edge_type: EdgeType::from_db(words.next()?.parse().ok()?).ok()?,
                weight: words.next()?.parse().ok()?,
            })
        })();
        edges.push(
            edge.ok_or_else(|| Error::internal(format!("the packed edges of node {source} are damaged")))?,
        );
    }
    Ok(edges)
}

/// Packs the outgoing edges of these nodes again, after some of them changed.
pub(crate) fn rebuild(tx: &mut Tx<'_>, sources: &BTreeSet<NodeId>) -> Result<()> {
    match tx.backend() {
        Backend::Sqlite => sources.iter().try_for_each(|source| rebuild_one(tx, *source)),
        // PostgreSQL: one statement for all, since each costs a round trip. SQLite would scan all nodes for the
        // join with a list.
        Backend::Postgres => rebuild_many(tx, &sources.iter().copied().collect::<Vec<_>>()),
    }
}

fn rebuild_one(tx: &mut Tx<'_>, source: NodeId) -> Result<()> {
    // One more than fit is enough to see that there are too many.
    let limit = limits::MAX_PACKED_EDGES + 1;
    let edges = edge::for_node(tx, source, Direction::Outgoing, EdgeTypeSet::ALL, limit)?;
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_node SET outgoing = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), source.0, encode(&edges)],
    )?;
    Ok(())
}

fn rebuild_many(tx: &mut Tx<'_>, sources: &[NodeId]) -> Result<()> {
    static UPDATE: batch::BatchStatement = batch::BatchStatement::new(|rows| {
        let row_placeholders =
            |row: usize| format!("(CAST(${} AS BIGINT), CAST(${} AS TEXT))", 2 + row * 2, 3 + row * 2);
        let value_rows = (0..rows).map(row_placeholders).collect::<Vec<_>>().join(", ");
        format!(
            "UPDATE amem_node SET outgoing = p.column2 FROM (VALUES {value_rows}) AS p \
             WHERE tenant_id = $1 AND id = p.column1"
        )
    });
    for chunk in batch::chunks(sources) {
        let mut edges = edge::for_nodes(tx, chunk, Direction::Outgoing, EdgeTypeSet::ALL)?;
        let mut cells = vec![Cell::from(tx.tenant().as_str())];
        for source in chunk {
            let packed = encode(&edges.remove(source).unwrap_or_default());
            cells.extend([Cell::Int(source.0), packed.into()]);
        }
        tx.execute(&UPDATE.for_row_count(chunk.len()), &cells)?;
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
    fn packed_edges_round_trip_in_order() {
        let edges = [
            edge(i64::MAX, EdgeType::TemporalNext, 1.0),
            edge(3, EdgeType::Supports, 0.1 + 0.2),
            edge(3, EdgeType::CausedBy, 0.0),
        ];
        let packed = encode(&edges).unwrap();
        assert_eq!(packed, "3 0 0 3 1 0.30000000000000004 9223372036854775807 6 1");
        let sorted: Vec<Edge> = edges.into_iter().rev().collect();
        assert_eq!(decode(NodeId(7), &packed).unwrap(), sorted);
        assert_eq!(encode(&[]).unwrap(), "");
        assert_eq!(decode(NodeId(7), "").unwrap(), []);
    }

    #[test]
    fn edges_above_limit_are_not_packed() {
        let edges: Vec<Edge> =
            (0..=limits::MAX_PACKED_EDGES as i64).map(|target| edge(target, EdgeType::PartOf, 1.0)).collect();
        assert!(encode(&edges).is_none());
        assert!(encode(&edges[1..]).is_some());
    }

    #[test]
    fn decode_rejects_corrupt_text() {
        for corrupt in ["1", "1 0", "1 7 0.5", "x 0 0.5", "1 0 heavy", "1 0 0.5 2"] {
            assert!(decode(NodeId(7), corrupt).is_err(), "{corrupt}");
        }
    }
}
