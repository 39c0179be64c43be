//! [`Store`]: opens the database, runs snapshots and transactions, appends audit events, publishes changes.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use quad_core::{
    AppendError, AuditLog, Change, ChangeFeed, Error, EventDraft, HeadLease, PendingAppend, Principal,
    ReadSet, ReadSets, Receipt, Result, SideEffect, TenantId, Timestamp, Version, id,
};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, broadcast, oneshot};

use crate::audit_mode::AtomicAuditMode;
use crate::chain_ends::ChainEnds;
use crate::commit::{self, AuditJob, CommitJob, EventPolicy, ReplyTiming, TransactionJob};
use crate::commit_thread::{self, CommitQueue};
use crate::connection::{Connection, postgres, sqlite};
use crate::head_lease::{ActiveLeases, LeaseRequest};
use crate::metrics::{CommitMetrics, StoreCollector};
use crate::migrate::{self, Component};
use crate::pool::{self, Pool, PoolUsage};
use crate::recent_changes::RecentChanges;
use crate::sql::{Snapshot, Sql, Tx};
use crate::tx_error::TxError;
use crate::wal_checkpoint::{self, CheckpointSignal};
use crate::{AuditMode, Backend, DbError, chain, change_log, head, limits};

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Location {
    /// A database file. Its folder must exist.
    Sqlite(PathBuf),
    /// A `postgres://` URL.
    Postgres(String),
}

/// The database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    location: Location,
    /// The connections for snapshots. On PostgreSQL, transactions use them too, each on a connection of its own.
    readers: Pool,
    /// How many transactions may use the pool at the same time.
    write_permits: Semaphore,
    leases: Arc<ActiveLeases>,
    queue: CommitQueue,
    recent_changes: Arc<RecentChanges>,
    audit_mode: Arc<AtomicAuditMode>,
    commit_metrics: CommitMetrics,
    /// The opened file; `None` on PostgreSQL.
    database_file: Option<sqlite::DatabaseFile>,
}

/// The tenant and the credential of a write.
#[derive(Clone, Debug)]
pub struct WriteContext {
    /// The tenant whose rows are written.
    pub tenant: TenantId,
    /// The read set of the credential check. The commit fails if it is no longer current.
    pub credential_read_set: Option<Arc<ReadSet>>,
}

impl From<&Principal> for WriteContext {
    fn from(caller: &Principal) -> WriteContext {
        WriteContext {
            tenant: caller.tenant.clone(),
            credential_read_set: caller.credential_read_set.clone(),
        }
    }
}

impl From<&TenantId> for WriteContext {
    fn from(tenant: &TenantId) -> WriteContext {
        WriteContext { tenant: tenant.clone(), credential_read_set: None }
    }
}

