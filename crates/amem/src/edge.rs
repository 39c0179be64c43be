//! Edges: directed links between memories, of seven types, at most one of each type between two nodes.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Error, JsonObjectWriter, Result};
use quad_store::{Row, Sql, Tx, Value as Cell, batch, params};
use serde_json::{Value, json};

use crate::node::NodeId;
use crate::{adjacency, errors, limits};

/// The seven types. Their numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeType {
    /// The source exists because of the target.
    CausedBy,
    /// The source is evidence for the target.
    Supports,
    /// The source conflicts with the target.
    Contradicts,
    /// The source replaces the target.
    Supersedes,
    /// Some association.
    RelatedTo,
    /// The source is a member of the target.
    PartOf,
    /// The source came before the target.
    TemporalNext,
}

/// The names, in the order of the numbers.
pub const NAMES: [&str; 7] =
    ["caused_by", "supports", "contradicts", "supersedes", "related_to", "part_of", "temporal_next"];

impl EdgeType {
    /// All types, in the order of the numbers.
    pub const ALL: [EdgeType; 7] = [
        EdgeType::CausedBy,
        EdgeType::Supports,
        EdgeType::Contradicts,
        EdgeType::Supersedes,
        EdgeType::RelatedTo,
        EdgeType::PartOf,
        EdgeType::TemporalNext,
    ];

    /// Parses a name in any case, with or without underscores; `derived_from` is an alias of `caused_by`.
    pub fn parse(name: &str) -> Option<EdgeType> {
        let normalized: String = name.chars().filter(|c| *c != '_').collect();
        if normalized.eq_ignore_ascii_case("derivedfrom") {
            return Some(EdgeType::CausedBy);
        }
        EdgeType::ALL
            .into_iter()
            .find(|edge_type| edge_type.as_str().replace('_', "").eq_ignore_ascii_case(&normalized))
    }

    /// Parses a name, or returns an error that lists the valid names.
    pub(crate) fn parse_arg(name: &str) -> Result<EdgeType> {
        EdgeType::parse(name).ok_or_else(|| errors::unknown_value("edge type", name, &NAMES))
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The stored number.
    pub fn number(self) -> i64 {
        self as i64
    }

    pub(crate) fn from_db(number: i64) -> Result<EdgeType> {
        usize::try_from(number)
            .ok()
            .and_then(|number| EdgeType::ALL.get(number).copied())
            .ok_or_else(|| Error::internal(format!("the stored edge type {number} is unknown")))
    }
}

/// A set of edge types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeTypeSet(u8);

impl EdgeTypeSet {
    pub(crate) const NONE: EdgeTypeSet = EdgeTypeSet(0);
    pub(crate) const ALL: EdgeTypeSet = EdgeTypeSet(0x7f);

    pub(crate) fn single(edge_type: EdgeType) -> EdgeTypeSet {
        EdgeTypeSet(1 << edge_type as u8)
    }

    pub(crate) fn with(self, edge_type: EdgeType) -> EdgeTypeSet {
        EdgeTypeSet(self.0 | 1 << edge_type as u8)
    }

    pub(crate) fn without(self, edge_type: EdgeType) -> EdgeTypeSet {
        EdgeTypeSet(self.0 & !EdgeTypeSet::single(edge_type).0)
    }

    pub(crate) fn contains(self, edge_type: EdgeType) -> bool {
        self.0 & (1 << edge_type as u8) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One bit for each type.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// A SQL condition on `edge_type`; empty for all types.
    fn sql_condition(self) -> String {
        if self == EdgeTypeSet::ALL {
            return String::new();
        }
        let numbers: Vec<String> = EdgeType::ALL
            .into_iter()
            .filter(|edge_type| self.contains(*edge_type))
            .map(|edge_type| edge_type.number().to_string())
            .collect();
        format!(" AND edge_type IN ({})", numbers.join(", "))
    }
}

/// An edge as stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub source: NodeId,
    pub target: NodeId,
    pub edge_type: EdgeType,
    /// 0 to 1.
    pub weight: f64,
}

impl Edge {
    fn from_row(row: &Row) -> Result<Edge> {
        Ok(Edge {
            source: NodeId(row.int(0)?),
            target: NodeId(row.int(1)?),
            edge_type: EdgeType::from_db(row.int(2)?)?,
            weight: row.real(3)?,
        })
    }

