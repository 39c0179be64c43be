//! What a closure sees of the database: a [`Snapshot`] to read from, or a transaction ([`Tx`]) to write in.

use std::borrow::Cow;

use quad_core::audit_fields::{AuditFields, AuditValue};
use quad_core::{EventDraft, Tag, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::fast_path::DirectConnection;
use crate::fast_path::deferred_rows::{self, DeferredRowStack};
use crate::{Backend, DbError, Row, Value, limits, params};

/// Queries in a snapshot or in a transaction.
pub trait Sql {
    /// Which database it is.
    fn backend(&self) -> Backend;
    /// The tenant whose rows the closure works on. Every statement names it: the database does not add it.
    fn tenant(&self) -> &TenantId;
    /// The tenant's version in this snapshot, or before this transaction.
    fn version(&self) -> Version;
    /// All rows of a query.
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError>;
    /// The first row of a query.
    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError>;

    /// For [`fast_path`](crate::fast_path) only. `None` where queries must pass [`query`](Sql::query), as in tests
    /// that explain each of them.
    #[doc(hidden)]
    fn direct_connection(&mut self) -> Result<Option<DirectConnection<'_>>, DbError> {
        Ok(None)
    }
}

/// Remembers whether a statement failed for a reason that a new attempt at the transaction can fix. The closure may
/// turn the error into one of its own, which no longer shows this.
pub(crate) fn track_error<T>(saw_retryable: &mut bool, result: Result<T, DbError>) -> Result<T, DbError> {
    if let Err(error) = &result {
        *saw_retryable |= error.is_retryable();
    }
    result
}

/// One consistent view of the data.
pub struct Snapshot<'c> {
    connection: &'c mut Connection,
    tenant: &'c TenantId,
    version: Version,
    saw_retryable: bool,
}

impl<'c> Snapshot<'c> {
    /// The snapshot that the connection has open, which shows this version.
    pub(crate) fn new(
        connection: &'c mut Connection,
        tenant: &'c TenantId,
        version: Version,
    ) -> Snapshot<'c> {
        Snapshot { connection, tenant, version, saw_retryable: false }
    }

    /// Whether a statement failed for a reason that a new snapshot can fix.
    pub(crate) fn saw_retryable(&self) -> bool {
        self.saw_retryable
    }
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
        track_error(&mut self.saw_retryable, self.connection.query(sql, params))
    }

    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        track_error(&mut self.saw_retryable, self.connection.query_opt(sql, params))
    }

    fn direct_connection(&mut self) -> Result<Option<DirectConnection<'_>>, DbError> {
        let Snapshot { connection, tenant, saw_retryable, .. } = self;
        Ok(Some(DirectConnection { connection, tenant, saw_retryable }))
    }
}

/// One open transaction of one tenant. Until it commits, nothing of it is visible, published or audited.
pub struct Tx<'c> {
    connection: &'c mut Connection,
    deferred_rows: &'c mut DeferredRowStack,
    tenant: &'c TenantId,
    version: Version,
    now: Timestamp,
    saw_retryable: bool,
    effects: TxEffects,
}

/// What a closure has declared in its transaction, besides the rows that it wrote.
#[derive(Default)]
pub(crate) struct TxEffects {
    pub(crate) tags: Vec<Tag>,
    pub(crate) outputs: AuditFields,
    pub(crate) events: Vec<EventDraft>,
}

impl<'c> Tx<'c> {
    pub(crate) fn new(
        connection: &'c mut Connection,
        deferred_rows: &'c mut DeferredRowStack,
        tenant: &'c TenantId,
        version: Version,
        now: Timestamp,
    ) -> Tx<'c> {
        Tx {
            connection,
            deferred_rows,
            tenant,
            version,
            now,
            saw_retryable: false,
            effects: TxEffects::default(),
        }
    }

    /// Runs a statement; returns how many rows it changed.
    pub fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        self.write_deferred_rows()?;
        track_error(&mut self.saw_retryable, self.connection.execute(sql, params))
    }

    /// Runs DDL. It waits at most [`DDL_LOCK_TIMEOUT_SECONDS`](limits::DDL_LOCK_TIMEOUT_SECONDS) for a table that is
    /// in use; then the whole transaction is run again.
    pub fn execute_ddl(&mut self, sql: &str) -> Result<(), DbError> {
        self.write_deferred_rows()?;
        let timeout = format!("SET LOCAL lock_timeout = '{}s'", limits::DDL_LOCK_TIMEOUT_SECONDS);
        let result = match self.connection.backend() {
            Backend::Sqlite => Ok(()),
            Backend::Postgres => self.connection.execute_script(&timeout),
        };
        let result = result.and_then(|()| self.connection.execute_script(sql));
        track_error(&mut self.saw_retryable, result)
    }

    /// Declares that this commit changes what `tag` names: it invalidates every read set with that tag.
    pub fn invalidate(&mut self, tag: Tag) {
        if !self.effects.tags.contains(&tag) {
            self.effects.tags.push(tag);
        }
    }

    /// Waits for every other transaction of this tenant that holds a lock of the same name, and holds it until the
    /// end of this transaction. Take it first: rows that were read before may be outdated.
    pub fn lock(&mut self, name: &str) -> Result<(), DbError> {
        // On SQLite a write transaction is alone anyway.
        if self.backend() == Backend::Postgres {
            let name = format!("{}/{name}", self.tenant);
            let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))";
            track_error(&mut self.saw_retryable, self.connection.query(sql, params![name]))?;
        }
        Ok(())
    }

    /// Adds to the outputs of the call's audit event: ids and hashes, never contents.
    pub fn audit_output(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AuditValue>) {
        self.effects.outputs.set(name, value);
    }

    /// Emits one event of a transaction that emits its own
    /// ([`Store::write_with_events`](crate::Store::write_with_events)). Its outputs are those that were added with
    /// [`audit_output`](Tx::audit_output) since the last event.
    pub fn emit_event(&mut self, mut event: EventDraft) {
        event.outputs.extend(std::mem::take(&mut self.effects.outputs));
        self.effects.events.push(event);
    }

    /// The time of this transaction.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether a statement failed for a reason that a new transaction can fix.
    pub(crate) fn saw_retryable(&self) -> bool {
        self.saw_retryable
    }

    /// Ends the closure's use of the transaction.
    pub(crate) fn into_effects(self) -> TxEffects {
        self.effects
    }

    /// The stack of deferred rows, together with what a later write of them needs to know.
    pub(crate) fn deferred_rows_mut(&mut self) -> (&mut DeferredRowStack, &TenantId, Version, Timestamp) {
        (self.deferred_rows, self.tenant, self.version, self.now)
    }

    /// Called before every statement, so that no statement can miss deferred rows.
    pub(crate) fn write_deferred_rows(&mut self) -> Result<(), DbError> {
        if self.deferred_rows.is_empty() {
            return Ok(());
        }
        let result = deferred_rows::write(self.connection, self.deferred_rows);
        track_error(&mut self.saw_retryable, result)
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
        self.write_deferred_rows()?;
        track_error(&mut self.saw_retryable, self.connection.query(sql, params))
    }

    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        self.write_deferred_rows()?;
        track_error(&mut self.saw_retryable, self.connection.query_opt(sql, params))
    }

    fn direct_connection(&mut self) -> Result<Option<DirectConnection<'_>>, DbError> {
        self.write_deferred_rows()?;
        let Tx { connection, tenant, saw_retryable, .. } = self;
        Ok(Some(DirectConnection { connection, tenant, saw_retryable }))
    }
}
