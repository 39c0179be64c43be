//! One open write transaction: the connection it runs on, and the rows that its jobs have deferred.

use quad_core::{TenantId, Timestamp, Version};

use crate::DbError;
use crate::connection::Connection;
use crate::fast_path::deferred_rows::{self, DeferredRowStack};
use crate::sql::Tx;

pub(crate) use crate::connection::Savepoint;

/// An open write transaction. It ends with [`commit`](Self::commit) or with a rollback of its connection.
pub(crate) struct WriteTransaction<'c> {
    pub(crate) connection: &'c mut Connection,
    deferred_rows: DeferredRowStack,
}

impl<'c> WriteTransaction<'c> {
    /// Begins it.
    pub(crate) fn begin(connection: &'c mut Connection) -> Result<WriteTransaction<'c>, DbError> {
        connection.begin_write()?;
        Ok(WriteTransaction { connection, deferred_rows: DeferredRowStack::default() })
    }

    /// The view of this transaction that a closure gets: one tenant, at the version before the commit.
    pub(crate) fn tx<'t>(&'t mut self, tenant: &'t TenantId, version: Version, now: Timestamp) -> Tx<'t> {
        Tx::new(self.connection, &mut self.deferred_rows, tenant, version, now)
    }

    pub(crate) fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.deferred_rows.savepoint();
        self.connection.savepoint(savepoint)
    }

    /// Keeps what was written since the savepoint.
    pub(crate) fn release(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.deferred_rows.release();
        self.connection.release(savepoint)
    }

    /// Undoes what was written since the savepoint, which stays open.
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.deferred_rows.rollback_to();
        self.connection.rollback_to(savepoint)
    }

    /// Writes the deferred rows and commits. After a failure the caller rolls the connection back.
    pub(crate) fn commit(&mut self) -> Result<(), DbError> {
        deferred_rows::write(self.connection, &mut self.deferred_rows)?;
        self.connection.commit()
    }
}
