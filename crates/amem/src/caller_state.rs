//! The state of a caller: its current session, and the last node of its chain, which its next node follows.
//!
//! It is stored per tenant and subject and never kept in process memory, because clients may start a process each
//! and several servers may share a database.

use std::sync::LazyLock;

use quad_core::{Error, Result};
use quad_store::{Sql, Tx, params};

use crate::counters::{self, Counters};
use crate::node::NodeId;
use crate::session::{self, SessionId};

static SELECT_STATE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, p.session_id, n.node_count, p.last_node, \
         EXISTS (SELECT 1 FROM amem_node m WHERE m.tenant_id = $1 AND m.id >= c.next_id) FROM amem_stats c \
         LEFT JOIN amem_place p ON p.tenant_id = c.tenant_id AND p.subject = $2 \
         LEFT JOIN amem_session n ON n.tenant_id = p.tenant_id AND n.id = p.session_id WHERE c.tenant_id = $1",
        counters::COLUMNS
    )
});

/// The current session of a caller.
pub(crate) fn current_session(sql: &mut dyn Sql, subject: &str) -> Result<Option<SessionId>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT session_id FROM amem_place WHERE tenant_id = $1 AND subject = $2",
        params![tenant.as_str(), subject],
    )?;
    match row {
        None => Ok(None),
        Some(row) => row.opt_int(0)?.map(SessionId::from_db).transpose(),
    }
}

/// The state of a caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallerState {
    pub session: Option<SessionId>,
    /// The number of nodes in the session.
    pub session_node_count: i64,
    /// The last node of the caller's chain. It exists: deleting it clears this field.
    pub last_node: Option<NodeId>,
}

/// Locks the graph like [`counters::lock`], and reads the counters and the caller state with one query.
pub(crate) fn lock_with_counters(tx: &mut Tx<'_>, subject: &str) -> Result<(Counters, CallerState)> {
    tx.lock(counters::LOCK)?;
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(&SELECT_STATE, params![tenant.as_str(), subject])?;
    // Every write that sets a session also creates the counters row. No counters row means no session.
    let Some(row) = row else { return Ok((Counters::empty(), CallerState::default())) };
    let session = row.opt_int(15)?.map(SessionId::from_db).transpose()?;
    let session_node_count = match (session, row.opt_int(16)?) {
        (Some(session), None) => return Err(Error::internal(format!("session {session} has no row"))),
        (_, nodes) => nodes.unwrap_or_default(),
    };
    let counters = Counters::from_row(&row)?;
    // A buffered node is written after its own job, possibly within a job of another caller. A duplicate id is
    // detected here, so that no other job fails with it.
    if row.int(18)? != 0 {
        return Err(Error::internal(format!("next_id {} is already in use", counters.next_id)));
    }
    Ok((counters, CallerState { session, session_node_count, last_node: row.opt_int(17)?.map(NodeId) }))
}

impl CallerState {
    /// The caller's session. A caller without one gets a new session and starts a new chain.
    pub(crate) fn ensure_session(
        &mut self,
        tx: &mut Tx<'_>,
        counters: &mut Counters,
        subject: &str,
    ) -> Result<SessionId> {
        if let Some(session) = self.session {
            return Ok(session);
        }
        let session = session::create(tx, counters, None, subject, None)?;
        set_session(tx, subject, Some(session), None)?;
        *self = CallerState { session: Some(session), ..CallerState::default() };
        Ok(session)
    }

    /// Counts nodes added to the session.
    pub(crate) fn count_nodes(&mut self, counters: &mut Counters, added: usize) {
        if self.session_node_count == 0 {
            counters.sessions_with_nodes += 1;
        }
        self.session_node_count += added as i64;
    }

    /// Stores the state of a caller that is in a session, and the node count of the session.
    pub(crate) fn save(&self, tx: &mut Tx<'_>, subject: &str) -> Result<()> {
        let tenant = tx.tenant().clone();
        tx.execute(
            "UPDATE amem_place SET last_node = $3 WHERE tenant_id = $1 AND subject = $2",
            params![tenant.as_str(), subject, self.last_node.map(|id| id.0)],
        )?;
        tx.execute(
            "UPDATE amem_session SET node_count = $3 WHERE tenant_id = $1 AND id = $2",
            params![tenant.as_str(), self.session.map(|id| i64::from(id.0)), self.session_node_count],
        )?;
        Ok(())
    }
}

/// Sets a caller's session and the last node of its chain.
pub(crate) fn set_session(
    tx: &mut Tx<'_>,
    subject: &str,
    session: Option<SessionId>,
    last_node: Option<NodeId>,
) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO amem_place (tenant_id, subject, session_id, last_node) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, subject) DO UPDATE SET session_id = $3, last_node = $4",
        params![tenant.as_str(), subject, session.map(|id| i64::from(id.0)), last_node.map(|id| id.0)],
    )?;
    Ok(())
}

/// Ends the chains that end with a deleted node.
pub(crate) fn clear_last_node(tx: &mut Tx<'_>, deleted: NodeId) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_place SET last_node = NULL WHERE tenant_id = $1 AND last_node = $2",
        params![tenant.as_str(), deleted.0],
    )?;
    Ok(())
}
