//! Where a caller is: its current session, and the last node that it added, which its next one follows.
//!
//! It is a row per tenant and subject, never a process's own knowledge: clients start a process each, and servers are many.

use std::sync::LazyLock;

use quad_core::{Error, Result};
use quad_store::{Sql, Tx, params};

use crate::node::NodeId;
use crate::session::{self, SessionId};
use crate::stats::{self, Stats};

static LOOK: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, p.session_id, n.node_count, p.last_node, \
         EXISTS (SELECT 1 FROM amem_node m WHERE m.tenant_id = $1 AND m.id >= c.next_id) FROM amem_stats c \
         LEFT JOIN amem_place p ON p.tenant_id = c.tenant_id AND p.subject = $2 \
         LEFT JOIN amem_session n ON n.tenant_id = p.tenant_id AND n.id = p.session_id WHERE c.tenant_id = $1",
        stats::COLUMNS
    )
});

/// The current session of a caller.
pub(crate) fn session_of(sql: &mut dyn Sql, subject: &str) -> Result<Option<SessionId>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT session_id FROM amem_place WHERE tenant_id = $1 AND subject = $2",
        params![tenant.as_str(), subject],
    )?;
    match row {
        None => Ok(None),
        Some(row) => row.opt_int(0)?.map(SessionId::stored).transpose(),
    }
}

/// Where a caller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub session: Option<SessionId>,
    /// How many nodes the session has.
    pub session_nodes: i64,
    /// The node that the caller's next one follows. It exists: whoever forgets it ends the chain.
    pub last: Option<NodeId>,
}

/// The counters as [`stats::lock`] gives them, and where the caller is, by one look.
pub(crate) fn lock(tx: &mut Tx<'_>, subject: &str) -> Result<(Stats, Place)> {
    tx.lock(stats::LOCK)?;
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(&LOOK, params![tenant.as_str(), subject])?;
    // Whoever enters a session saves the counters too: without these nobody is anywhere.
    let Some(row) = row else { return Ok((Stats::of_nothing(), Place::default())) };
    let session = row.opt_int(15)?.map(SessionId::stored).transpose()?;
    let session_nodes = match (session, row.opt_int(16)?) {
        (Some(session), None) => return Err(Error::internal(format!("session {session} has no row"))),
        (_, nodes) => nodes.unwrap_or_default(),
    };
    let stats = Stats::from_row(&row)?;
    // Nodes may be written after the job that adds them, and no other job shall fail with it.
    if row.int(18)? != 0 {
        return Err(Error::internal(format!("node {} is the next and is there already", stats.next_id)));
    }
    Ok((stats, Place { session, session_nodes, last: row.opt_int(17)?.map(NodeId) }))
}

impl Place {
    /// The caller's session; one without a session gets a new one, and is at the beginning of its chain.
    pub(crate) fn ensure_session(
        &mut self,
        tx: &mut Tx<'_>,
        stats: &mut Stats,
        subject: &str,
    ) -> Result<SessionId> {
        if let Some(session) = self.session {
            return Ok(session);
        }
        let session = session::create(tx, stats, None, subject, None)?;
        enter(tx, subject, Some(session), None)?;
        *self = Place { session: Some(session), ..Place::default() };
        Ok(session)
    }

    /// Counts nodes that come into the session.
    pub(crate) fn count_nodes(&mut self, stats: &mut Stats, added: usize) {
        if self.session_nodes == 0 {
            stats.sessions_used += 1;
        }
        self.session_nodes += added as i64;
    }

    /// Writes back where a caller is that is in a session, and what was counted of that.
    pub(crate) fn save(&self, tx: &mut Tx<'_>, subject: &str) -> Result<()> {
        let tenant = tx.tenant().clone();
        tx.execute(
            "UPDATE amem_place SET last_node = $3 WHERE tenant_id = $1 AND subject = $2",
            params![tenant.as_str(), subject, self.last.map(|id| id.0)],
        )?;
        tx.execute(
            "UPDATE amem_session SET node_count = $3 WHERE tenant_id = $1 AND id = $2",
            params![tenant.as_str(), self.session.map(|id| i64::from(id.0)), self.session_nodes],
        )?;
        Ok(())
    }
}

/// Puts a caller into a session, at the beginning of a chain or after `last`.
pub(crate) fn enter(
    tx: &mut Tx<'_>,
    subject: &str,
    session: Option<SessionId>,
    last: Option<NodeId>,
) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO amem_place (tenant_id, subject, session_id, last_node) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, subject) DO UPDATE SET session_id = $3, last_node = $4",
        params![tenant.as_str(), subject, session.map(|id| i64::from(id.0)), last.map(|id| id.0)],
    )?;
    Ok(())
}

/// A forgotten node is followed by nobody.
pub(crate) fn forget(tx: &mut Tx<'_>, last: NodeId) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE amem_place SET last_node = NULL WHERE tenant_id = $1 AND last_node = $2",
        params![tenant.as_str(), last.0],
    )?;
    Ok(())
}
