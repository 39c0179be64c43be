//! What a closure sees of the database: a snapshot to read, or a transaction to write.

use std::any::Any;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use quad_core::audit_fields::{AuditFields, AuditValue};
use quad_core::{EventDraft, Tag, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::connection::deferred_rows::TenantRows;
use crate::rows_by_id::{self, IdQuery};
use crate::{Backend, DbError, Row, Value, limits, params};

/// Somebody to whom rows are shown, and who says whether that is enough.
pub type RowVisitor<'s> = &'s mut dyn FnMut(&Row) -> quad_core::Result<ControlFlow<()>>;

/// Reading, in a snapshot or in a transaction.
pub trait Sql {
    /// Which database it is.
    fn backend(&self) -> Backend;
    /// Whose rows.
    fn tenant(&self) -> &TenantId;
    /// The tenant's version in this snapshot, or when this transaction began.
    fn version(&self) -> Version;
    /// All rows of a query.
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError>;
    /// The first row of a query.
    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError>;
    /// Shows the rows of a query one after the other, until it is told that this is enough. Each is lent only, so that the next can
    /// use its place: for those who make something else of many rows.
    fn for_each_row(&mut self, sql: &str, params: &[Value], visit: RowVisitor<'_>) -> quad_core::Result<()> {
        visit_all(&self.query(sql, params)?, visit)
    }
    /// The rows of these numbers, as far as there are any, in no order.
    fn rows_by_id(&mut self, id_query: &IdQuery, ids: &[i64]) -> Result<Vec<Row>, DbError> {
        rows_by_id::rows_by_id_lists(self, id_query, ids)
    }
}

/// Shows rows that are there already.
pub(crate) fn visit_all(rows: &[Row], visit: RowVisitor<'_>) -> quad_core::Result<()> {
    for row in rows {
        if visit(row)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// One consistent view of the data.
pub struct Snapshot<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) tenant: &'c TenantId,
    pub(crate) version: Version,
}

impl Sql for Snapshot<'_> {
    fn backend(&self) -> Backend {
        self.connection.backend()
    }

    fn tenant(&self) -> &TenantId {
        self.tenant
    }

    fn version(&self) -> Version {
        self.version
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        self.connection.query(sql, params)
    }

    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        self.connection.query_opt(sql, params)
    }

    fn for_each_row(&mut self, sql: &str, params: &[Value], visit: RowVisitor<'_>) -> quad_core::Result<()> {
        self.connection.for_each_row(sql, params, visit)
    }

    fn rows_by_id(&mut self, id_query: &IdQuery, ids: &[i64]) -> Result<Vec<Row>, DbError> {
        match self.connection {
            Connection::Sqlite(conn) => conn.rows_by_id(self.tenant, id_query, ids),
            Connection::Postgres(_) => rows_by_id::rows_by_id_lists(self, id_query, ids),
        }
    }
}

/// One transaction in the making. Nothing of it is visible, announced or audited until it commits.
pub struct Tx<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) tenant: &'c TenantId,
    pub(crate) version: Version,
    pub(crate) now: Timestamp,
    pub(crate) tags: Vec<Tag>,
    pub(crate) outputs: AuditFields,
    pub(crate) events: Vec<EventDraft>,
}

/// Rows that the jobs of one transaction gather, so that they are written together and not job by job.
///
/// Nobody can tell the difference: they are written before the commit and before any statement of a [`Tx`], and of a job that
/// fails nothing stays gathered. Whoever [takes](Tx::take_gathered) them knows what they say, and may go on with that instead of
/// asking the database.
pub trait DeferredRows: Any + Send + Sync {
    /// Writes all of them.
    fn write(&self, tx: &mut Tx<'_>) -> quad_core::Result<()>;
}

impl Tx<'_> {
    /// What earlier jobs of this transaction have gathered for this tenant, if it is of that kind and nothing has made it be
    /// written. It is for the caller to gather it again, or to write it.
    pub fn take_deferred_rows<T: DeferredRows>(&mut self) -> Option<Arc<T>> {
        match self.connection {
            Connection::Sqlite(conn) => conn.deferred_rows.take_typed(self.tenant),
            Connection::Postgres(_) => None,
        }
    }

    /// Lets these rows wait for those of the next job. What was gathered before and has not been taken is written.
    pub fn defer_rows(&mut self, rows: Arc<impl DeferredRows>) -> quad_core::Result<()> {
        self.connection.write_deferred_rows()?;
        match self.connection {
            Connection::Sqlite(conn) => {
                conn.deferred_rows.put(TenantRows { tenant: self.tenant.clone(), rows });
                Ok(())
            }
            // Here a job is alone in its transaction.
            Connection::Postgres(_) => rows.write(self),
        }
    }

    /// Runs a statement and says how many rows it changed.
    pub fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        self.connection.write_deferred_rows()?;
        self.connection.execute(sql, params)
    }

    /// Runs DDL. It waits only briefly for a table in use; the whole transaction is then tried again.
    pub fn execute_ddl(&mut self, sql: &str) -> Result<(), DbError> {
        self.connection.write_deferred_rows()?;
        if self.backend() == Backend::Postgres {
            self.connection.execute_script(&format!(
                "SET LOCAL lock_timeout = '{}s'",
                limits::DDL_LOCK_TIMEOUT_SECONDS
            ))?;
        }
        self.connection.execute_script(sql)
    }

    /// Says that this commit changes what `tag` names.
    pub fn invalidate(&mut self, tag: Tag) {
        if !self.tags.contains(&tag) {
            self.tags.push(tag);
        }
    }

    /// Waits for every other transaction of this tenant that holds a lock of the same name. Take it first: what was read
    /// before it may be old.
    pub fn lock(&mut self, name: &str) -> Result<(), DbError> {
        if self.backend() == Backend::Postgres {
            let name = format!("{}/{name}", self.tenant);
            self.connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", params![name])?;
        }
        Ok(())
    }

    /// Adds to the outputs of the call's audit event: ids and hashes, never contents.
    pub fn audit_output(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AuditValue>) {
        self.outputs.set(name, value);
    }

    /// Tells an event of work that tells its own (`Store::write_told`). What was said by [`Tx::output`] since the last is its output.
    pub fn emit_event(&mut self, mut event: EventDraft) {
        event.outputs.extend(std::mem::take(&mut self.outputs));
        self.events.push(event);
    }

    /// The time of this transaction.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

impl Sql for Tx<'_> {
    fn backend(&self) -> Backend {
        self.connection.backend()
    }

    fn tenant(&self) -> &TenantId {
        self.tenant
    }

    fn version(&self) -> Version {
        self.version
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        self.connection.write_deferred_rows()?;
        self.connection.query(sql, params)
    }

    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        self.connection.write_deferred_rows()?;
        self.connection.query_opt(sql, params)
    }

    fn for_each_row(&mut self, sql: &str, params: &[Value], visit: RowVisitor<'_>) -> quad_core::Result<()> {
        self.connection.write_deferred_rows()?;
        self.connection.for_each_row(sql, params, visit)
    }

    fn rows_by_id(&mut self, id_query: &IdQuery, ids: &[i64]) -> Result<Vec<Row>, DbError> {
        self.connection.write_deferred_rows()?;
        match self.connection {
            Connection::Sqlite(conn) => conn.rows_by_id(self.tenant, id_query, ids),
            Connection::Postgres(_) => rows_by_id::rows_by_id_lists(self, id_query, ids),
        }
    }
}
