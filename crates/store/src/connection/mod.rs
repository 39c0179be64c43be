//! One synchronous connection, whichever database is behind it.

pub(crate) mod gathered;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use quad_core::facts::AuditFields;
use quad_core::{Error, Timestamp, Version};

use crate::sql::{Show, Tx, show_all};
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
    pub(crate) fn each(&mut self, sql: &str, params: &[Value], show: Show<'_>) -> quad_core::Result<()> {
        match self {
            Connection::Sqlite(conn) => conn.each(sql, params, show),
            Connection::Postgres(conn) => show_all(&conn.query(sql, params)?, show),
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
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.batch(sql),
            Connection::Postgres(conn) => conn.batch(sql),
        }
    }

    /// A statement that steers a transaction. SQLite keeps it prepared, since every commit runs a handful of them; on
    /// PostgreSQL the simple protocol takes one round trip, and works where a transaction has failed.
    pub(crate) fn control(&mut self, sql: &str) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => {
                conn.gathered.follow(sql);
                conn.execute(sql, &[]).map(drop)
            }
            Connection::Postgres(conn) => conn.batch(sql),
        }
    }

    /// Whether commits from now on wait for the disk. Not inside a transaction.
    pub(crate) fn wait_for_disk(&mut self, wait: bool) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.wait_for_disk(wait),
            Connection::Postgres(conn) => conn.wait_for_disk(wait),
        }
    }

    /// Gives the queries that follow so much time in all, or as much as they want; says whether it can. PostgreSQL cannot: its
    /// queries wait for a network.
    pub(crate) fn allow(&mut self, time: Option<Duration>) -> bool {
        match self {
            Connection::Sqlite(conn) => {
                conn.allow(time);
                true
            }
            Connection::Postgres(_) => false,
        }
    }

    /// Whether a query has failed for want of time since this was last asked.
    pub(crate) fn take_was_cut_short(&mut self) -> bool {
        match self {
            Connection::Sqlite(conn) => conn.take_was_cut_short(),
            Connection::Postgres(_) => false,
        }
    }

    /// How much of the database this connection keeps in memory. PostgreSQL has its own.
    pub(crate) fn keep_pages(&mut self, kib: u32) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(conn) => conn.batch(&format!("PRAGMA cache_size = -{kib}")),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Begins a transaction that will write.
    pub(crate) fn begin_write(&mut self) -> Result<(), DbError> {
        match self {
            // Immediate: a deferred transaction that finds the lock taken at its first write cannot wait for it.
            Connection::Sqlite(_) => self.control("BEGIN IMMEDIATE"),
            Connection::Postgres(_) => self.control("BEGIN"),
        }
    }

    /// Begins a snapshot.
    pub(crate) fn begin_read(&mut self) -> Result<(), DbError> {
        match self {
            Connection::Sqlite(_) => self.control("BEGIN"),
            Connection::Postgres(_) => self.control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), DbError> {
        self.write_gathered()?;
        self.control("COMMIT")
    }

    /// Writes what the jobs of this transaction have [gathered](crate::Gathered).
    pub(crate) fn write_gathered(&mut self) -> Result<(), DbError> {
        let Connection::Sqlite(conn) = self else { return Ok(()) };
        let Some(entry) = conn.gathered.take() else { return Ok(()) };
        let mut tx = Tx {
            connection: &mut *self,
            tenant: &entry.tenant,
            version: Version(0),
            now: Timestamp::now(),
            tags: Vec::new(),
            outputs: AuditFields::default(),
            told: Vec::new(),
        };
        // As a job would: a panic must not end the thread that writes for all.
        let written = catch_unwind(AssertUnwindSafe(|| entry.rows.write(&mut tx)))
            .unwrap_or_else(|_| Err(Error::internal("gathered rows panicked when they were to be written")))
            .map_err(|error| DbError::other(error.cause_chain()));
        if let (Err(_), Connection::Sqlite(conn)) = (&written, self) {
            // Not lost where somebody goes on regardless: the commit fails as well.
            conn.gathered.put(entry);
        }
        written
    }

    /// Gives up the transaction. A failure here means that the connection is gone, and so is the transaction.
    pub(crate) fn rollback(&mut self) {
        // It is not work that may take too long: interrupted, it would leave the transaction open.
        self.allow(None);
        if let Err(error) = self.control("ROLLBACK") {
            tracing::debug!(%error, "a rollback failed");
        }
    }

    /// Whether the last failure of a statement was one that trying again can mend. Reading it clears it: the error itself
    /// may by then have been turned into something else by the code in between.
    pub(crate) fn take_was_busy(&mut self) -> bool {
        match self {
            Connection::Sqlite(conn) => std::mem::take(&mut conn.was_busy),
            Connection::Postgres(conn) => std::mem::take(&mut conn.was_busy),
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
