//! Nodes: one memory each.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use quad_core::{JsonObjectWriter, Result};
use quad_store::fast_path::{FastSql as _, IdQuery};
use quad_store::{Row, Sql, Tx, Value as Cell, batch, params};
use serde_json::{Map, Value};

use crate::adjacency::EdgesBySource;
use crate::event_type::EventType;
use crate::session::SessionId;
use crate::{decay, errors};

/// The id of a node: counted from 0, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i64);

impl NodeId {
    /// Converts an id of a URI or an argument. Ids above `i64::MAX` become `i64::MAX`, which is never assigned.
    pub(crate) fn from_u64_saturating(id: u64) -> NodeId {
        NodeId(i64::try_from(id).unwrap_or(i64::MAX))
    }

    /// The URI of the node.
    pub(crate) fn uri(self) -> String {
        format!("amem://node/{self}")
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A node as stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub id: NodeId,
    pub event_type: EventType,
    pub session_id: SessionId,
    /// In microseconds, like all times of this scheme.
    pub created_at: i64,
    pub confidence: f64,
    pub access_count: i64,
    pub last_accessed: i64,
    /// See [`crate::decay`].
    pub effective_access: i64,
    /// The newest node that supersedes this one.
    pub superseded_by: Option<NodeId>,
    pub content: String,
}

/// A node without its access statistics: the part that a read does not change. `Text` is `&str` where the content is
/// borrowed from a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StaticNode<Text = String> {
    pub id: NodeId,
    pub event_type: EventType,
    pub session_id: SessionId,
    pub created_at: i64,
    pub confidence: f64,
    pub superseded_by: Option<NodeId>,
    pub content: Text,
}

/// The number of accesses and the time of the last one.
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

/// One access to a node: its statistics before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessUpdate {
    id: NodeId,
    before: AccessStats,
    after: AccessStats,
}

/// The columns of a [`Node`], in order.
pub(crate) const COLUMNS: &str = "id, event_type, session_id, created_at, confidence, access_count, last_accessed, \
    effective_access, superseded_by, content";

/// [`COLUMNS`] and the packed outgoing edges: see [`crate::adjacency`].
pub(crate) const COLUMNS_WITH_EDGES: &str = "id, event_type, session_id, created_at, confidence, access_count, last_accessed, \
    effective_access, superseded_by, content, outgoing";

/// The columns of a [`StaticNode`], in order.
pub(crate) const COLUMNS_STATIC: &str =
    "id, event_type, session_id, created_at, confidence, superseded_by, content";

/// [`COLUMNS_STATIC`] and the packed outgoing edges.
pub(crate) const COLUMNS_STATIC_WITH_EDGES: &str =
    "id, event_type, session_id, created_at, confidence, superseded_by, content, outgoing";

/// [`COLUMNS`] with an empty content, for queries that only sort.
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

    /// Records one more access in this value.
    pub(crate) fn touch(&mut self, at: i64) -> AccessUpdate {
        let before = AccessStats { count: self.access_count, last: self.last_accessed };
        let after = AccessStats { count: before.count + 1, last: before.last.max(at) };
        self.access_count = after.count;
        self.last_accessed = after.last;
        self.effective_access = after.effective_access();
        AccessUpdate { id: self.id, before, after }
    }
}

impl Node {
    /// The part that a read does not change.
    pub(crate) fn as_static(&self) -> StaticNode<&str> {
        StaticNode {
            id: self.id,
            event_type: self.event_type,
            session_id: self.session_id,
            created_at: self.created_at,
            confidence: self.confidence,
            superseded_by: self.superseded_by,
            content: &self.content,
        }
    }

    /// The score at `now`.
    pub(crate) fn score(&self, now: i64) -> f64 {
        decay::score(self.event_type.score_class(), self.effective_access, now)
    }

    /// These fields in this order, as a JSON map that goes into a larger tree.
    pub(crate) fn to_json(&self, fields: &[NodeField], now: i64) -> Map<String, Value> {
        let values = fields.iter().filter_map(|field| self.field_value(*field, now));
        values.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    }

