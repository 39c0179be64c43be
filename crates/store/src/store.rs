//! The store itself: open it, read from it, write to it, listen to it.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use quad_core::{
    ReadSets, ReadSet, BoxFuture, Change, SideEffect, Error, EventDraft, ChangeFeed, HeadLease, AuditLog, AppendError, Principal,
    Receipt, PendingAppend, Result, TenantId, Timestamp, Version, id,
};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, broadcast, oneshot};

use crate::audit_mode::Chosen;
use crate::checkpointer::{self, Log};
use crate::commit::{self, Answer, Job, Record, Telling, Work};
use crate::connection::{Connection, postgres, sqlite};
use crate::feed::Mirror;
use crate::hold::{Holders, Wanted};
use crate::migrate::{self, Component};
use crate::pool::Pool;
use crate::sql::{Snapshot, Sql, Tx};
use crate::writer::{self, Queue};
use crate::{AuditMode, Backend, chain, change, head, limits};

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Location {
    /// A file; its folder must exist.
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
    /// Snapshots. On PostgreSQL mutations commit here too, each on a connection of its own.
    readers: Pool,
    /// How many mutations may be on such connections.
    mutations: Semaphore,
    holders: Arc<Holders>,
    queue: Queue,
    mirror: Arc<Mirror>,
    audit: Arc<Chosen>,
}

/// On whose behalf a transaction writes.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Whose rows.
    pub tenant: TenantId,
    /// What the caller's credential rests on; the commit checks it.
    pub proof: Option<Arc<ReadSet>>,
}

impl From<&Principal> for Writer {
    fn from(caller: &Principal) -> Writer {
        Writer { tenant: caller.tenant.clone(), proof: caller.credential_read_set.clone() }
    }
}

impl From<&TenantId> for Writer {
    fn from(tenant: &TenantId) -> Writer {
        Writer { tenant: tenant.clone(), proof: None }
    }
}

impl Store {
    /// Opens the database and brings it up to date. Must be called on a tokio runtime.
    pub async fn open(location: Location, components: &[Component]) -> Result<Store> {
        let mut all = vec![migrate::STORE];
        all.extend_from_slice(components);
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || open(location, &all, &runtime))
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

    /// Chooses when the audit events of reads are safe, from the next commit on.
    pub fn set_audit_mode(&self, mode: AuditMode) {
        self.inner.audit.set(mode);
    }

    pub(crate) fn location(&self) -> &Location {
        &self.inner.location
    }

