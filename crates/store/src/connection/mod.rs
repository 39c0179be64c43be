//! One synchronous connection, whichever database is behind it.

pub(crate) mod deferred_rows;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use quad_core::audit_fields::AuditFields;
use quad_core::{Error, Timestamp, Version};

use crate::sql::{RowVisitor, Tx, visit_all};
use crate::{Backend, DbError, Row, Value};

/// A connection to either backend. All code above it is written once.
pub(crate) enum Connection {
    Sqlite(sqlite::Conn),
    Postgres(postgres::Conn),
}

impl Connection {
    pub(crate) fn backend(&self) -> Backend {
        match self {
            Connection::Sqlite(_) => Backend::Sqlite,
            Connection::Postgres(_) => Backend::Postgres,
        }
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        match self {
            Connection::Sqlite(conn) => conn.query(sql, params),
            Connection::Postgres(conn) => conn.query(sql, params),
        }
    }

    /// Shows each row of a query in turn: see [`crate::Sql::each`].
    pub(crate) fn for_each_row(
        &mut self,
        sql: &str,
        params: &[Value],
        visit: RowVisitor<'_>,
    ) -> quad_core::Result<()> {
        match self {
            Connection::Sqlite(conn) => conn.for_each_row(sql, params, visit),
            Connection::Postgres(conn) => visit_all(&conn.query(sql, params)?, visit),
        }
    }

    pub(crate) fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        match self {
            Connection::Sqlite(conn) => conn.execute(sql, params),
            Connection::Postgres(conn) => conn.execute(sql, params),
        }
    }

    /// Statements without parameters, not kept prepared.
    pub(crate) fn execute_script(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.execute_script(sql),
            Connection::Postgres(conn) => conn.execute_script(sql),
        }
    }

    /// A statement that steers a transaction. SQLite keeps it prepared, since every commit runs a handful of them; on
    /// PostgreSQL the simple protocol takes one round trip, and works where a transaction has failed.
    pub(crate) fn transaction_control(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => {
                conn.deferred_rows.on_control(sql);
                conn.execute(sql, &[]).map(drop)
            }
            Connection::Postgres(conn) => conn.execute_script(sql),
        }
    }

    /// Whether commits from now on wait for the disk. Not inside a transaction.
    pub(crate) fn set_sync_commit(&mut self, enabled: bool) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.set_sync_commit(enabled),
            Connection::Postgres(conn) => conn.set_sync_commit(enabled),
        }
    }

    /// Gives the queries that follow so much time in all, or as much as they want; says whether it can. PostgreSQL cannot: its
    /// queries wait for a network.
    pub(crate) fn set_time_budget(&mut self, budget: Option<Duration>) -> bool {
        match self {
            Connection::Sqlite(conn) => {
                conn.set_time_budget(budget);
                true
            }
            Connection::Postgres(_) => false,
        }
    }

    /// Whether a query has failed for want of time since this was last asked.
    pub(crate) fn take_timed_out(&mut self) -> bool {
        match self {
            Connection::Sqlite(conn) => conn.take_timed_out(),
            Connection::Postgres(_) => false,
        }
    }

    /// How much of the database this connection keeps in memory. PostgreSQL has its own.
    pub(crate) fn set_page_cache(&mut self, kib: u32) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.execute_script(&format!("PRAGMA cache_size = -{kib}")),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Begins a transaction that will write.
    pub(crate) fn begin_write(&mut self) -> Result<(), DbError> {
        match self {
            // Immediate: a deferred transaction that finds the lock taken at its first write cannot wait for it.
            Connection::Sqlite(_) => self.transaction_control("BEGIN IMMEDIATE"),
            Connection::Postgres(_) => self.transaction_control("BEGIN"),
        }
    }

    /// Begins a snapshot.
    pub(crate) fn begin_read(&mut self) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(_) => self.transaction_control("BEGIN"),
            Connection::Postgres(_) => {
                self.transaction_control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            }
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), DbError> {
        self.write_deferred_rows()?;
        self.transaction_control("COMMIT")
    }

    /// Writes what the jobs of this transaction have [gathered](crate::Gathered).
    pub(crate) fn write_deferred_rows(&mut self) -> Result<(), DbError> {
        let Connection::Sqlite(conn) = self else { return Ok(()) };
        let Some(entry) = conn.deferred_rows.take() else { return Ok(()) };
        let mut tx = Tx {
            connection: &mut *self,
            tenant: &entry.tenant,
            version: Version(0),
            now: Timestamp::now(),
            tags: Vec::new(),
            outputs: AuditFields::default(),
            events: Vec::new(),
        };
        // As a job would: a panic must not end the thread that writes for all.
        let result = catch_unwind(AssertUnwindSafe(|| entry.rows.write(&mut tx)))
            .unwrap_or_else(|_| Err(Error::internal("gathered rows panicked when they were to be written")))
            .map_err(|error| DbError::other(error.cause_chain()));
        if let (Err(_), Connection::Sqlite(conn)) = (&result, self) {
            // Not lost where somebody goes on regardless: the commit fails as well.
            conn.deferred_rows.put(entry);
        }
        result
    }

    /// Gives up the transaction. A failure here means that the connection is gone, and so is the transaction.
    pub(crate) fn rollback(&mut self) {
        // It is not work that may take too long: interrupted, it would leave the transaction open.
        self.set_time_budget(None);
        if let Err(error) = self.transaction_control("ROLLBACK") {
            tracing::debug!(%error, "a rollback failed");
        }
    }

    /// Whether the last failure of a statement was one that trying again can mend. Reading it clears it: the error itself
    /// may by then have been turned into something else by the code in between.
    pub(crate) fn take_retryable(&mut self) -> bool {
        match self {
            Connection::Sqlite(conn) => std::mem::take(&mut conn.retryable),
            Connection::Postgres(conn) => std::mem::take(&mut conn.retryable),
        }
    }

    /// Whether it can still be used.
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            // One that could not end its transaction has to be closed.
            Connection::Sqlite(conn) => conn.inner.is_autocommit(),
            Connection::Postgres(conn) => conn.is_alive(),
        }
    }
}