    /// These fields in this order, written into an object.
    pub(crate) fn write_json(&self, object: &mut JsonObjectWriter, fields: &[NodeField], now: i64) {
        for (name, value) in fields.iter().filter_map(|field| self.field_value(*field, now)) {
            value.write(object, name);
        }
    }

    fn field_value(&self, field: NodeField, now: i64) -> Option<(&'static str, FieldValue<'_>)> {
        Some(match field {
            NodeField::Static(field) => return self.as_static().field_value(field),
            NodeField::Accesses => ("access_count", FieldValue::Integer(self.access_count)),
            NodeField::LastAccessed => ("last_accessed", FieldValue::Integer(self.last_accessed)),
            NodeField::Decay => ("decay_score", FieldValue::Real(decay::round_score(self.score(now)))),
        })
    }
}

impl<'r> StaticNode<&'r str> {
    /// Reads a row of [`COLUMNS_STATIC`].
    pub(crate) fn from_row(row: &'r Row) -> Result<StaticNode<&'r str>> {
        Ok(StaticNode {
            id: NodeId(row.int(0)?),
            event_type: EventType::from_db(row.int(1)?)?,
            session_id: SessionId::from_db(row.int(2)?)?,
            created_at: row.int(3)?,
            confidence: row.real(4)?,
            superseded_by: row.opt_int(5)?.map(NodeId),
            content: row.text(6)?,
        })
    }

    /// Copies the borrowed content.
    pub(crate) fn into_owned(self) -> StaticNode {
        StaticNode {
            id: self.id,
            event_type: self.event_type,
            session_id: self.session_id,
            created_at: self.created_at,
            confidence: self.confidence,
            superseded_by: self.superseded_by,
            content: self.content.to_owned(),
        }
    }

    /// The name and value of a field; `None` for `superseded_by` of a node that nothing supersedes.
    fn field_value(&self, field: StaticField) -> Option<(&'static str, FieldValue<'r>)> {
        Some(match field {
            StaticField::Id => ("id", FieldValue::Integer(self.id.0)),
            StaticField::EventType => ("event_type", FieldValue::Text(self.event_type.as_str())),
            StaticField::Content => ("content", FieldValue::Text(self.content)),
            StaticField::Confidence => ("confidence", FieldValue::Real(self.confidence)),
            StaticField::Session => ("session_id", FieldValue::Integer(self.session_id.0.into())),
            StaticField::Created => ("created_at", FieldValue::Integer(self.created_at)),
            StaticField::SupersededBy => ("superseded_by", FieldValue::Integer(self.superseded_by?.0)),
        })
    }
}

impl<Text: AsRef<str>> StaticNode<Text> {
    /// The same node with a borrowed content.
    fn borrowed(&self) -> StaticNode<&str> {
        StaticNode {
            id: self.id,
            event_type: self.event_type,
            session_id: self.session_id,
            created_at: self.created_at,
            confidence: self.confidence,
            superseded_by: self.superseded_by,
            content: self.content.as_ref(),
        }
    }

    /// These fields in this order, as a JSON map that goes into a larger tree.
    pub(crate) fn to_json(&self, fields: &[StaticField]) -> Map<String, Value> {
        let node = self.borrowed();
        let values = fields.iter().filter_map(|field| node.field_value(*field));
        values.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    }

    /// These fields in this order, written into an object.
    pub(crate) fn write_json(&self, object: &mut JsonObjectWriter, fields: &[StaticField]) {
        let node = self.borrowed();
        for (name, value) in fields.iter().filter_map(|field| node.field_value(*field)) {
            value.write(object, name);
        }
    }
}

/// The value of a field.
enum FieldValue<'n> {
    Integer(i64),
    Real(f64),
    Text(&'n str),
}

impl FieldValue<'_> {
    fn write(self, object: &mut JsonObjectWriter, name: &'static str) {
        match self {
            FieldValue::Integer(number) => object.put(name, number),
            FieldValue::Real(number) => object.put(name, number),
            FieldValue::Text(text) => object.put_str(name, text),
        }
    }
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

/// The fields of a [`StaticNode`] that documents can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StaticField {
    Id,
    EventType,
    Content,
    Confidence,
    Session,
    Created,
    /// Left out if nothing supersedes the node.
    SupersededBy,
}

