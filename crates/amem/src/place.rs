//! Where a caller is: its current session, and the last node that it added, which its next one follows.
//!
//! It is a row per tenant and subject, never a process's own knowledge: clients start a process each, and servers are many.

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::node::NodeId;
use crate::session::{self, SessionId};
use crate::stats::Stats;

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

/// Moves the caller's chain on to `last` and returns its session and the node that was last before. A caller without a
/// session gets a new one.
pub(crate) fn advance(
    tx: &mut Tx<'_>,
    stats: &mut Stats,
    subject: &str,
    last: NodeId,
) -> Result<(SessionId, Option<NodeId>)> {
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(
        "UPDATE amem_place SET previous_node = last_node, last_node = $3 \
         WHERE tenant_id = $1 AND subject = $2 AND session_id IS NOT NULL RETURNING session_id, previous_node",
        params![tenant.as_str(), subject, last.0],
    )?;
    if let Some(row) = row {
        return Ok((SessionId::stored(row.int(0)?)?, row.opt_int(1)?.map(NodeId)));
    }
    let session = session::create(tx, stats, None, subject, None)?;
    enter(tx, subject, Some(session), Some(last))?;
    Ok((session, None))
}

/// The caller's session, made if there is none; the chain stays where it is.
pub(crate) fn ensure_session(tx: &mut Tx<'_>, stats: &mut Stats, subject: &str) -> Result<SessionId> {
    if let Some(session) = session_of(tx, subject)? {
        return Ok(session);
    }
    let session = session::create(tx, stats, None, subject, None)?;
    enter(tx, subject, Some(session), None)?;
    Ok(session)
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
