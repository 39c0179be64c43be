//! Nodes: one memory each.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use quad_core::{JsonObjectWriter, Result};
use quad_store::fast_path::{FastSql as _, IdQuery};
use quad_store::{Row, Sql, Tx, Value as Cell, batch, params};
use serde_json::{Map, Value};

use crate::edge::Edge;
use crate::event_type::EventType;
use crate::packed_edges::{self, EdgesBySource};
use crate::session::SessionId;
use crate::{decay, errors};

/// A node's number: from 0, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i64);

impl NodeId {
    /// The id in an address or an argument. Beyond what is ever given out they are all one: nobody's.
    pub(crate) fn from_u64_saturating(id: u64) -> NodeId {
        NodeId(i64::try_from(id).unwrap_or(i64::MAX))
    }

    /// Its address.
    pub(crate) fn uri(self) -> String {
        format!("amem://node/{self}")
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A node as stored. Its content is its own, or lent by a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<Text = String> {
    pub id: NodeId,
    pub event_type: EventType,
    pub session_id: SessionId,
    /// Microseconds, as all times here.
    pub created_at: i64,
    pub confidence: f64,
    pub access_count: i64,
    pub last_accessed: i64,
    /// See [`crate::decay`].
    pub effective_access: i64,
    /// The newest node that replaces this one.
    pub superseded_by: Option<NodeId>,
    pub content: Text,
}

/// How often a node has been accessed, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessStats {
    count: i64,
    last: i64,
}

impl AccessStats {
    fn effective_access(self) -> i64 {
        decay::effective_access(self.last, self.count)
    }
}

/// An access to a node: what it had before, and what it has with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessUpdate {
    id: NodeId,
    before: AccessStats,
    after: AccessStats,
}

/// The columns of a [`Node`], in order.
pub(crate) const COLUMNS: &str = "id, event_type, session_id, created_at, confidence, access_count, last_accessed, \
    effective_access, superseded_by, content";

/// The same and what leaves the node: see [`crate::outgoing`].
const COLUMNS_WITH_EDGES: &str = "id, event_type, session_id, created_at, confidence, access_count, last_accessed, \
    effective_access, superseded_by, content, outgoing";

/// What reading a node does not change.
pub(crate) const COLUMNS_STATIC: &str =
    "id, event_type, session_id, created_at, confidence, superseded_by, content";

/// The same and what leaves the node.
const COLUMNS_STATIC_WITH_EDGES: &str =
    "id, event_type, session_id, created_at, confidence, superseded_by, content, outgoing";

/// The same with an empty content, for those who only sort.
pub(crate) const COLUMNS_NO_CONTENT: &str = "id, event_type, session_id, created_at, confidence, access_count, last_accessed, \
    effective_access, superseded_by, ''";

impl Node {
    pub(crate) fn from_row(row: &Row) -> Result<Node> {
        Ok(Node {
            id: NodeId(row.int(0)?),
            event_type: EventType::from_db(row.int(1)?)?,
            session_id: SessionId::from_db(row.int(2)?)?,
            created_at: row.int(3)?,
            confidence: row.real(4)?,
            access_count: row.int(5)?,
            last_accessed: row.int(6)?,
            effective_access: row.int(7)?,
            superseded_by: row.opt_int(8)?.map(NodeId),
            content: row.text(9)?.to_owned(),
        })
    }

    pub(crate) fn from_rows(rows: &[Row]) -> Result<Vec<Node>> {
        rows.iter().map(Node::from_row).collect()
    }

    /// Becomes what it is after one more access.
    pub(crate) fn touch(&mut self, at: i64) -> AccessUpdate {
        let before = AccessStats { count: self.access_count, last: self.last_accessed };
        let after = AccessStats { count: before.count + 1, last: before.last.max(at) };
        self.access_count = after.count;
        self.last_accessed = after.last;
        self.effective_access = after.effective_access();
        AccessUpdate { id: self.id, before, after }
    }
}

impl<'r> Node<&'r str> {
    /// A row of [`COLUMNS_STATIC`]: the node without its accesses.
    pub(crate) fn from_static_row(row: &'r Row) -> Result<Node<&'r str>> {
        Ok(Node {
            id: NodeId(row.int(0)?),
            event_type: EventType::from_db(row.int(1)?)?,
            session_id: SessionId::from_db(row.int(2)?)?,
            created_at: row.int(3)?,
            confidence: row.real(4)?,
            access_count: 0,
            last_accessed: 0,
            effective_access: 0,
            superseded_by: row.opt_int(5)?.map(NodeId),
            content: row.text(6)?,
        })
    }

    /// The same with a content of its own.
    fn into_owned(self) -> Node {
        Node {
            id: self.id,
            event_type: self.event_type,
            session_id: self.session_id,
            created_at: self.created_at,
            confidence: self.confidence,
            access_count: self.access_count,
            last_accessed: self.last_accessed,
            effective_access: self.effective_access,
            superseded_by: self.superseded_by,
            content: self.content.to_owned(),
        }
    }
}

impl<Text: AsRef<str>> Node<Text> {
    /// The score at a moment.
    pub(crate) fn score(&self, now: i64) -> f64 {
        decay::score(self.event_type.score_class(), self.effective_access, now)
    }