    /// The unique key, in the order of the table's primary key.
    pub(crate) fn key(&self) -> (NodeId, NodeId, EdgeType) {
        (self.source, self.target, self.edge_type)
    }

    /// Writes the edge with both ends.
    pub(crate) fn write_json(&self, object: &mut JsonObjectWriter) {
        object.put("source_id", self.source.0);
        object.put("target_id", self.target.0);
        object.put_str("edge_type", self.edge_type.as_str());
        object.put("weight", self.weight);
    }

    /// The edge as an entry in a node's list of this direction, as a JSON value that goes into a larger tree.
    pub(crate) fn to_json_from(self, direction: Direction) -> Value {
        json!({(direction.columns().1): direction.far_end(&self).0, "edge_type": self.edge_type.as_str(), "weight": self.weight})
    }

    /// Writes the edge as an entry in a node's list of this direction.
    pub(crate) fn write_json_from(&self, direction: Direction, object: &mut JsonObjectWriter) {
        object.put(direction.columns().1, direction.far_end(self).0);
        object.put_str("edge_type", self.edge_type.as_str());
        object.put("weight", self.weight);
    }
}

/// A weight limited to 0 to 1.
pub(crate) fn clamp_weight(weight: f64) -> f64 {
    weight.clamp(0.0, 1.0)
}

/// A direction seen from one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Edges whose source is the node.
    Outgoing,
    /// Edges whose target is the node.
    Incoming,
}

impl Direction {
    fn columns(self) -> (&'static str, &'static str) {
        match self {
            Direction::Outgoing => ("source_id", "target_id"),
            Direction::Incoming => ("target_id", "source_id"),
        }
    }

    /// The end of the edge that is not the node.
    pub(crate) fn far_end(self, edge: &Edge) -> NodeId {
        match self {
            Direction::Outgoing => edge.target,
            Direction::Incoming => edge.source,
        }
    }
}

/// At most `limit` edges of one node in one direction, by far end and type.
pub(crate) fn for_node(
    sql: &mut dyn Sql,
    id: NodeId,
    direction: Direction,
    types: EdgeTypeSet,
    limit: usize,
) -> Result<Vec<Edge>> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let (near_column, far_column) = direction.columns();
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT source_id, target_id, edge_type, weight FROM amem_edge WHERE tenant_id = $1 AND {near_column} = $2{} \
             ORDER BY {far_column}, edge_type LIMIT $3",
            types.sql_condition()
        ),
        params![tenant.as_str(), id.0, limit as i64],
    )?;
    rows.iter().map(Edge::from_row).collect()
}

/// The edges of several nodes in one direction, each node's in the order of [`for_node`] and at most
/// [`limits::MAX_EDGES_PER_EXPANSION`].
pub(crate) fn for_nodes(
    sql: &mut dyn Sql,
    ids: &[NodeId],
    direction: Direction,
    types: EdgeTypeSet,
) -> Result<BTreeMap<NodeId, Vec<Edge>>> {
    for_nodes_up_to(sql, ids, direction, types, limits::MAX_EDGES_PER_EXPANSION)
}

/// The edges of several nodes in one direction, each node's in the order of [`for_node`] and at most `limit`, which is
/// not above [`limits::MAX_EDGES_PER_EXPANSION`].
pub(crate) fn for_nodes_up_to(
    sql: &mut dyn Sql,
    ids: &[NodeId],
    direction: Direction,
    types: EdgeTypeSet,
    limit: usize,
) -> Result<BTreeMap<NodeId, Vec<Edge>>> {
    let mut edges_by_node: BTreeMap<NodeId, Vec<Edge>> = BTreeMap::new();
    if types.is_empty() {
        return Ok(edges_by_node);
    }
    let (near_column, far_column) = direction.columns();
    let tenant = sql.tenant().clone();
    for chunk in batch::chunks(ids) {
        let placeholders = batch::placeholders(chunk.len(), 3);
        let mut cells = vec![Cell::from(tenant.as_str()), Cell::Int(limits::MAX_EDGES_PER_EXPANSION as i64)];
        cells.extend(chunk.iter().map(|id| Cell::Int(id.0)));
        let rows = sql.query(
            &format!(
                "SELECT source_id, target_id, edge_type, weight FROM amem_edge \
                 WHERE tenant_id = $1 AND {near_column} IN ({placeholders}){} ORDER BY {near_column}, {far_column}, edge_type LIMIT $2",
                types.sql_condition()
            ),
            &cells,
        )?;
        if rows.len() >= limits::MAX_EDGES_PER_EXPANSION && chunk.len() > 1 {
            // The limit holds for the whole query, so a node with many edges can displace those of the others.
            for id in chunk {
                edges_by_node.insert(*id, for_node(sql, *id, direction, types, limit)?);
            }
            continue;
        }
        for row in &rows {
            let edge = Edge::from_row(row)?;
            let near_end = if direction == Direction::Outgoing { edge.source } else { edge.target };
            let edges = edges_by_node.entry(near_end).or_default();
            if edges.len() < limit {
                edges.push(edge);
            }
        }
    }
    Ok(edges_by_node)
}