    /// Runs `work` in one snapshot, whose first statement reads the version. It may run more than once.
    pub async fn read<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        mut work: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let tenant = tenant.clone();
        self.inner
            .readers
            .run(move |connection| {
                for attempt in 1.. {
                    connection.take_was_busy();
                    let outcome = snapshot(connection, &tenant, &mut work);
                    match outcome {
                        Err(_)
                            if connection.take_was_busy()
                                && attempt < limits::ATTEMPTS
                                && connection.is_alive() =>
                        {
                            std::thread::sleep(Duration::from_millis(1 << attempt));
                        }
                        outcome => return outcome,
                    }
                }
                Err(Error::internal("a read was never tried"))
            })
            .await
    }

    /// The same for work that looks at few rows and does little with them: no other thread has to be woken for it where the
    /// database is a file. If it takes longer than expected it begins again as any other.
    pub async fn glance<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        mut work: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let glance = |connection: &mut Connection| snapshot(connection, tenant, &mut work);
        match self.inner.readers.run_here(limits::GLANCE_TIME, glance) {
            Some(outcome) => outcome,
            None => self.read(tenant, work).await,
        }
    }

    /// Runs `work` in one transaction that also holds the change and the audit event. It may run more than once; nothing
    /// of a failed run remains.
    pub async fn write<T: Send + 'static>(
        &self,
        writer: &Writer,
        event: EventDraft,
        work: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Receipt)> {
        let (value, receipt) = self.submit(writer.clone(), Telling::One(Box::new(event)), work).await?;
        let receipt = receipt.ok_or_else(|| Error::internal("a commit without a receipt"))?;
        Ok((value, receipt))
    }

    /// The same for work that is several steps, each of which is an event of its own: it tells them with [`Tx::tell`], at least
    /// one.
    pub async fn write_told<T: Send + 'static>(
        &self,
        writer: &Writer,
        work: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.submit(writer.clone(), Telling::Itself, work).await?.0)
    }

    /// Runs `work` in one transaction that advances no version, announces nothing and leaves no event: for what is nobody's
    /// business but the server's. It must touch nothing that anybody reads.
    pub async fn jot<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.submit(Writer::from(tenant), Telling::Nothing, work).await?.0)
    }

    async fn submit<T: Send + 'static>(
        &self,
        writer: Writer,
        telling: Telling,
        work: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Option<Receipt>)> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Work(Box::new(Closure { writer, telling, work, value: None, reply }));
        self.inner.holders.give_up();
        match self.backend() {
            Backend::Sqlite => self.inner.queue.push(job).await?,
            Backend::Postgres => {
                let _permit = self.inner.mutations.acquire().await.map_err(Error::internal)?;
                let mirror = self.inner.mirror.clone();
                self.inner
                    .readers
                    .run(move |connection| {
                        commit::run(connection, &mirror, AuditMode::Durable, vec![job]);
                        Ok(())
                    })
                    .await?;
            }
        }
        answer.await.map_err(|_| Error::internal("the database writer dropped a job"))?
    }

    /// Returns when the events of all calls that have been answered are written: before the process ends, and before somebody
    /// looks at the trail.
    pub async fn settle(&self) -> Result<()> {
        match self.inner.audit.get() {
            AuditMode::Durable => Ok(()),
            AuditMode::Async => self.inner.queue.settle().await,
        }
    }

    /// Whether all of `bases` holds now, and at which version.
    async fn check(&self, tenant: &TenantId, bases: &[Arc<ReadSet>]) -> Result<Result<Version, usize>> {
        let mirror = &self.inner.mirror;
        let check =
            |connection: &mut Connection| commit::check(connection, mirror, tenant, bases, Timestamp::now());
        match self.inner.readers.run_here(limits::GLANCE_TIME, check) {
            Some(outcome) => outcome,
            None => {
                let (mirror, tenant, bases) = (mirror.clone(), tenant.clone(), bases.to_vec());
                let work = move |connection: &mut Connection| {
                    commit::check(connection, &mirror, &tenant, &bases, Timestamp::now())
                };
                self.inner.readers.run(work).await
            }
        }
    }

    /// Copies all of SQLite's write-ahead log into the database file and empties it, if nobody else is using it: for commands that
    /// have written much, since whoever opens the file next would have to read the log first.
    pub async fn tidy(&self) -> Result<()> {
        if self.backend() == Backend::Postgres {
            return Ok(());
        }
        self.inner.readers.run(|connection| Ok(connection.batch("PRAGMA wal_checkpoint(TRUNCATE)")?)).await
    }

    /// Whether the database answers.
    pub async fn is_ready(&self) -> bool {
        self.read(&TenantId::system(), |snapshot| Ok(snapshot.query_opt("SELECT 1", &[])?.is_some()))
            .await
            .unwrap_or(false)
    }
}

impl AuditLog for Store {
    fn append<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        bases: Vec<Arc<ReadSet>>,
    ) -> BoxFuture<'a, Result<Receipt, AppendError>> {
        Box::pin(self.append_with_side_effect(tenant, event, bases.into(), None))
    }

    fn append_with_side_effect<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        bases: ReadSets,
        errand: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        match self.inner.audit.get() {
            AuditMode::Durable => self.record_first(tenant.clone(), event, bases, errand),
            AuditMode::Async => PendingAppend::Future(Box::pin(self.record_later(tenant, event, bases, errand))),
        }
    }

    fn lease_head<'a>(
        &'a self,
        tenant: &'a TenantId,
        errand: Option<SideEffect>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn HeadLease>>>> {
        Box::pin(async move {
            // An answer that need not wait for its event is computed anew sooner than anybody can be held.
            let waits = self.inner.audit.get() == AuditMode::Durable;
            let Some(holder) = self.inner.holders.this_call().filter(|_| waits) else { return Ok(None) };
            let (granted, held) = oneshot::channel();
            let wanted = Wanted { tenant: tenant.clone(), errand, holder, granted };
            self.inner.queue.push_hold(wanted).await?;
            Ok(held.await.ok().map(|held| Box::new(held) as Box<dyn HeadLease>))
        })
    }
}