impl Store {
    /// Opens the database and runs the pending migrations. Must be called on a tokio runtime.
    pub async fn open(location: Location, components: &[Component]) -> Result<Store> {
        let mut all_components = vec![migrate::STORE_COMPONENT];
        all_components.extend_from_slice(components);
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || open(location, &all_components, &runtime))
            .await
            .map_err(|error| Error::internal(format!("opening the database failed: {error}")))?
    }

    /// Which database it is.
    pub fn backend(&self) -> Backend {
        match self.inner.location {
            Location::Sqlite(_) => Backend::Sqlite,
            Location::Postgres(_) => Backend::Postgres,
        }
    }

    /// Sets when the audit events of reads are durable, from the next commit on.
    pub fn set_audit_mode(&self, mode: AuditMode) {
        self.inner.audit_mode.set(mode);
    }

    pub(crate) fn location(&self) -> &Location {
        &self.inner.location
    }

    /// Runs `f` in one snapshot, whose first statement reads the tenant's version. It may run more than once.
    pub async fn read<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        mut f: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let tenant = tenant.clone();
        self.inner
            .readers
            .run(move |connection| {
                let mut attempt = 1;
                loop {
                    match run_snapshot(connection, &tenant, &mut f) {
                        Err(TxError::Retry(_))
                            if attempt < limits::TX_ATTEMPTS_MAX && connection.is_alive() =>
                        {
                            std::thread::sleep(Duration::from_millis(1 << attempt));
                            attempt += 1;
                        }
                        outcome => return outcome.map_err(TxError::into_error),
                    }
                }
            })
            .await
    }

    /// Like [`read`](Store::read), for a closure that reads few rows. On SQLite it runs on the calling thread, which
    /// saves the switch to a blocking thread and back: a read of one row takes 3 µs of CPU instead of 22 to 28, and a
    /// quarter of the time (`benches/inline_read.rs`).
    ///
    /// It does not replace `read`, because it blocks the calling thread. If it exceeds
    /// [`INLINE_READ_BUDGET`](limits::INLINE_READ_BUDGET) (2 ms), it starts again on a blocking thread, so a closure
    /// that is usually slower does its work twice.
    pub async fn read_inline<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        mut f: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let read = |connection: &mut Connection| run_snapshot(connection, tenant, &mut f);
        match self.inner.readers.try_run_inline(limits::INLINE_READ_BUDGET, read) {
            Some(outcome) => outcome,
            None => self.read(tenant, f).await,
        }
    }

    /// Runs `f` in one transaction, which also holds the change and the audit event. It may run more than once; a
    /// failed run leaves nothing behind.
    pub async fn write<T: Send + 'static>(
        &self,
        context: &WriteContext,
        event: EventDraft,
        f: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Receipt)> {
        let (value, receipt) = self.submit(context.clone(), EventPolicy::Single(Box::new(event)), f).await?;
        let receipt =
            receipt.ok_or_else(|| Error::internal("a transaction was committed without a receipt"))?;
        Ok((value, receipt))
    }

    /// Like [`write`](Store::write), for a transaction of several steps, each with an audit event of its own. It
    /// emits them with [`Tx::emit_event`], at least one.
    pub async fn write_with_events<T: Send + 'static>(
        &self,
        context: &WriteContext,
        f: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.submit(context.clone(), EventPolicy::FromTx, f).await?.0)
    }

    /// Runs `f` in one transaction without version, change or audit event: for the server's internal records. It must
    /// not change anything that a cached read depends on; an invalidated tag is an error.
    pub async fn write_unaudited<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        f: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.submit(WriteContext::from(tenant), EventPolicy::None, f).await?.0)
    }

    /// Queues a transaction and waits for its outcome.
    async fn submit<T: Send + 'static>(
        &self,
        context: WriteContext,
        event_policy: EventPolicy,
        f: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Option<Receipt>)> {
        let (reply, outcome) = oneshot::channel();
        let job =
            CommitJob::Transaction(Box::new(ClosureJob { context, event_policy, f, value: None, reply }));
        // If this task holds a head lease, the commit thread waits for its audit event, and this transaction would
        // wait behind it until the lease expires. So writing ends the lease: see `head_lease`.
        self.inner.leases.release_for_current_task();
        match self.backend() {
            Backend::Sqlite => self.inner.queue.push(job).await?,
            Backend::Postgres => {
                let permit = tokio::time::timeout(limits::POOL_WAIT_MAX, self.inner.write_permits.acquire());
                let _permit = permit.await.map_err(|_| pool::all_in_use())?.map_err(Error::internal)?;
                let recent_changes = self.inner.recent_changes.clone();
                let metrics = self.inner.commit_metrics.clone();
                self.inner
                    .readers
                    .run(move |connection| {
                        let started = Instant::now();
                        commit::commit_batch(connection, &recent_changes, AuditMode::Durable, vec![job]);
                        metrics.record(1, started.elapsed());
                        Ok(())
                    })
                    .await?;
            }
        }
        outcome.await.map_err(|_| Error::internal("the commit thread dropped a job"))?
    }

    /// Returns when the audit events of all answered calls are written. Call it before the process ends and before
    /// the audit log is read.
    pub async fn flush_audit(&self) -> Result<()> {
        match self.inner.audit_mode.get() {
            AuditMode::Durable => Ok(()),
            AuditMode::Async => self.inner.queue.flush_audit().await,
        }
    }

    /// The version at which all read sets are current, or the index of the first one that is not.
    async fn validate_read_sets(
        &self,
        tenant: &TenantId,
        read_sets: &[Arc<ReadSet>],
    ) -> Result<Result<Version, usize>> {
        let recent_changes = &self.inner.recent_changes;
        let validate =
            |connection: &mut Connection| commit::validate_all(connection, recent_changes, tenant, read_sets);
        match self.inner.readers.try_run_inline(limits::INLINE_READ_BUDGET, validate) {
            Some(outcome) => outcome,
            None => {
                let (recent_changes, tenant, read_sets) =
                    (recent_changes.clone(), tenant.clone(), read_sets.to_vec());
                let validate = move |connection: &mut Connection| {
                    commit::validate_all(connection, &recent_changes, &tenant, &read_sets)
                        .map_err(TxError::into_error)
                };
                self.inner.readers.run(validate).await
            }
        }
    }

    /// Copies SQLite's write-ahead log into the database file and truncates it, unless another process uses the file.
    /// For commands that have written a lot: the next process that opens the file would have to read the whole log
    /// first.
    pub async fn truncate_wal(&self) -> Result<()> {
        if self.backend() == Backend::Postgres {
            return Ok(());
        }
        self.inner
            .readers
            .run(|connection| Ok(connection.execute_script("PRAGMA wal_checkpoint(TRUNCATE)")?))
            .await
    }

    /// The ends of the chains that this process extends.
    pub fn chain_ends(&self) -> &ChainEnds {
        &self.inner.recent_changes.chain_ends
    }

    /// Commits something small where every write and audit event is committed, within
    /// [`READINESS_TIMEOUT`](limits::READINESS_TIMEOUT). The error says why the database cannot be written. It costs a
    /// sync of the disk.
    pub async fn check_writable(&self) -> Result<()> {
        let check = tokio::time::timeout(limits::READINESS_TIMEOUT, self.inner.queue.check_writable());
        check.await.unwrap_or_else(|_| Err(Error::busy("The database does not answer in time")))
    }

    /// Registers the metrics of the database.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.inner.commit_metrics.register(registry);
        registry.register_collector(Box::new(StoreCollector(self.clone())));
    }

    /// How busy the pool is.
    pub fn pool_usage(&self) -> PoolUsage {
        self.inner.readers.usage()
    }

    /// Jobs that wait for the commit thread.
    pub(crate) fn queued_jobs(&self) -> usize {
        self.inner.queue.len()
    }

    /// Audit events of answered calls that are not written yet.
    pub(crate) fn deferred_events(&self) -> usize {
        self.inner.queue.deferred_len()
    }

    /// Bytes of SQLite's write-ahead log; `None` on PostgreSQL.
    pub(crate) fn wal_bytes(&self) -> Option<u64> {
        self.inner.database_file.as_ref().map(sqlite::DatabaseFile::wal_bytes)
    }
}