/// Inserts an edge, or changes the weight of an existing one.
pub(crate) fn upsert(tx: &mut Tx<'_>, edge: &Edge, created_at: i64) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO amem_edge (tenant_id, created_at, source_id, target_id, edge_type, weight) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (tenant_id, source_id, target_id, edge_type) DO UPDATE SET weight = excluded.weight",
        params![
            tenant.as_str(),
            created_at,
            edge.source.0,
            edge.target.0,
            edge.edge_type.number(),
            edge.weight
        ],
    )?;
    adjacency::rebuild(tx, &BTreeSet::from([edge.source]))
}

/// Inserts edges that do not exist yet, each with its creation time, and packs the edges of their sources again.
pub(crate) fn insert(tx: &mut Tx<'_>, edges: &[(Edge, i64)]) -> Result<()> {
    insert_rows(tx, edges)?;
    adjacency::rebuild(tx, &edges.iter().map(|(edge, _)| edge.source).collect())
}

/// Inserts edges into the table only, for sources whose packed edges are already up to date: see
/// [`crate::node::insert`].
pub(crate) fn insert_rows(tx: &mut Tx<'_>, edges: &[(Edge, i64)]) -> Result<()> {
    const COLUMNS_PER_ROW: usize = 5;
    static INSERT: batch::BatchStatement = batch::BatchStatement::new(|rows| {
        format!(
            "INSERT INTO amem_edge (tenant_id, created_at, source_id, target_id, edge_type, weight) VALUES {}",
            batch::values_placeholders(rows, 2, COLUMNS_PER_ROW, "$1")
        )
    });
    for chunk in batch::chunks(edges) {
        let mut cells = Vec::with_capacity(1 + chunk.len() * COLUMNS_PER_ROW);
        cells.push(Cell::from(tx.tenant().as_str()));
        for (edge, created_at) in chunk {
            cells.extend([
                (*created_at).into(),
                edge.source.0.into(),
                edge.target.0.into(),
                edge.edge_type.number().into(),
                edge.weight.into(),
            ]);
        }
        tx.execute(&INSERT.for_row_count(chunk.len()), &cells)?;
    }
    Ok(())
}

/// The keys of those of these edges that exist.
pub(crate) fn existing(sql: &mut dyn Sql, edges: &[Edge]) -> Result<BTreeSet<(NodeId, NodeId, EdgeType)>> {
    let tenant = sql.tenant().clone();
    let mut keys = BTreeSet::new();
    for chunk in batch::chunks(edges) {
        let placeholder = |number: usize| format!("CAST(${number} AS BIGINT)");
        let key_placeholders = |row: usize| {
            let first = 2 + row * 3;
            format!("({}, {}, {})", placeholder(first), placeholder(first + 1), placeholder(first + 2))
        };
        let key_rows = (0..chunk.len()).map(key_placeholders).collect::<Vec<_>>().join(", ");
        let mut cells = vec![Cell::from(tenant.as_str())];
        for edge in chunk {
            cells.extend([edge.source.0.into(), edge.target.0.into(), edge.edge_type.number().into()]);
        }
        // SQLite executes a CROSS JOIN in the written order, so each wanted edge is looked up by its key.
        // Conditions joined by OR would scan all edges of the tenant.
        let query = format!(
            "SELECT e.source_id, e.target_id, e.edge_type, e.weight FROM (VALUES {key_rows}) AS w CROSS JOIN amem_edge e \
             WHERE e.tenant_id = $1 AND e.source_id = w.column1 AND e.target_id = w.column2 \
             AND e.edge_type = w.column3"
        );
        for row in &sql.query(&query, &cells)? {
            keys.insert(Edge::from_row(row)?.key());
        }
    }
    Ok(keys)
}