    /// These fields, in this order, as a tree that goes into another.
    pub(crate) fn to_json(&self, fields: &[OutputField], now: i64) -> Map<String, Value> {
        let values = fields.iter().filter_map(|field| self.field_value(*field, now));
        values.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    }

    /// The same, written into an object.
    pub(crate) fn write_json(&self, object: &mut JsonObjectWriter, fields: &[OutputField], now: i64) {
        for (name, value) in fields.iter().filter_map(|field| self.field_value(*field, now)) {
            match value {
                FieldValue::Integer(number) => object.put(name, number),
                FieldValue::Real(number) => object.put(name, number),
                FieldValue::Text(text) => object.put_str(name, text),
            }
        }
    }

    /// A field's name and what it says. Whoever has been superseded says so wherever it is shown by itself.
    fn field_value(&self, field: OutputField, now: i64) -> Option<(&'static str, FieldValue<'_>)> {
        Some(match field {
            OutputField::Id => ("id", FieldValue::Integer(self.id.0)),
            OutputField::EventType => ("event_type", FieldValue::Text(self.event_type.as_str())),
            OutputField::Content => ("content", FieldValue::Text(self.content.as_ref())),
            OutputField::Confidence => ("confidence", FieldValue::Real(self.confidence)),
            OutputField::Session => ("session_id", FieldValue::Integer(self.session_id.0.into())),
            OutputField::Created => ("created_at", FieldValue::Integer(self.created_at)),
            OutputField::Accesses => ("access_count", FieldValue::Integer(self.access_count)),
            OutputField::LastAccessed => ("last_accessed", FieldValue::Integer(self.last_accessed)),
            OutputField::Decay => ("decay_score", FieldValue::Real(decay::round_score(self.score(now)))),
            OutputField::SupersededBy => ("superseded_by", FieldValue::Integer(self.superseded_by?.0)),
        })
    }
}

/// What a field says.
enum FieldValue<'n> {
    Integer(i64),
    Real(f64),
    Text(&'n str),
}

impl From<FieldValue<'_>> for Value {
    fn from(value: FieldValue<'_>) -> Value {
        match value {
            FieldValue::Integer(number) => number.into(),
            FieldValue::Real(number) => number.into(),
            FieldValue::Text(text) => text.into(),
        }
    }
}

/// What of a node is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputField {
    Id,
    EventType,
    Content,
    Confidence,
    Session,
    Created,
    Accesses,
    LastAccessed,
    Decay,
    /// Left out where it is not so.
    SupersededBy,
}

/// The node of that id.
pub(crate) fn find(sql: &mut dyn Sql, id: NodeId) -> Result<Option<Node>> {
    Ok(find_many(sql, &[id])?.remove(&id))
}

/// The node of that id, or the refusal.
pub(crate) fn get(sql: &mut dyn Sql, id: NodeId) -> Result<Node> {
    find(sql, id)?.ok_or_else(|| errors::node_not_found(id))
}