#[async_trait::async_trait]
impl AuditLog for Store {
    fn append<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        match self.inner.audit_mode.get() {
            AuditMode::Durable => self.append_durable(tenant.clone(), event, read_sets, side_effect),
            AuditMode::Async => {
                PendingAppend::Future(Box::pin(self.append_deferred(tenant, event, read_sets, side_effect)))
            }
        }
    }

    async fn lease_head(
        &self,
        tenant: &TenantId,
        side_effect: Option<SideEffect>,
    ) -> Result<Option<Box<dyn HeadLease>>> {
        // In async mode a read does not wait for its event, so computing it again is faster than a lease.
        let is_durable = self.inner.audit_mode.get() == AuditMode::Durable;
        let Some(owner) = self.inner.leases.current_task().filter(|_| is_durable) else {
            return Ok(None);
        };
        let (reply, lease) = oneshot::channel();
        let request = LeaseRequest { tenant: tenant.clone(), side_effect, owner, reply };
        self.inner.queue.request_lease(request).await?;
        Ok(lease.await.ok().map(|lease| Box::new(lease) as Box<dyn HeadLease>))
    }
}

impl Store {
    /// Queues an event; the result is ready when it is committed.
    fn append_durable(
        &self,
        tenant: TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> PendingAppend<'_> {
        let (reply, receipt) = oneshot::channel();
        let audit_job = Box::new(AuditJob {
            tenant,
            event,
            side_effect,
            reply_timing: ReplyTiming::AfterCommit { read_sets, reply },
        });
        let queue = &self.inner.queue;
        match queue.try_push(CommitJob::AuditEvent(audit_job)) {
            Ok(()) => PendingAppend::Queued(receipt),
            Err(job) => PendingAppend::Future(Box::pin(async move {
                queue.push(job).await.map_err(AppendError::Failed)?;
                PendingAppend::Queued(receipt).await
            })),
        }
    }

