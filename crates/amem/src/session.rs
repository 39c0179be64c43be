//! Sessions: the units of work that nodes belong to.

use quad_core::{Error, Result};
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Value, json};

use crate::counters::Counters;
use crate::node::NodeId;
use crate::{errors, limits};

/// The id of a session, 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

impl SessionId {
    pub(crate) fn from_db(number: i64) -> Result<SessionId> {
        u32::try_from(number)
            .map(SessionId)
            .map_err(|_| Error::internal(format!("the stored session id {number} is out of range")))
    }

    /// The URI of the session.
    pub(crate) fn uri(self) -> String {
        format!("amem://session/{self}")
    }

    fn to_db(self) -> i64 {
        i64::from(self.0)
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A session as stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Session {
    pub id: SessionId,
    pub node_count: i64,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub started_by: String,
    pub metadata: Option<String>,
    pub episode_id: Option<NodeId>,
}

const COLUMNS: &str = "id, node_count, started_at, ended_at, started_by, metadata, episode_id";

impl Session {
    fn from_row(row: &Row) -> Result<Session> {
        Ok(Session {
            id: SessionId::from_db(row.int(0)?)?,
            node_count: row.int(1)?,
            started_at: row.int(2)?,
            ended_at: row.opt_int(3)?,
            started_by: row.text(4)?.to_owned(),
            metadata: row.opt_text(5)?.map(str::to_owned),
            episode_id: row.opt_int(6)?.map(NodeId),
        })
    }

    /// The session as an entry of `amem://sessions`.
    pub(crate) fn to_json(&self) -> Value {
        let metadata: Value =
            self.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        json!({
            "session_id": self.id.0,
            "node_count": self.node_count,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "started_by": self.started_by,
            "metadata": metadata,
            "episode_id": self.episode_id.map(|id| id.0),
            "uri": self.id.uri(),
        })
    }
}

pub(crate) fn find(sql: &mut dyn Sql, id: SessionId) -> Result<Option<Session>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} FROM amem_session WHERE tenant_id = $1 AND id = $2"),
        params![tenant.as_str(), id.to_db()],
    )?;
    row.as_ref().map(Session::from_row).transpose()
}

/// The session with this id, or a not-found error.
pub(crate) fn get(sql: &mut dyn Sql, id: SessionId) -> Result<Session> {
    find(sql, id)?.ok_or_else(|| errors::session_not_found(id))
}

/// Sessions by descending id, starting below `before`.
pub(crate) fn page(sql: &mut dyn Sql, before: Option<SessionId>, limit: usize) -> Result<Vec<Session>> {
    let tenant = sql.tenant().clone();
    let before = before.map_or(i64::MAX, SessionId::to_db);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM amem_session WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ),
        params![tenant.as_str(), before, limit as i64],
    )?;
    rows.iter().map(Session::from_row).collect()
}

/// The newest session other than `except` that has nodes.
pub(crate) fn newest_except(sql: &mut dyn Sql, except: Option<SessionId>) -> Result<Option<SessionId>> {
    let mut before = None;
    // Empty sessions are rare: the search stops after four pages of them.
    for _ in 0..4 {
        let page = page(sql, before, limits::PAGE_SESSIONS)?;
        let Some(last) = page.last().map(|session| session.id) else { break };
        let found = page.iter().find(|session| session.node_count > 0 && Some(session.id) != except);
        if let Some(found) = found {
            return Ok(Some(found.id));
        }
        before = Some(last);
    }
    Ok(None)
}

/// Creates a session with the given id or the next one.
pub(crate) fn create(
    tx: &mut Tx<'_>,
    counters: &mut Counters,
    id: Option<SessionId>,
    subject: &str,
    metadata: Option<&str>,
) -> Result<SessionId> {
    let now = counters.next_timestamp();
    create_at(tx, counters, id, subject, metadata, now)
}

/// Creates a session with a given start time.
pub(crate) fn create_at(
    tx: &mut Tx<'_>,
    counters: &mut Counters,
    id: Option<SessionId>,
    subject: &str,
    metadata: Option<&str>,
    started_at: i64,
) -> Result<SessionId> {
    let id = match id {
        Some(id) => id,
        None => u32::try_from(counters.next_session).map(SessionId).map_err(|_| {
            errors::limit_exceeded("SESSION_LIMIT", "The largest session id is in use")
                .hint("Give a session_id that amem://sessions does not list")
        })?,
    };
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO amem_session (tenant_id, id, node_count, started_at, started_by, metadata) \
         VALUES ($1, $2, 0, $3, $4, $5)",
        params![tenant.as_str(), id.to_db(), started_at, subject, metadata],
    )?;
    counters.next_session = counters.next_session.max(id.to_db() + 1);
    counters.sessions += 1;
    tx.invalidate(crate::tags::sessions());
    Ok(id)
}

/// Adds `change` to the node count of a session, and updates the counter of sessions with nodes.
pub(crate) fn count_nodes(
    tx: &mut Tx<'_>,
    counters: &mut Counters,
    id: SessionId,
    change: i64,
) -> Result<()> {
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(
        "UPDATE amem_session SET node_count = node_count + $3 WHERE tenant_id = $1 AND id = $2 RETURNING node_count",
        params![tenant.as_str(), id.to_db(), change],
    )?;
    let row = row.ok_or_else(|| Error::internal(format!("session {id} has nodes but no row")))?;
    let count = row.int(0)?;
    if change > 0 && count == change {
        counters.sessions_with_nodes += 1;
    }
    if change < 0 && count == 0 {
        counters.sessions_with_nodes -= 1;
    }
    Ok(())
}

/// Marks a session as ended.
pub(crate) fn mark_ended(tx: &mut Tx<'_>, id: SessionId, at: i64, episode: Option<NodeId>) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_session SET ended_at = $3, episode_id = COALESCE($4, episode_id) WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), id.to_db(), at, episode.map(|id| id.0)],
    )?;
    tx.invalidate(crate::tags::sessions());
    Ok(())
}

/// Opens an ended session again; replaces its metadata if given.
pub(crate) fn reopen(tx: &mut Tx<'_>, id: SessionId, metadata: Option<&str>) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_session SET ended_at = NULL, metadata = COALESCE($3, metadata) WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), id.to_db(), metadata],
    )?;
    tx.invalidate(crate::tags::sessions());
    Ok(())
}

/// Clears the episode of a session if it is this node, which is being deleted.
pub(crate) fn clear_episode(tx: &mut Tx<'_>, session: SessionId, episode: NodeId) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_session SET episode_id = NULL WHERE tenant_id = $1 AND id = $2 AND episode_id = $3",
        params![tenant.as_str(), session.to_db(), episode.0],
    )?;
    Ok(())
}
