//! The check that a read set is current: nothing that it depends on has changed since.

use std::sync::Arc;

use quad_core::{Change, ReadSet, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::recent_changes::RecentChanges;
use crate::{DbError, change_log, limits};

/// Checks read sets against the changes that this process knows, and loads those that it does not know yet.
pub(crate) struct ReadSetCheck<'a> {
    pub(crate) recent_changes: &'a RecentChanges,
    /// Read sets that expire are compared with this time.
    pub(crate) now: Timestamp,
}

impl ReadSetCheck<'_> {
    /// The index of the first read set that is not current.
    pub(crate) fn first_stale(
        &self,
        connection: &mut Connection,
        tenant: &TenantId,
        read_sets: &[Arc<ReadSet>],
        version: Version,
        pending: &[Arc<Change>],
    ) -> Result<Option<usize>, DbError> {
        for (index, read_set) in read_sets.iter().enumerate() {
            if !self.is_current(connection, tenant, read_set, version, pending)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether a read set is current at `version` and after the `pending` changes of this batch.
    pub(crate) fn is_current(
        &self,
        connection: &mut Connection,
        tenant: &TenantId,
        read_set: &ReadSet,
        version: Version,
        pending: &[Arc<Change>],
    ) -> Result<bool, DbError> {
        if read_set.version.is_some_and(|read_version| read_version < version) {
            self.load_changes_until(connection, tenant, version)?;
        }
        Ok(self.recent_changes.is_current(tenant, read_set, version, pending, self.now))
    }

    /// Loads the changes up to `version`, which this transaction has seen committed.
    pub(crate) fn load_changes_until(
        &self,
        connection: &mut Connection,
        tenant: &TenantId,
        version: Version,
    ) -> Result<(), DbError> {
        // For a tenant that is new to this process, load as many as it keeps: read sets from before a restart then
        // need not be computed again.
        let oldest_loaded = Version((version.0 - limits::RECENT_CHANGES_MAX as i64).max(0));
        let loaded_version = self.recent_changes.loaded_version(tenant).unwrap_or(oldest_loaded);
        if loaded_version < version {
            let changes = change_log::load_after(connection, tenant, loaded_version)?;
            self.recent_changes.extend(tenant, loaded_version, version, &changes);
        }
        Ok(())
    }
}