    /// Accepts an event whose call is answered before the commit, if its read sets are current now.
    async fn append_deferred(
        &self,
        tenant: &TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> Result<Receipt, AppendError> {
        let version = match self.validate_read_sets(tenant, &read_sets).await.map_err(AppendError::Failed)? {
            Ok(version) => version,
            Err(index) => return Err(AppendError::Stale(index)),
        };
        let ulid = id::ulid().map_err(AppendError::Failed)?;
        let event_id = chain::event_id(&ulid).into();
        let reply_timing = ReplyTiming::AlreadySent { ulid, at: Timestamp::now() };
        let audit_job = AuditJob { tenant: tenant.clone(), event, side_effect, reply_timing };
        match self.inner.queue.push_deferred(Box::new(audit_job)) {
            Ok(()) => Ok(Receipt { version, sequence: None, event_id }),
            Err(audit_job) => {
                let AuditJob { tenant, event, side_effect, .. } = *audit_job;
                self.append_durable(tenant, event, read_sets, side_effect).await
            }
        }
    }
}

#[async_trait::async_trait]
impl ChangeFeed for Store {
    async fn subscribe(&self, tenant: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>> {
        let head = self.read(tenant, |snapshot| Ok(snapshot.version())).await?;
        Ok(self.inner.recent_changes.subscribe(tenant, head))
    }
}

/// A queued closure, its value and the channel of the caller.
struct ClosureJob<T, F> {
    context: WriteContext,
    event_policy: EventPolicy,
    f: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<(T, Option<Receipt>)>>,
}

impl<T: Send, F: FnMut(&mut Tx<'_>) -> Result<T> + Send> TransactionJob for ClosureJob<T, F> {
    fn tenant(&self) -> &TenantId {
        &self.context.tenant
    }

    fn credential_read_set(&self) -> Option<&ReadSet> {
        self.context.credential_read_set.as_deref()
    }

    fn event_policy(&self) -> &EventPolicy {
        &self.event_policy
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.value = None;
        self.value = Some((self.f)(tx)?);
        Ok(())
    }

    fn complete(self: Box<Self>, outcome: Result<Option<Receipt>>) {
        let ClosureJob { value, reply, .. } = *self;
        let outcome = outcome.and_then(|receipt| {
            let value =
                value.ok_or_else(|| Error::internal("a transaction was committed without a value"))?;
            Ok((value, receipt))
        });
        // If the caller is gone, the write stays committed.
        let _ = reply.send(outcome);
    }
}

pub(crate) fn run_snapshot<T>(
    connection: &mut Connection,
    tenant: &TenantId,
    f: &mut impl FnMut(&mut Snapshot<'_>) -> Result<T>,
) -> Result<T, TxError> {
    connection.begin_read()?;
    let outcome = head::version(connection, tenant).map_err(TxError::from).and_then(|version| {
        // An unknown tenant has no rows; it reads as an empty one.
        let mut snapshot = Snapshot::new(connection, tenant, version.unwrap_or(Version(0)));
        f(&mut snapshot).map_err(|error| TxError::of_closure(error, snapshot.saw_retryable()))
    });
    // Nothing was written. A rollback, unlike a commit, also works after a failed statement.
    connection.rollback();
    outcome
}

/// The first connection. Its errors are for the operator, who has just started the program.
fn connect_first(location: &Location, runtime: &Handle) -> Result<Connection> {
    let unavailable =
        |message: String| Error::new(quad_core::Kind::Internal, "DATABASE_UNAVAILABLE", message);
    match location {
        Location::Sqlite(file) => sqlite::Conn::open(file).map(Connection::Sqlite).map_err(|error| {
            let hint =
                format!("Check that {} is a quad database and that you may write to it", file.display());
            match error {
                DbError::DiskFull(_) | DbError::ReadOnly(_) | DbError::Io(_) => Error::from(error).hint(hint),
                error => {
                    unavailable("The database file cannot be opened".to_owned()).hint(hint).with_cause(error)
                }
            }
        }),
        Location::Postgres(url) => {
            postgres::Conn::open(url, runtime).map(Connection::Postgres).map_err(|error| {
                unavailable(format!("PostgreSQL: {error}"))
                    .hint("Check --database-url and that the server runs; it needs version 15 or newer")
                    .with_cause(error)
            })
        }
    }
}

/// A further connection to the database of the first one.
fn connect_again(
    location: &Location,
    database_file: Option<&sqlite::DatabaseFile>,
    runtime: &Handle,
) -> Result<Connection> {
    Ok(match (location, database_file) {
        (Location::Postgres(url), _) => Connection::Postgres(postgres::Conn::open(url, runtime)?),
        (Location::Sqlite(_), Some(file)) => Connection::Sqlite(sqlite::Conn::open_same(file.clone())?),
        (Location::Sqlite(path), None) => Connection::Sqlite(sqlite::Conn::open(path)?),
    })
}

fn open(location: Location, components: &[Component], runtime: &Handle) -> Result<Store> {
    let mut connection = connect_first(&location, runtime)?;
    let database_file = match &connection {
        Connection::Sqlite(conn) => Some(conn.file().clone()),
        Connection::Postgres(_) => None,
    };
    let connect = {
        let (location, runtime, database_file) = (location.clone(), runtime.clone(), database_file.clone());
        move || connect_again(&location, database_file.as_ref(), &runtime)
    };
    migrate::migrate(&mut connection, components)?;
    connection.set_page_cache(limits::WRITER_CACHE_KIB)?;
    let recent_changes = Arc::new(RecentChanges::default());
    let max_connections = match location {
        Location::Sqlite(_) => limits::SQLITE_READERS,
        Location::Postgres(_) => limits::POSTGRES_CONNECTIONS,
    };
    let readers = Pool::new(max_connections, connect.clone());
    let checkpoint_signal = match location {
        Location::Sqlite(_) => {
            let signal = Arc::new(CheckpointSignal::default());
            wal_checkpoint::start(connect.clone(), &signal)?;
            Some(signal)
        }
        Location::Postgres(_) => None,
    };
    let audit_mode = Arc::new(AtomicAuditMode::default());
    let commit_metrics = CommitMetrics::default();
    let queue = commit_thread::start(
        connect.clone(),
        connection,
        recent_changes.clone(),
        audit_mode.clone(),
        checkpoint_signal,
        commit_metrics.clone(),
        runtime.clone(),
    )?;
    let write_permits = Semaphore::new(limits::POSTGRES_CONNECTIONS - limits::POSTGRES_CONNECTIONS_FOR_READS);
    let leases = Arc::default();
    let inner = Arc::new(Inner {
        location,
        readers,
        write_permits,
        leases,
        queue,
        recent_changes,
        audit_mode,
        commit_metrics,
        database_file,
    });
    runtime.spawn(poll_change_log(Arc::downgrade(&inner)));
    Ok(Store { inner })
}

/// Polls for commits of other processes, for tenants with subscribers.
async fn poll_change_log(store: Weak<Inner>) {
    let mut last_data_version = None;
    loop {
        tokio::time::sleep(limits::POLL_INTERVAL).await;
        let Some(inner) = store.upgrade() else { return };
        let subscribed = inner.recent_changes.subscribed_tenants();
        if subscribed.is_empty() {
            continue;
        }
        let recent_changes = inner.recent_changes.clone();
        let outcome = inner.readers.run(move |connection| {
            // On SQLite one number tells whether any other connection has committed.
            if let Connection::Sqlite(conn) = connection {
                let current = conn.data_version()?;
                if last_data_version == Some(current) {
                    return Ok(last_data_version);
                }
            }
            for (tenant, loaded_version) in subscribed {
                let Some(head) = head::version(connection, &tenant)? else { continue };
                if head > loaded_version {
                    let changes = change_log::load_after(connection, &tenant, loaded_version)?;
                    // A change may be newer than the head row that was read; `extend` leaves it to the next poll.
                    recent_changes.extend(&tenant, loaded_version, head, &changes);
                }
            }
            Ok(None)
        });
        match outcome.await {
            Ok(data_version) => last_data_version = data_version,
            Err(error) => tracing::debug!(cause = error.cause_chain(), "change-log poll failed"),
        }
    }
}
