//! The change log: what each version touched.

use std::sync::Arc;

use quad_core::{Change, Result, Tag, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::{DbError, Sql, limits, params};

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
    // Now and then, drop what no cache entry can still ask about.
    if change.version.0 % 1_024 == 0 {
        connection.execute(
            "DELETE FROM change WHERE tenant_id = $1 AND version <= $2",
            params![tenant.as_str(), change.version.0 - limits::CHANGE_LOG_ROWS_MAX],
        )?;
    }
    Ok(())
}

/// The tags of all changes after that version that this snapshot shows, if all of them are still known and they are not too many.
pub fn tags_changed_since(sql: &mut dyn Sql, version: Version) -> Result<Option<Vec<Tag>>> {
    let (tenant, newer_versions) = (sql.tenant().clone(), sql.version().0 - version.0);
    if newer_versions > limits::RECENT_CHANGES_MAX as i64 {
        return Ok(None);
    }
    let rows = sql.query(
        "SELECT tags FROM change WHERE tenant_id = $1 AND version > $2 AND version <= $3",
        params![tenant.as_str(), version.0, sql.version().0],
    )?;
    if rows.len() as i64 != newer_versions {
        return Ok(None);
    }
    let mut tags = Vec::new();
    for row in &rows {
        tags.extend(row.text(0)?.split_whitespace().map(Tag::new));
    }
    Ok(Some(tags))
}

/// The changes after `after`, oldest first, at most as many as a process remembers; the newest when there are more.
pub(crate) fn load_after(
    connection: &mut Connection,
    tenant: &TenantId,
    after: Version,
) -> Result<Vec<Arc<Change>>> {
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