impl Store {
    /// Hands an event to the writer, who tells when it is written.
    fn record_first(
        &self,
        tenant: TenantId,
        event: EventDraft,
        bases: ReadSets,
        errand: Option<SideEffect>,
    ) -> PendingAppend<'_> {
        let (reply, receipt) = oneshot::channel();
        let record = Box::new(Record { tenant, event, errand, answer: Answer::Waits { bases, reply } });
        let queue = &self.inner.queue;
        match queue.try_push(Job::Record(record)) {
            Ok(()) => PendingAppend::Queued(receipt),
            Err(job) => PendingAppend::Future(Box::pin(async move {
                queue.push(job).await.map_err(AppendError::Failed)?;
                PendingAppend::Queued(receipt).await
            })),
        }
    }

    /// Takes an event whose call is answered first, if all of `bases` holds.
    async fn record_later(
        &self,
        tenant: &TenantId,
        event: EventDraft,
        bases: ReadSets,
        errand: Option<SideEffect>,
    ) -> Result<Receipt, AppendError> {
        let version = match self.check(tenant, &bases).await.map_err(AppendError::Failed)? {
            Ok(version) => version,
            Err(number) => return Err(AppendError::Stale(number)),
        };
        let ulid = id::ulid().map_err(AppendError::Failed)?;
        let event_id = chain::event_id(&ulid).into();
        let answer = Answer::Given { ulid, at: Timestamp::now() };
        let record = Record { tenant: tenant.clone(), event, errand, answer };
        match self.inner.queue.push_later(Box::new(record)) {
            Ok(()) => Ok(Receipt { version, sequence: None, event_id }),
            Err(record) => {
                let Record { tenant, event, errand, .. } = *record;
                self.record_first(tenant, event, bases, errand).await
            }
        }
    }
}

impl ChangeFeed for Store {
    fn subscribe<'a>(&'a self, tenant: &'a TenantId) -> BoxFuture<'a, Result<broadcast::Receiver<Arc<Change>>>> {
        Box::pin(async move {
            let head = self.read(tenant, |snapshot| Ok(snapshot.version())).await?;
            Ok(self.inner.mirror.listen(tenant, head))
        })
    }
}

/// A closure on its way to the writer, with the place where its value goes.
struct Closure<T, F> {
    writer: Writer,
    telling: Telling,
    work: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<(T, Option<Receipt>)>>,
}

