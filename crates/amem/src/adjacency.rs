//! The edges of nodes, wherever they are stored.
//!
//! The table `amem_edge` is the source of truth. The column `amem_node.outgoing` repeats a node's outgoing edges. A
//! traversal needs a node and its outgoing edges, and reads both with one row lookup instead of two. The functions of
//! [`edge`] that change edges pack them again in the same transaction; `quad doctor --deep` compares both. The column
//! is null in rows written before it existed and for nodes with more than [`limits::MAX_PACKED_EDGES`] edges; the
//! functions of this module then read the table.
//!
//! The format is text: target, type number and weight of each edge, separated by spaces, in the order of
//! [`edge::for_node`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use quad_core::{Error, Result};
use quad_store::fast_path::IdQuery;
use quad_store::{Backend, Row, Sql, Tx, Value as Cell, batch, params};

use crate::edge::{self, Direction, Edge, EdgeType, EdgeTypeSet};
use crate::node::{self, Node, NodeId, StaticNode};
use crate::{errors, limits};

/// The outgoing edges of new nodes, by source.
#[derive(Default)]
pub(crate) struct EdgesBySource(BTreeMap<NodeId, Vec<Edge>>);

impl EdgesBySource {
    pub(crate) fn new<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> EdgesBySource {
        let mut by_source: BTreeMap<NodeId, Vec<Edge>> = BTreeMap::new();
        for edge in edges {
            by_source.entry(edge.source).or_default().push(*edge);
        }
        EdgesBySource(by_source)
    }

    /// The value of the column `outgoing` for a new node.
    pub(crate) fn packed(&self, source: NodeId) -> Option<String> {
        pack(self.0.get(&source).map_or(&[], Vec::as_slice))
    }

    /// The sources that are not among these nodes.
    pub(crate) fn other_sources<'n>(mut self, nodes: impl IntoIterator<Item = &'n Node>) -> BTreeSet<NodeId> {
        for node in nodes {
            self.0.remove(&node.id);
        }
        self.0.into_keys().collect()
    }
}