/// Those of these nodes that exist.
pub(crate) fn find_many(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<BTreeMap<NodeId, Node>> {
    static NODES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", COLUMNS);
    let nodes = rows_by_ids(sql, &NODES_BY_ID, ids)?.into_iter().map(|row| Node::from_row(&row));
    nodes.map(|node| node.map(|node| (node.id, node))).collect()
}

/// Those of these nodes that exist, without their accesses, each with the edges that leave it, as far as its row tells them.
pub(crate) fn find_with_edges(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<Vec<(Node, Option<Vec<Edge>>)>> {
    static STATIC_WITH_EDGES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", COLUMNS_STATIC_WITH_EDGES);
    let decode = |row: &Row| {
        let node = Node::from_static_row(row)?.into_owned();
        let edges = unpack_column(row, 7, node.id)?;
        Ok((node, edges))
    };
    rows_by_ids(sql, &STATIC_WITH_EDGES_BY_ID, ids)?.iter().map(decode).collect()
}

/// The node of that id, or the refusal, with the edges that leave it, if its row tells them.
pub(crate) fn get_with_edges(sql: &mut dyn Sql, id: NodeId) -> Result<(Node, Option<Vec<Edge>>)> {
    static WITH_EDGES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", COLUMNS_WITH_EDGES);
    let rows = rows_by_ids(sql, &WITH_EDGES_BY_ID, &[id])?;
    let row = rows.first().ok_or_else(|| errors::node_not_found(id))?;
    Ok((Node::from_row(row)?, unpack_column(row, 10, id)?))
}

/// What a row says of what leaves it, in that column.
fn unpack_column(row: &Row, column: usize, id: NodeId) -> Result<Option<Vec<Edge>>> {
    row.opt_text(column)?.map(|packed| packed_edges::decode(id, packed)).transpose()
}

/// The edges that leave these nodes, of those that exist and whose row tells them.
pub(crate) fn packed_edges(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<Vec<(NodeId, Vec<Edge>)>> {
    static EDGES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", "id, outgoing");
    let decode = |row: &Row| -> Result<Option<(NodeId, Vec<Edge>)>> {
        let id = NodeId(row.int(0)?);
        Ok(unpack_column(row, 1, id)?.map(|edges| (id, edges)))
    };
    rows_by_ids(sql, &EDGES_BY_ID, ids)?.iter().filter_map(|row| decode(row).transpose()).collect()
}

/// Which of these ids exist.
pub(crate) fn existing(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<BTreeSet<NodeId>> {
    static EXISTING_IDS: IdQuery = IdQuery::new("amem_node", "id", "id");
    rows_by_ids(sql, &EXISTING_IDS, ids)?.iter().map(|row| Ok(NodeId(row.int(0)?))).collect()
}

/// The first of these ids that does not exist.
pub(crate) fn first_missing(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<Option<NodeId>> {
    let existing_ids = existing(sql, ids)?;
    Ok(ids.iter().copied().find(|id| !existing_ids.contains(id)))
}

/// The session of a node, if that exists.
pub(crate) fn session_of(sql: &mut dyn Sql, id: NodeId) -> Result<Option<SessionId>> {
    static SESSION_BY_ID: IdQuery = IdQuery::new("amem_node", "id", "session_id");
    rows_by_ids(sql, &SESSION_BY_ID, &[id])?.first().map(|row| SessionId::from_db(row.int(0)?)).transpose()
}

fn rows_by_ids(sql: &mut dyn Sql, columns: &IdQuery, ids: &[NodeId]) -> Result<Vec<Row>> {
    let raw_ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    Ok(sql.rows_by_id(columns, &raw_ids)?)
}

/// Adds nodes as they are; counters, sessions, the chain and the edges that leave them are the caller's.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    created_by: &str,
    nodes: &[impl Borrow<Node>],
    edges_by_source: &EdgesBySource,
) -> Result<()> {
    const COLUMNS_PER_ROW: usize = 12;
    static INSERT: batch::BatchStatement = batch::BatchStatement::new(|rows| {
        format!(
            "INSERT INTO amem_node (tenant_id, created_by, id, event_type, session_id, created_at, confidence, \
             access_count, last_accessed, tier, effective_access, superseded_by, content, outgoing) VALUES {}",
            batch::values_placeholders(rows, 3, COLUMNS_PER_ROW, "$1, $2")
        )
    });
    for chunk in batch::chunks(nodes) {
        let mut cells = Vec::with_capacity(2 + chunk.len() * COLUMNS_PER_ROW);
        cells.extend([Cell::from(tx.tenant().as_str()), Cell::from(created_by)]);
        for node in chunk.iter().map(Borrow::borrow) {
            cells.extend([
                node.id.0.into(),
                node.event_type.number().into(),
                i64::from(node.session_id.0).into(),
                node.created_at.into(),
                node.confidence.into(),
                node.access_count.into(),
                node.last_accessed.into(),
                (node.event_type.score_class() as i64).into(),
                node.effective_access.into(),
                node.superseded_by.map(|id| id.0).into(),
                node.content.as_str().into(),
                packed_edges::encode(edges_by_source.get(&node.id).map_or(&[], Vec::as_slice)).into(),
            ]);
        }
        tx.execute(&INSERT.for_row_count(chunk.len()), &cells)?;
    }
    Ok(())
}

/// Counts one access, at that time, of a node that was shown as it will then be.
pub(crate) fn save_access(tx: &mut Tx<'_>, update: &AccessUpdate, at: i64) -> Result<()> {
    let tenant = tx.tenant().clone();
    let AccessUpdate { id, before, after } = update;
    // Nearly always nobody else has read it meanwhile, and what was shown is what is to be written.
    let updated_rows = tx.execute(
        "UPDATE amem_node SET access_count = $5, last_accessed = $6, effective_access = $7 \
         WHERE tenant_id = $1 AND id = $2 AND access_count = $3 AND last_accessed = $4 AND access_count < $8",
        params![
            tenant.as_str(),
            id.0,
            before.count,
            before.last,
            after.count,
            after.last,
            after.effective_access(),
            i64::from(u32::MAX)
        ],
    )?;
    if updated_rows > 0 {
        return Ok(());
    }
    // Adding to the row itself locks it: two processes may count at the same moment.
    let row = tx.query_opt(
        "UPDATE amem_node SET access_count = access_count + 1, \
         last_accessed = CASE WHEN last_accessed < $3 THEN $3 ELSE last_accessed END \
         WHERE tenant_id = $1 AND id = $2 AND access_count < $4 RETURNING access_count, last_accessed",
        params![tenant.as_str(), id.0, at, i64::from(u32::MAX)],
    )?;
    // Forgotten in the meantime, or at the end of its numbers: there is nothing to count.
    let Some(row) = row else { return Ok(()) };
    tx.execute(
        "UPDATE amem_node SET effective_access = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), id.0, decay::effective_access(row.int(1)?, row.int(0)?)],
    )?;
    Ok(())
}
