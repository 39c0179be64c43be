//! Which tags have changed since a version, as far as the change log reaches.

use quad_core::{Result, Tag, Version};

use crate::{Sql, limits, params};

/// The tags of all changes after `version` that this snapshot sees. `None` if the change log no longer holds all of
/// them or if there are more than [`RECENT_CHANGES_MAX`](limits::RECENT_CHANGES_MAX) changes.
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