impl<T: Send, F: FnMut(&mut Tx<'_>) -> Result<T> + Send> Work for Closure<T, F> {
    fn tenant(&self) -> &TenantId {
        &self.writer.tenant
    }

    fn proof(&self) -> Option<&ReadSet> {
        self.writer.proof.as_deref()
    }

    fn telling(&self) -> &Telling {
        &self.telling
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.value = None;
        self.value = Some((self.work)(tx)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<Option<Receipt>>) {
        let Closure { value, reply, .. } = *self;
        let outcome = outcome.and_then(|receipt| {
            let value = value.ok_or_else(|| Error::internal("a commit without a value"))?;
            Ok((value, receipt))
        });
        // A caller that has gone away does not undo its write.
        let _ = reply.send(outcome);
    }
}

fn snapshot<T>(
    connection: &mut Connection,
    tenant: &TenantId,
    work: &mut impl FnMut(&mut Snapshot<'_>) -> Result<T>,
) -> Result<T> {
    connection.begin_read()?;
    let outcome = head::version(connection, tenant).map_err(Error::from).and_then(|version| {
        // A tenant that does not exist has no rows to show.
        let version = version.unwrap_or(Version(0));
        let mut snapshot = Snapshot { connection: &mut *connection, tenant, version };
        work(&mut snapshot)
    });
    // Nothing was written, so there is nothing to commit; a rollback also works after a failed statement.
    connection.rollback();
    outcome
}

fn open(location: Location, components: &[Component], runtime: &Handle) -> Result<Store> {
    let connect = {
        let location = location.clone();
        let runtime = runtime.clone();
        move || -> Result<Connection> {
            Ok(match &location {
                Location::Sqlite(file) => Connection::Sqlite(sqlite::Conn::open(file).map_err(|error| {
                    Error::new(
                        quad_core::Kind::Internal,
                        "DATABASE_UNAVAILABLE",
                        "The database file cannot be opened",
                    )
                    .hint(format!(
                        "Check that {} is a quad database and that you may write to it",
                        file.display()
                    ))
                    .with_cause(error)
                })?),
                Location::Postgres(url) => {
                    Connection::Postgres(postgres::Conn::open(url, &runtime).map_err(|error| {
                        Error::new(
                            quad_core::Kind::Internal,
                            "DATABASE_UNAVAILABLE",
                            format!("PostgreSQL: {error}"),
                        )
                        .hint("Check --database-url and that the server runs; it needs version 15 or newer")
                        .with_cause(error)
                    })?)
                }
            })
        }
    };
    let mut connection = connect()?;
    migrate::migrate(&mut connection, components)?;
    connection.keep_pages(limits::WRITER_CACHE_KIB)?;
    let mirror = Arc::new(Mirror::default());
    let most = match location {
        Location::Sqlite(_) => limits::SQLITE_READERS,
        Location::Postgres(_) => limits::POSTGRES_CONNECTIONS,
    };
    let readers = Pool::new(most, connect.clone());
    let log = match location {
        Location::Sqlite(_) => {
            let log = Arc::new(Log::default());
            checkpointer::start(connect.clone(), &log)?;
            Some(log)
        }
        Location::Postgres(_) => None,
    };
    let audit = Arc::new(Chosen::default());
    let queue =
        writer::start(connect.clone(), connection, mirror.clone(), audit.clone(), log, runtime.clone())?;
    let mutations = Semaphore::new(limits::POSTGRES_CONNECTIONS - limits::POSTGRES_CONNECTIONS_FOR_READS);
    let holders = Arc::default();
    let inner = Arc::new(Inner { location, readers, mutations, holders, queue, mirror, audit });
    runtime.spawn(poll(Arc::downgrade(&inner)));
    Ok(Store { inner })
}

/// Looks for commits of other processes while somebody listens.
async fn poll(store: Weak<Inner>) {
    let mut last_seen = None;
    loop {
        tokio::time::sleep(limits::POLL_INTERVAL).await;
        let Some(inner) = store.upgrade() else { return };
        let heard = inner.mirror.heard();
        if heard.is_empty() {
            continue;
        }
        let mirror = inner.mirror.clone();
        let outcome = inner.readers.run(move |connection| {
            // On SQLite a number tells whether anybody has committed at all.
            if let Connection::Sqlite(conn) = connection {
                let now = conn.data_version()?;
                if last_seen == Some(now) {
                    return Ok(last_seen);
                }
            }
            for (tenant, known) in heard {
                let Some(head) = head::version(connection, &tenant)? else { continue };
                if head > known {
                    let changes = change::since(connection, &tenant, known)?;
                    // The newest change may be younger than the head that was read; it belongs to the next look.
                    mirror.extend(&tenant, known, head, &changes);
                }
            }
            Ok(None)
        });
        match outcome.await {
            Ok(seen) => last_seen = seen,
            Err(error) => tracing::debug!(cause = error.cause_chain(), "looking for changes failed"),
        }
    }
}
