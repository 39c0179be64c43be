//! Five ways around the general interface, for code that a measurement has shown to be too slow without them.
//!
//! [`Sql`], [`Tx`](crate::Tx) and [`Store`](crate::Store) are enough for every scheme: start there. Everything in
//! this module gives the same results as they do, only cheaper, and is used by `amem` alone. Before you use one of
//! these elsewhere, measure.
//!
//! | feature | what it saves | measured |
//! | --- | --- | --- |
//! | [`DeferredRows`] | writing the same counters once per job of a batch | an add 31 instead of 47 µs of CPU |
//! | [`IdQuery`], [`FastSql::rows_by_id`] | a parsed list of ids, and SQLite's second index tree | see below |
//! | [`FastSql::for_each_row`] | allocating rows that only become text | see below |
//! | [`side_effect()`] | a second commit per read, for its access count | no figure of its own |
//! | [`tags_changed_since`] | reloading an in-memory copy after every write | no figure of its own |
//!
//! The figures are of SQLite; `docs/decisions/0003-memory.md` says how they were taken.
//!
//! **Deferred rows.** The jobs of one group commit often change the same rows: the counters and the session of one
//! caller. The first job leaves its rows in memory ([`Tx::defer_rows`](crate::Tx::defer_rows)); the next job takes
//! them, adds its own and leaves the sum ([`Tx::take_deferred_rows`](crate::Tx::take_deferred_rows)). The store
//! writes them before the commit, and before any other statement of a `Tx`, so no query can miss them. They follow
//! the savepoints: a failed job takes away only what it added. 20,000 adds of one caller took 30.7 to 31.7 µs of CPU
//! each, 46.6 to 48.0 µs without. Adds of different callers in turn save nothing. On PostgreSQL a job is alone in its
//! transaction, and its rows are written at once.
//!
//! **Rows by id.** On PostgreSQL one statement asks for up to 64 ids, since each statement is a round trip. On SQLite
//! one prepared statement per id is cheaper than a list, which becomes a temporary table (157 to 180 µs instead of
//! 191 to 241 for a walk over 20 nodes). Where the table has a `rowid`, the store predicts it from the id: tenants
//! insert rows in id order, so neighbours have the same distance between the two. A correct prediction saves the
//! descent of the index on the id (120 to 148 µs). The statement checks the id as well, so a wrong prediction costs
//! time and never a wrong row. Together with the edges in the node's row, the walk takes 51 to 53 µs; without the
//! prediction 87 to 94 µs.
//!
//! **Row visitor.** [`FastSql::for_each_row`] lends each row to a callback and reuses its memory for the next one.
//! With JSON that is written as the rows come, a session of 100 nodes takes 186 to 214 µs of CPU instead of 235 to
//! 280.
//!
//! **Side effects.** A read of a node counts as an access. The count is written in the transaction of the read's
//! audit event, in a savepoint of its own: if it fails, the event stays and the log has a warning. It has no version
//! and no tags, so nothing is invalidated by it. A rejected (stale) append does not run it.
//!
//! **Changed tags.** A scheme that keeps an in-memory copy as of one version asks which tags have changed since, in
//! the snapshot of the read, and drops what they name. `None` means that the change log does not reach back: reload.

mod changed_tags;
pub(crate) mod deferred_rows;
pub(crate) mod row_visitor;
pub(crate) mod rows_by_id;
pub(crate) mod side_effect;

pub use changed_tags::tags_changed_since;
pub use deferred_rows::DeferredRows;
pub use row_visitor::RowVisitor;
pub use rows_by_id::IdQuery;
pub use side_effect::side_effect;

use quad_core::TenantId;

use crate::connection::Connection;
use crate::sql::track_error;
use crate::{DbError, Row, Sql, Value};

/// The connection below a [`Sql`]. Only this module can use it.
pub struct DirectConnection<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) tenant: &'c TenantId,
    pub(crate) saw_retryable: &'c mut bool,
}

/// The fast paths of reading, for every snapshot and every transaction.
pub trait FastSql: Sql {
    /// Calls `visit` with each row of a query. The row is lent: the next one reuses its memory.
    fn for_each_row(&mut self, sql: &str, params: &[Value], visit: RowVisitor<'_>) -> quad_core::Result<()> {
        if let Some(direct) = self.direct_connection()? {
            let outcome = direct.connection.for_each_row(sql, params, visit);
            return track_error(direct.saw_retryable, outcome)?;
        }
        row_visitor::visit_all(&self.query(sql, params)?, visit)
    }

    /// The rows with these ids, in no particular order. An id without a row is skipped.
    fn rows_by_id(&mut self, id_query: &IdQuery, ids: &[i64]) -> Result<Vec<Row>, DbError> {
        if let Some(direct) = self.direct_connection()?
            && let Connection::Sqlite(conn) = direct.connection
        {
            return track_error(direct.saw_retryable, conn.rows_by_id(direct.tenant, id_query, ids));
        }
        rows_by_id::query_in_chunks(self, id_query, ids)
    }
}

impl<S: Sql + ?Sized> FastSql for S {}