/// The weight of an edge, if it exists.
pub(crate) fn find(
    sql: &mut dyn Sql,
    source: NodeId,
    target: NodeId,
    edge_type: EdgeType,
) -> Result<Option<f64>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT weight FROM amem_edge WHERE tenant_id = $1 AND source_id = $2 AND target_id = $3 AND edge_type = $4",
        params![tenant.as_str(), source.0, target.0, edge_type.number()],
    )?;
    Ok(row.map(|row| row.real(0)).transpose()?)
}

/// The number of outgoing edges of a node, without the temporal chain, counted up to the limit.
pub(crate) fn count_outgoing(sql: &mut dyn Sql, source: NodeId) -> Result<usize> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT COUNT(*) FROM (SELECT 1 FROM amem_edge WHERE tenant_id = $1 AND source_id = $2 AND edge_type <> 6 \
         LIMIT $3) AS counted",
        params![tenant.as_str(), source.0, limits::MAX_OUTGOING_EDGES as i64],
    )?;
    let count = row.map(|row| row.int(0)).transpose()?.unwrap_or_default();
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Removes all edges of a node in both directions. `sources` are the sources of its incoming edges, whose packed
/// edges change.
pub(crate) fn remove_all(tx: &mut Tx<'_>, id: NodeId, sources: &BTreeSet<NodeId>) -> Result<()> {
    let tenant = tx.tenant().clone();
    for direction in [Direction::Outgoing, Direction::Incoming] {
        tx.execute(
            &format!("DELETE FROM amem_edge WHERE tenant_id = $1 AND {} = $2", direction.columns().0),
            params![tenant.as_str(), id.0],
        )?;
    }
    adjacency::rebuild(tx, sources)
}

/// Removes existing edges.
pub(crate) fn remove_many(tx: &mut Tx<'_>, edges: &[Edge]) -> Result<()> {
    for edge in edges {
        remove_row(tx, edge)?;
    }
    adjacency::rebuild(tx, &edges.iter().map(|edge| edge.source).collect())
}

/// Removes one edge; returns whether it existed.
pub(crate) fn remove(tx: &mut Tx<'_>, edge: &Edge) -> Result<bool> {
    let was_there = remove_row(tx, edge)?;
    if was_there {
        adjacency::rebuild(tx, &BTreeSet::from([edge.source]))?;
    }
    Ok(was_there)
}

fn remove_row(tx: &mut Tx<'_>, edge: &Edge) -> Result<bool> {
    let tenant = tx.tenant().clone();
    let removed = tx.execute(
        "DELETE FROM amem_edge WHERE tenant_id = $1 AND source_id = $2 AND target_id = $3 AND edge_type = $4",
        params![tenant.as_str(), edge.source.0, edge.target.0, edge.edge_type.number()],
    )?;
    Ok(removed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_type_names_aliases_and_numbers_round_trip() {
        for (number, edge_type) in EdgeType::ALL.into_iter().enumerate() {
            assert_eq!(edge_type.number(), number as i64);
            assert_eq!(EdgeType::from_db(number as i64).unwrap(), edge_type);
            assert_eq!(EdgeType::parse(edge_type.as_str()), Some(edge_type));
            assert_eq!(EdgeType::parse(&edge_type.as_str().replace('_', "")), Some(edge_type));
        }
        for alias in ["derived_from", "derivedfrom", "CausedBy"] {
            assert_eq!(EdgeType::parse(alias), Some(EdgeType::CausedBy));
        }
        assert_eq!(EdgeType::parse("causes"), None);
        assert_eq!(EdgeType::parse_arg("caused").unwrap_err().code(), "VALIDATION_ERROR");
        assert!(EdgeType::from_db(7).is_err());
    }

    #[test]
    fn edge_type_set_becomes_sql_condition() {
        let set = EdgeTypeSet::single(EdgeType::CausedBy).with(EdgeType::PartOf);
        assert_eq!(set.sql_condition(), " AND edge_type IN (0, 5)");
        assert_eq!(EdgeTypeSet::ALL.sql_condition(), "");
        assert!(EdgeType::ALL.into_iter().all(|edge_type| EdgeTypeSet::ALL.contains(edge_type)));
        assert!(set.contains(EdgeType::PartOf) && !set.contains(EdgeType::Supports));
    }

    #[test]
    fn weight_is_clamped_to_unit_interval() {
        assert_eq!((clamp_weight(5.0), clamp_weight(-1.0), clamp_weight(0.7)), (1.0, 0.0, 0.7));
    }
}
