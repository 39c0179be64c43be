//! One synchronous connection to either database.

pub(crate) mod postgres;
mod postgres_tls;
mod postgres_url;
pub(crate) mod sqlite;

use std::time::Duration;

use crate::fast_path::RowVisitor;
use crate::fast_path::row_visitor::visit_all;
use crate::{Backend, DbError, Row, Value};

/// A connection to either backend, so that all code above it is written once.
pub(crate) enum Connection {
    Sqlite(sqlite::Conn),
    Postgres(postgres::Conn),
}

/// The savepoints that the store uses. Their statements are constants, so SQLite keeps them prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Savepoint {
    /// Around one job of a batch.
    Job,
    /// Around the side effect of one audit event.
    SideEffect,
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

    /// Calls `visit` with each row of a query. The outer error is the database's, the inner one the visitor's.
    pub(crate) fn for_each_row(
        &mut self,
        sql: &str,
        params: &[Value],
        visit: RowVisitor<'_>,
    ) -> Result<quad_core::Result<()>, DbError> {
        match self {
            Connection::Sqlite(conn) => conn.for_each_row(sql, params, visit),
            Connection::Postgres(conn) => Ok(visit_all(&conn.query(sql, params)?, visit)),
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

    /// A statement that begins or ends a transaction or a savepoint. SQLite keeps it prepared, since every commit
    /// runs several. On PostgreSQL the simple protocol takes one round trip and also works in a failed transaction.
    fn transaction_control(&mut self, sql: &'static str) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.execute(sql, &[]).map(drop),
            Connection::Postgres(conn) => conn.execute_script(sql),
        }
    }

    /// Whether commits from now on wait for the disk. Must not be called inside a transaction.
    pub(crate) fn set_sync_commit(&mut self, enabled: bool) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.set_sync_commit(enabled),
            Connection::Postgres(conn) => conn.set_sync_commit(enabled),
        }
    }

    /// Limits the total time of the queries that follow; `None` removes the limit. Returns false on PostgreSQL, whose
    /// queries wait for the network.
    pub(crate) fn set_time_budget(&mut self, budget: Option<Duration>) -> bool {
        match self {
            Connection::Sqlite(conn) => {
                conn.set_time_budget(budget);
                true
            }
            Connection::Postgres(_) => false,
        }
    }

    /// Whether a query has exceeded the time limit since the last call.
    pub(crate) fn take_timed_out(&mut self) -> bool {
        match self {
            Connection::Sqlite(conn) => conn.take_timed_out(),
            Connection::Postgres(_) => false,
        }
    }

    /// Sets the size of this connection's page cache. PostgreSQL has one of its own.
    pub(crate) fn set_page_cache(&mut self, kib: u32) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.execute_script(&format!("PRAGMA cache_size = -{kib}")),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Begins a write transaction.
    pub(crate) fn begin_write(&mut self) -> Result<(), DbError> {
        match self {
            // IMMEDIATE takes the write lock here. A deferred transaction takes it at its first write, and cannot
            // wait for it then.
            Connection::Sqlite(_) => self.transaction_control("BEGIN IMMEDIATE"),
            Connection::Postgres(_) => self.transaction_control("BEGIN"),
        }
    }

    /// Begins a read-only snapshot.
    pub(crate) fn begin_read(&mut self) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(_) => self.transaction_control("BEGIN"),
            Connection::Postgres(_) => {
                self.transaction_control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            }
        }
    }

    pub(crate) fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.transaction_control(match savepoint {
            Savepoint::Job => "SAVEPOINT job",
            Savepoint::SideEffect => "SAVEPOINT side_effect",
        })
    }

    /// Ends a savepoint and keeps what was written since.
    pub(crate) fn release(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.transaction_control(match savepoint {
            Savepoint::Job => "RELEASE job",
            Savepoint::SideEffect => "RELEASE side_effect",
        })
    }

    /// Undoes what was written since a savepoint, which stays open.
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.transaction_control(match savepoint {
            Savepoint::Job => "ROLLBACK TO job",
            Savepoint::SideEffect => "ROLLBACK TO side_effect",
        })
    }

    pub(crate) fn commit(&mut self) -> Result<(), DbError> {
        self.transaction_control("COMMIT")
    }

    /// Undoes the transaction. If this fails, the connection is gone, and the transaction with it.
    pub(crate) fn rollback(&mut self) {
        // No time limit: an interrupted ROLLBACK would leave the transaction open.
        self.set_time_budget(None);
        if let Err(error) = self.transaction_control("ROLLBACK") {
            tracing::debug!(%error, "rollback failed");
        }
    }

    /// An error if the database file was deleted or replaced since it was opened.
    pub(crate) fn check_file(&self) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.file().check_present(),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Writes a little and waits for the disk, without changing any row.
    pub(crate) fn probe_commit(&mut self) -> Result<(), DbError> {
        self.check_file()?;
        self.set_sync_commit(true)?;
        self.begin_write()?;
        let written = match self {
            // Writes the first page to the log.
            Connection::Sqlite(conn) => conn.rewrite_header(),
            // Writes a record to the log that no one reads.
            Connection::Postgres(conn) => {
                conn.query("SELECT 1 FROM pg_logical_emit_message(true, 'quad', 'readiness')", &[]).map(drop)
            }
        };
        let committed = written.and_then(|()| self.commit());
        if committed.is_err() {
            self.rollback();
        }
        committed
    }

    /// Whether the connection can still be used.
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            // A connection that could not end its transaction must be closed.
            Connection::Sqlite(conn) => conn.inner.is_autocommit(),
            Connection::Postgres(conn) => conn.is_alive(),
        }
    }
}