/// The fields of a [`Node`] that documents can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeField {
    Static(StaticField),
    Accesses,
    LastAccessed,
    Decay,
}

pub(crate) fn find(sql: &mut dyn Sql, id: NodeId) -> Result<Option<Node>> {
    Ok(find_many(sql, &[id])?.remove(&id))
}

/// The node with this id, or a not-found error.
pub(crate) fn get(sql: &mut dyn Sql, id: NodeId) -> Result<Node> {
    find(sql, id)?.ok_or_else(|| errors::node_not_found(id))
}

/// The nodes with these ids; missing ids are skipped.
pub(crate) fn find_many(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<BTreeMap<NodeId, Node>> {
    static NODES_BY_ID: IdQuery = IdQuery::new("amem_node", "id", COLUMNS);
    let nodes = rows_by_ids(sql, &NODES_BY_ID, ids)?.into_iter().map(|row| Node::from_row(&row));
    nodes.map(|node| node.map(|node| (node.id, node))).collect()
}

pub(crate) fn existing(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<BTreeSet<NodeId>> {
    static EXISTING_IDS: IdQuery = IdQuery::new("amem_node", "id", "id");
    rows_by_ids(sql, &EXISTING_IDS, ids)?.iter().map(|row| Ok(NodeId(row.int(0)?))).collect()
}

/// The first of these ids that does not exist.
pub(crate) fn first_missing(sql: &mut dyn Sql, ids: &[NodeId]) -> Result<Option<NodeId>> {
    let existing_ids = existing(sql, ids)?;
    Ok(ids.iter().copied().find(|id| !existing_ids.contains(id)))
}

/// The session of a node, or `None` if the node does not exist.
pub(crate) fn session_of(sql: &mut dyn Sql, id: NodeId) -> Result<Option<SessionId>> {
    static SESSION_BY_ID: IdQuery = IdQuery::new("amem_node", "id", "session_id");
    rows_by_ids(sql, &SESSION_BY_ID, &[id])?.first().map(|row| SessionId::from_db(row.int(0)?)).transpose()
}

pub(crate) fn rows_by_ids(sql: &mut dyn Sql, columns: &IdQuery, ids: &[NodeId]) -> Result<Vec<Row>> {
    let raw_ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    Ok(sql.rows_by_id(columns, &raw_ids)?)
}

/// Inserts nodes with their packed edges. The caller of this function updates counters, sessions, the chain and
/// `amem_edge`.
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
                edges_by_source.packed(node.id).into(),
            ]);
        }
        tx.execute(&INSERT.for_row_count(chunk.len()), &cells)?;
    }
    Ok(())
}

/// Stores one access at time `at`. `update` holds the statistics that the reader has already seen.
pub(crate) fn save_access(tx: &mut Tx<'_>, update: &AccessUpdate, at: i64) -> Result<()> {
    let tenant = tx.tenant().clone();
    let AccessUpdate { id, before, after } = update;
    // The common case: no other access came in between, so the values shown are the values to store.
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
    // Two processes may count at the same time: an update relative to the stored value locks the row and loses
    // neither.
    let row = tx.query_opt(
        "UPDATE amem_node SET access_count = access_count + 1, \
         last_accessed = CASE WHEN last_accessed < $3 THEN $3 ELSE last_accessed END \
         WHERE tenant_id = $1 AND id = $2 AND access_count < $4 RETURNING access_count, last_accessed",
        params![tenant.as_str(), id.0, at, i64::from(u32::MAX)],
    )?;
    // The node was deleted meanwhile, or its counter is at the maximum.
    let Some(row) = row else { return Ok(()) };
    tx.execute(
        "UPDATE amem_node SET effective_access = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), id.0, decay::effective_access(row.int(1)?, row.int(0)?)],
    )?;
    Ok(())
}
