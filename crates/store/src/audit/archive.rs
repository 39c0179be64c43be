//! Where the stored chain begins, after its older part was archived to a file.
//!
//! The row in `audit_archive` is written first; the archived blocks are deleted after it, in small transactions.
//! Readers start at that row. So if the process is killed in between, the remaining old blocks are never read, and
//! the next archive deletes them.

use quad_core::{Result, Timestamp};

use crate::{Sql, Tx, limits, params};

/// The end of the archived part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveEnd {
    /// The sequence of the last archived event.
    pub last_sequence: i64,
    /// The right edge of the hash tree at that size, from which it is extended.
    pub frontier: Vec<u8>,
    /// A signed statement about the chain up to there.
    pub body: String,
}

/// Where the stored chain begins, if any of it was archived.
pub fn archive_end(sql: &mut dyn Sql) -> Result<Option<ArchiveEnd>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT last_sequence, frontier, body FROM audit_archive WHERE tenant_id = $1",
        params![tenant],
    )?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(ArchiveEnd {
        last_sequence: row.int(0)?,
        frontier: row.blob(1)?.to_vec(),
        body: row.text(2)?.to_owned(),
    }))
}

/// The sequence of the last archived event; 0 if nothing was archived.
pub fn last_sequence(sql: &mut dyn Sql) -> Result<i64> {
    let tenant = sql.tenant().as_str().to_owned();
    let row =
        sql.query_opt("SELECT last_sequence FROM audit_archive WHERE tenant_id = $1", params![tenant])?;
    Ok(row.map(|row| row.int(0)).transpose()?.unwrap_or(0))
}

/// Moves the beginning of the stored chain, if it is still at `from`. Returns whether it was.
pub fn advance(tx: &mut Tx<'_>, from: i64, end: &ArchiveEnd) -> Result<bool> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.lock("audit archive")?;
    if last_sequence(tx)? != from {
        return Ok(false);
    }
    let now: Timestamp = tx.now();
    tx.execute(
        "INSERT INTO audit_archive (tenant_id, last_sequence, frontier, body, archived_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (tenant_id) DO UPDATE SET last_sequence = excluded.last_sequence, frontier = excluded.frontier, \
         body = excluded.body, archived_at = excluded.archived_at",
        params![tenant, end.last_sequence, end.frontier.clone(), end.body.as_str(), now],
    )?;
    Ok(true)
}

/// Deletes some blocks and checkpoints from before the beginning of the stored chain. Returns the number of rows; 0
/// when nothing is left to delete.
pub fn prune(tx: &mut Tx<'_>) -> Result<u64> {
    let tenant = tx.tenant().as_str().to_owned();
    let last = last_sequence(tx)?;
    let blocks = tx.execute(
        "DELETE FROM audit_block WHERE tenant_id = $1 AND first_sequence IN (SELECT first_sequence FROM audit_block \
         WHERE tenant_id = $1 AND first_sequence <= $2 ORDER BY first_sequence LIMIT $3)",
        params![tenant.as_str(), last, limits::AUDIT_ROWS_PRUNED_MAX],
    )?;
    // The newest checkpoint always stays: the next one takes its number and its tree from it.
    let checkpoints = tx.execute(
        "DELETE FROM audit_checkpoint WHERE tenant_id = $1 AND number IN (SELECT number FROM audit_checkpoint \
         WHERE tenant_id = $1 AND size <= $2 AND number < (SELECT MAX(number) FROM audit_checkpoint WHERE tenant_id = $1) \
         ORDER BY number LIMIT $3)",
        params![tenant, last, limits::AUDIT_ROWS_PRUNED_MAX],
    )?;
    Ok(blocks + checkpoints)
}
