//! The counters of a graph: one row per tenant, exact, updated by every transaction that changes what they count.

use quad_core::Result;
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Value, json};

use crate::edge::EdgeType;
use crate::event_type::EventType;
use crate::{limits, micros, vectors};

/// The counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// The id of the next node.
    pub next_id: i64,
    /// The id of the next session, unless the caller names one.
    pub next_session: i64,
    /// The newest timestamp assigned to a node. Timestamps never decrease, even if the clock does.
    pub newest_at: i64,
    /// The number of sessions.
    pub sessions: i64,
    /// The number of sessions that have nodes.
    pub sessions_with_nodes: i64,
    pub edges: i64,
    pub edges_supersedes: i64,
    pub edges_contradicts: i64,
    /// The number of deleted nodes.
    pub deleted: i64,
    /// The number of nodes by type.
    pub nodes_by_type: [i64; 6],
}

/// The columns of [`Counters`], in order.
pub(crate) const COLUMNS: &str = "next_id, next_session, newest_at, sessions, sessions_used, edges, edges_supersedes, \
    edges_contradicts, erased, facts, decisions, inferences, corrections, skills, episodes";

const INSERT: &str = "INSERT INTO amem_stats (tenant_id, next_id, next_session, newest_at, sessions, sessions_used, edges, \
    edges_supersedes, edges_contradicts, erased, facts, decisions, inferences, corrections, skills, episodes) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";

const UPDATE: &str = "UPDATE amem_stats SET next_id = $2, next_session = $3, newest_at = $4, sessions = $5, \
    sessions_used = $6, edges = $7, edges_supersedes = $8, edges_contradicts = $9, erased = $10, facts = $11, \
    decisions = $12, inferences = $13, corrections = $14, skills = $15, episodes = $16 WHERE tenant_id = $1";

/// The lock that every write to a graph takes.
pub(crate) const LOCK: &str = "amem";

/// Reads the counters without a lock.
pub(crate) fn read(sql: &mut dyn Sql) -> Result<Counters> {
    let tenant = sql.tenant().clone();
    let query = format!("SELECT {COLUMNS} FROM amem_stats WHERE tenant_id = $1");
    let row = sql.query_opt(&query, params![tenant.as_str()])?;
    row.as_ref().map_or_else(|| Ok(Counters::empty()), Counters::from_row)
}

/// The document of `amem://graph/stats`.
pub(crate) fn stats(sql: &mut dyn Sql) -> Result<Value> {
    let dimension = vectors::dimension(sql)?.unwrap_or(limits::DIMENSION);
    Ok(read(sql)?.to_json(dimension))
}

/// Locks the graph for this transaction and reads the counters. Call it first, and [`Counters::save`] last.
pub(crate) fn lock(tx: &mut Tx<'_>) -> Result<Counters> {
    tx.lock(LOCK)?;
    read(tx)
}

impl Counters {
    /// The counters of an empty graph.
    pub(crate) fn empty() -> Counters {
        Counters { next_session: 1, ..Counters::default() }
    }

    /// Reads a row that begins with [`COLUMNS`].
    pub(crate) fn from_row(row: &Row) -> Result<Counters> {
        let mut nodes_by_type = [0; 6];
        for (offset, count) in nodes_by_type.iter_mut().enumerate() {
            *count = row.int(9 + offset)?;
        }
        Ok(Counters {
            next_id: row.int(0)?,
            next_session: row.int(1)?,
            newest_at: row.int(2)?,
            sessions: row.int(3)?,
            sessions_with_nodes: row.int(4)?,
            edges: row.int(5)?,
            edges_supersedes: row.int(6)?,
            edges_contradicts: row.int(7)?,
            deleted: row.int(8)?,
            nodes_by_type,
        })
    }

    /// Stores the counters.
    pub(crate) fn save(&self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant().clone();
        let [facts, decisions, inferences, corrections, skills, episodes] = self.nodes_by_type;
        let cells = params![
            tenant.as_str(),
            self.next_id,
            self.next_session,
            self.newest_at,
            self.sessions,
            self.sessions_with_nodes,
            self.edges,
            self.edges_supersedes,
            self.edges_contradicts,
            self.deleted,
            facts,
            decisions,
            inferences,
            corrections,
            skills,
            episodes
        ];
        // The row exists except for a tenant's first write, and an update costs less than an upsert.
        if tx.execute(UPDATE, cells)? == 0 {
            tx.execute(INSERT, cells)?;
        }
        Ok(())
    }

    /// The current time, but never less than an assigned timestamp.
    pub(crate) fn next_timestamp(&mut self) -> i64 {
        self.newest_at = self.newest_at.max(micros::now());
        self.newest_at
    }

    /// Adds `change` to the count of a node type.
    pub(crate) fn count_nodes(&mut self, event_type: EventType, change: i64) {
        self.nodes_by_type[event_type as usize] += change;
    }

    /// Adds `change` to the counts of an edge type.
    pub(crate) fn count_edges(&mut self, edge_type: EdgeType, change: i64) {
        self.edges += change;
        match edge_type {
            EdgeType::Supersedes => self.edges_supersedes += change,
            EdgeType::Contradicts => self.edges_contradicts += change,
            _ => {}
        }
    }

    /// The number of nodes of all types.
    pub(crate) fn node_count(&self) -> i64 {
        self.nodes_by_type.iter().sum()
    }

    pub(crate) fn node_count_of_type(&self, event_type: EventType) -> i64 {
        self.nodes_by_type[event_type as usize]
    }

    /// The document of `amem://graph/stats`.
    pub(crate) fn to_json(&self, dimension: usize) -> Value {
        let type_counts: serde_json::Map<String, Value> = EventType::ALL
            .iter()
            .map(|event_type| (event_type.as_str().to_owned(), self.node_count_of_type(*event_type).into()))
            .collect();
        json!({
            "node_count": self.node_count(),
            "edge_count": self.edges,
            "dimension": dimension,
            "session_count": self.sessions_with_nodes,
            "type_counts": type_counts,
        })
    }
}
