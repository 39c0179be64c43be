//! Checkpoints, and the tiles of the hash tree above the events, as rows.

use quad_core::{Result, TenantId, Timestamp};

use crate::{Row, Sql, Tx, limits, params};

/// A checkpoint as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    /// Its number among the tenant's checkpoints, from 1.
    pub number: i64,
    /// The number of events that it covers: the first `size` of the chain.
    pub size: i64,
    /// The right edge of the hash tree at that size, from which it is extended.
    pub frontier: Vec<u8>,
    /// The signed text with its signature.
    pub body: String,
    /// When it was created.
    pub created_at: Timestamp,
}

const COLUMNS: &str = "number, size, frontier, body, created_at";

fn checkpoint_from_row(row: &Row) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        number: row.int(0)?,
        size: row.int(1)?,
        frontier: row.blob(2)?.to_vec(),
        body: row.text(3)?.to_owned(),
        created_at: Timestamp(row.int(4)?),
    })
}

/// The newest checkpoint.
pub fn latest(sql: &mut dyn Sql) -> Result<Option<CheckpointRow>> {
    latest_within(sql, i64::MAX)
}

/// The newest checkpoint that covers at most `size` events.
pub fn latest_within(sql: &mut dyn Sql, size: i64) -> Result<Option<CheckpointRow>> {
    let tenant = sql.tenant().as_str().to_owned();
    let select = format!(
        "SELECT {COLUMNS} FROM audit_checkpoint WHERE tenant_id = $1 AND size <= $2 ORDER BY size DESC LIMIT 1"
    );
    sql.query_opt(&select, params![tenant, size])?.as_ref().map(checkpoint_from_row).transpose()
}

/// The checkpoints with sizes after `after_size` up to `size`, smallest first, at most `limit`.
pub fn between(sql: &mut dyn Sql, after_size: i64, size: i64, limit: i64) -> Result<Vec<CheckpointRow>> {
    let tenant = sql.tenant().as_str().to_owned();
    let select = format!(
        "SELECT {COLUMNS} FROM audit_checkpoint WHERE tenant_id = $1 AND size > $2 AND size <= $3 ORDER BY size LIMIT $4"
    );
    sql.query(&select, params![tenant, after_size, size, limit])?.iter().map(checkpoint_from_row).collect()
}

/// Inserts a checkpoint, unless another process has inserted one with this number or size. Returns whether it was
/// inserted.
pub fn insert(tx: &mut Tx<'_>, row: &CheckpointRow) -> Result<bool> {
    let tenant = tx.tenant().as_str().to_owned();
    let inserted = tx.execute(
        "INSERT INTO audit_checkpoint (tenant_id, number, size, frontier, body, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        params![tenant, row.number, row.size, row.frontier.clone(), row.body.as_str(), row.created_at],
    )?;
    Ok(inserted == 1)
}

/// The hashes of one tile, concatenated.
pub fn tile(sql: &mut dyn Sql, level: i64, number: i64) -> Result<Option<Vec<u8>>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT hashes FROM audit_tile WHERE tenant_id = $1 AND level = $2 AND number = $3",
        params![tenant, level, number],
    )?;
    Ok(row.map(|row| row.blob(0).map(<[u8]>::to_vec)).transpose()?)
}

/// Writes the hashes of one tile.
pub fn put_tile(tx: &mut Tx<'_>, level: i64, number: i64, hashes: Vec<u8>) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "INSERT INTO audit_tile (tenant_id, level, number, hashes) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, level, number) DO UPDATE SET hashes = excluded.hashes",
        params![tenant, level, number, hashes],
    )?;
    Ok(())
}

/// The tenants that need a checkpoint: those with at least `events` events since their last checkpoint, and those
/// with any event since a checkpoint from before `made_before`. Covers all tenants: only the server itself calls it.
pub fn tenants_due(sql: &mut dyn Sql, events: i64, made_before: Timestamp) -> Result<Vec<TenantId>> {
    let rows = sql.query(
        "SELECT head.tenant_id FROM head LEFT JOIN audit_checkpoint AS last ON last.tenant_id = head.tenant_id \
           AND last.number = (SELECT MAX(number) FROM audit_checkpoint WHERE tenant_id = head.tenant_id) \
         WHERE head.sequence > COALESCE(last.size, 0) \
           AND (head.sequence >= COALESCE(last.size, 0) + $1 OR COALESCE(last.created_at, 0) <= $2) \
         ORDER BY head.tenant_id LIMIT $3",
        params![events, made_before, limits::AUDIT_TENANTS_DUE_MAX],
    )?;
    rows.iter().map(|row| Ok(TenantId::new(row.text(0)?))).collect()
}
