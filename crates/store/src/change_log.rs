//! The change log, table `change`: the tags that each version invalidated.

use std::sync::Arc;

use quad_core::{Change, Tag, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::{DbError, limits, params};

/// Adds one change.
pub(crate) fn insert(
    connection: &mut Connection,
    tenant: &TenantId,
    change: &Change,
    now: Timestamp,
) -> Result<(), DbError> {
    let tags: Vec<&str> = change.tags.iter().map(Tag::as_str).collect();
    connection.execute(
        "INSERT INTO change (tenant_id, version, tags, created_at) VALUES ($1, $2, $3, $4)",
        params![tenant.as_str(), change.version.0, tags.join(" "), now],
    )?;
    // Every 1,024 versions, delete the rows that no cache entry can still need.
    if change.version.0 % 1_024 == 0 {
        connection.execute(
            "DELETE FROM change WHERE tenant_id = $1 AND version <= $2",
            params![tenant.as_str(), change.version.0 - limits::CHANGE_LOG_ROWS_MAX],
        )?;
    }
    Ok(())
}

/// The changes after version `after`, oldest first. If there are more than a process keeps in memory
/// ([`RECENT_CHANGES_MAX`](limits::RECENT_CHANGES_MAX)), only the newest of them.
pub(crate) fn load_after(
    connection: &mut Connection,
    tenant: &TenantId,
    after: Version,
) -> Result<Vec<Arc<Change>>, DbError> {
    let rows = connection.query(
        "SELECT version, tags FROM change WHERE tenant_id = $1 AND version > $2 ORDER BY version DESC LIMIT $3",
        params![tenant.as_str(), after.0, limits::RECENT_CHANGES_MAX as i64],
    )?;
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let tags = row.text(1)?.split_whitespace().map(Tag::new).collect();
        changes.push(Arc::new(Change { version: Version(row.int(0)?), tags }));
    }
    Ok(changes)
}