/// Packs all outgoing edges of one node; `None` if there are too many.
fn pack(edges: &[Edge]) -> Option<String> {
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
fn unpack(source: NodeId, packed: &str) -> Result<Vec<Edge>> {
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

/// Unpacks the edges in this column; `None` where the column is null.
fn unpack_column(row: &Row, column: usize, id: NodeId) -> Result<Option<Vec<Edge>>> {
    row.opt_text(column)?.map(|packed| unpack(id, packed)).transpose()
}

/// The node with this id and at most `limit` of its outgoing edges, or a not-found error.
pub(crate) fn node_with_outgoing(sql: &mut dyn Sql, id: NodeId, limit: usize) -> Result<(Node, Vec<Edge>)> {
    static WITH_EDGES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", node::COLUMNS_WITH_EDGES);
    let rows = node::rows_by_ids(sql, &WITH_EDGES_BY_ID, &[id])?;
    let row = rows.first().ok_or_else(|| errors::node_not_found(id))?;
    let node = Node::from_row(row)?;
    let edges = match unpack_column(row, 10, id)? {
        Some(edges) => edges,
        None => edge::for_node(sql, id, Direction::Outgoing, EdgeTypeSet::ALL, limit)?,
    };
    Ok((node, edges))
}

/// The nodes with these ids, each with all its outgoing edges if its row has them packed. Missing ids are skipped.
pub(crate) fn nodes_with_packed_edges(
    sql: &mut dyn Sql,
    ids: &[NodeId],
) -> Result<Vec<(StaticNode, Option<Vec<Edge>>)>> {
    static STATIC_WITH_EDGES_BY_ID: IdQuery =
        IdQuery::new("amem_node", "id", node::COLUMNS_STATIC_WITH_EDGES);
    let read_row = |row: &Row| {
        let node = StaticNode::from_row(row)?.into_owned();
        let edges = unpack_column(row, 7, node.id)?;
        Ok((node, edges))
    };
    node::rows_by_ids(sql, &STATIC_WITH_EDGES_BY_ID, ids)?.iter().map(read_row).collect()
}

/// The edges of some nodes in one direction.
#[derive(Default)]
pub(crate) struct LoadedEdges {
    /// Nodes that exist, each with all its edges of all types.
    pub complete: Vec<(NodeId, Vec<Edge>)>,
    /// The edges of the wanted types of the other nodes. A list may be cut at the limit of [`edge::for_nodes`].
    pub wanted: BTreeMap<NodeId, Vec<Edge>>,
}

/// Loads the edges of these nodes in one direction. `exists` tells whether a node is known to exist: for the others,
/// an empty list of edges proves nothing.
pub(crate) fn load_edges(
    sql: &mut dyn Sql,
    ids: &[NodeId],
    direction: Direction,
    types: EdgeTypeSet,
    exists: impl Fn(NodeId) -> bool,
) -> Result<LoadedEdges> {
    let mut loaded = LoadedEdges::default();
    if direction == Direction::Outgoing {
        loaded.complete = packed_edges(sql, ids)?;
    }
    let packed: BTreeSet<NodeId> = loaded.complete.iter().map(|(id, _)| *id).collect();
    let unpacked: Vec<NodeId> = ids.iter().copied().filter(|id| !packed.contains(id)).collect();
    if unpacked.is_empty() {
        return Ok(loaded);
    }
    loaded.wanted = edge::for_nodes(sql, &unpacked, direction, types)?;
    if types == EdgeTypeSet::ALL {
        for id in unpacked {
            let count = loaded.wanted.get(&id).map_or(0, Vec::len);
            if (count > 0 || exists(id)) && count < limits::MAX_EDGES_PER_EXPANSION {
                loaded.complete.push((id, loaded.wanted.remove(&id).unwrap_or_default()));
            }
        }
    }
    Ok(loaded)
}

/// The packed outgoing edges of these nodes. Missing nodes and null columns are skipped.
fn packed_edges(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<Vec<(NodeId, Vec<Edge>)>> {
    static EDGES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", "id, outgoing");
    let read_row = |row: &Row| -> Result<Option<(NodeId, Vec<Edge>)>> {
        let id = NodeId(row.int(0)?);
        Ok(unpack_column(row, 1, id)?.map(|edges| (id, edges)))
    };
    node::rows_by_ids(sql, &EDGES_BY_ID, ids)?.iter().filter_map(|row| read_row(row).transpose()).collect()
}

/// A hash of a column `outgoing`, to compare it with the table later without keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedHash(u64);

impl PackedHash {
    pub(crate) fn of_column(packed: &str) -> PackedHash {
        let mut hasher = DefaultHasher::new();
        packed.hash(&mut hasher);
        PackedHash(hasher.finish())
    }

    /// Whether the column has exactly these edges.
    pub(crate) fn matches(self, edges: &[Edge]) -> bool {
        pack(edges).is_some_and(|packed| PackedHash::of_column(&packed) == self)
    }
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
        params![tenant.as_str(), source.0, pack(&edges)],
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
            let packed = pack(&edges.remove(source).unwrap_or_default());
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
        let packed = pack(&edges).unwrap();
        assert_eq!(packed, "3 0 0 3 1 0.30000000000000004 9223372036854775807 6 1");
        let sorted: Vec<Edge> = edges.into_iter().rev().collect();
        assert_eq!(unpack(NodeId(7), &packed).unwrap(), sorted);
        assert_eq!(pack(&[]).unwrap(), "");
        assert_eq!(unpack(NodeId(7), "").unwrap(), []);
    }

    #[test]
    fn edges_above_limit_are_not_packed() {
        let edges: Vec<Edge> =
            (0..=limits::MAX_PACKED_EDGES as i64).map(|target| edge(target, EdgeType::PartOf, 1.0)).collect();
        assert!(pack(&edges).is_none());
        assert!(pack(&edges[1..]).is_some());
    }

    #[test]
    fn decode_rejects_corrupt_text() {
        for corrupt in ["1", "1 0", "1 7 0.5", "x 0 0.5", "1 0 heavy", "1 0 0.5 2"] {
            assert!(unpack(NodeId(7), corrupt).is_err(), "{corrupt}");
        }
    }
}
