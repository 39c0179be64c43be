//! One commit: a group of jobs in one transaction.
//!
//! Work first, each job in its own savepoint; then, tenant by tenant in order, the head is locked, every job that went
//! well gets its version and its link in the chain, and every record is checked: an answer that a newer change has
//! touched leaves the group and is computed again. Then the commit, and only after it does anybody hear of anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::audit_fields::AuditFields;
use quad_core::id::UlidGenerator;
use quad_core::{
    AppendError, Change, Error, EventDraft, Kind, ReadSet, ReadSets, Receipt, Result, SideEffect, Tag,
    TenantId, Timestamp, Version,
};
use tokio::sync::oneshot;

use crate::connection::Connection;
use crate::recent_changes::RecentChanges;
use crate::sql::Tx;
use crate::{AuditMode, Backend, chain, change_log, head, limits};

/// Something to be done in a commit.
pub(crate) enum CommitJob {
    Transaction(Box<dyn TransactionJob>),
    AuditEvent(Box<AuditJob>),
}

/// What the audit trail hears of work.
pub(crate) enum EventPolicy {
    /// Nothing: it advances no version and is announced to nobody.
    None,
    /// One event, named before the work begins.
    Single(Box<EventDraft>),
    /// What the work tells with [`Tx::tell`].
    FromTx,
}

/// A closure that writes.
pub(crate) trait TransactionJob: Send {
    fn tenant(&self) -> &TenantId;
    /// What the caller's credential rests on.
    fn credential_read_set(&self) -> Option<&ReadSet>;
    fn event_policy(&self) -> &EventPolicy;
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()>;
    fn complete(self: Box<Self>, outcome: Result<Option<Receipt>>);
}

/// An audit event of something that wrote nothing.
pub(crate) struct AuditJob {
    pub(crate) tenant: TenantId,
    pub(crate) event: EventDraft,
    pub(crate) side_effect: Option<SideEffect>,
    pub(crate) reply_timing: ReplyTiming,
}

/// How far the answer is that an event is about.
pub(crate) enum ReplyTiming {
    /// It waits for the event, and for the word that what it rests on still holds.
    AfterCommit { read_sets: ReadSets, reply: oneshot::Sender<Result<Receipt, AppendError>> },
    /// It was given at that time, with this id for its event: nothing can make it stale any more.
    AlreadySent { ulid: String, at: Timestamp },
}

impl ReplyTiming {
    fn read_sets(&self) -> &[Arc<ReadSet>] {
        match self {
            ReplyTiming::AfterCommit { read_sets, .. } => read_sets,
            ReplyTiming::AlreadySent { .. } => &[],
        }
    }
}

/// What a group leaves behind.
#[derive(Default)]
pub(crate) struct BatchRemainder {
    /// Jobs that no longer fitted into its time: for the next.
    pub(crate) requeue: Vec<CommitJob>,
    /// Events of answers that were given, if the commit failed.
    pub(crate) unwritten_events: VecDeque<Box<AuditJob>>,
}

impl CommitJob {
    fn is_audit_only(&self) -> bool {
        matches!(self, CommitJob::AuditEvent(_))
    }

    fn tenant(&self) -> &TenantId {
        match self {
            CommitJob::Transaction(transaction) => transaction.tenant(),
            CommitJob::AuditEvent(audit_job) => &audit_job.tenant,
        }
    }

    fn complete(self, job_outcome: JobOutcome) {
        match self {
            CommitJob::Transaction(transaction) => transaction.complete(match job_outcome {
                JobOutcome::Committed(receipt) => Ok(receipt),
                JobOutcome::Failed(error) => Err(error),
                JobOutcome::Stale(_) => Err(credential_changed()),
            }),
            CommitJob::AuditEvent(audit_job) => {
                let outcome = match job_outcome {
                    JobOutcome::Committed(Some(receipt)) => Ok(receipt),
                    JobOutcome::Committed(None) => {
                        Err(AppendError::Failed(Error::internal("a record without a receipt")))
                    }
                    JobOutcome::Failed(error) => Err(AppendError::Failed(error)),
                    JobOutcome::Stale(index) => Err(AppendError::Stale(index)),
                };
                match (audit_job.reply_timing, outcome) {
                    // A caller that has gone away has no use for its receipt; the event stays.
                    (ReplyTiming::AfterCommit { reply, .. }, outcome) => drop(reply.send(outcome)),
                    (ReplyTiming::AlreadySent { .. }, Ok(_) | Err(AppendError::Stale(_))) => {}
                    (ReplyTiming::AlreadySent { .. }, Err(AppendError::Failed(error))) => {
                        tracing::error!(
                            cause = error.cause_chain(),
                            "an event of an answered call was refused"
                        );
                    }
                }
            }
        }
    }
}

/// What became of a job.
enum JobOutcome {
    Committed(Option<Receipt>),
    Failed(Error),
    Stale(usize),
}

/// What a job left for the head.
enum ExecutedJob {
    /// A record, and whether its errand was run.
    AuditEvent { side_effect_ran: bool },
    /// Work.
    Transaction(Box<TxResult>),
}

/// What work has done.
struct TxResult {
    tags: Vec<Tag>,
    outputs: AuditFields,
    events: Vec<EventDraft>,
}

/// Runs a group to its end and answers every job in it, except those that it leaves behind.
pub(crate) fn commit_batch(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    mode: AuditMode,
    mut jobs: Vec<CommitJob>,
) -> BatchRemainder {
    for attempt in 1.. {
        connection.take_retryable();
        match try_commit_batch(connection, recent_changes, mode, &mut jobs) {
            Ok((outcomes, committed)) => {
                for (tenant, version_before, version, changes) in committed {
                    recent_changes.extend(&tenant, version_before, version, &changes);
                }
                let requeue = jobs.split_off(outcomes.len());
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    job.complete(outcome);
                }
                return BatchRemainder { requeue, unwritten_events: VecDeque::new() };
            }
            Err(error) => {
                connection.rollback();
                let retryable = connection.take_retryable();
                if retryable && attempt < limits::TX_ATTEMPTS_MAX && connection.is_alive() {
                    std::thread::sleep(Duration::from_millis(1 << attempt));
                    continue;
                }
                return BatchRemainder { requeue: Vec::new(), unwritten_events: fail_all(jobs, error) };
            }
        }
    }
    BatchRemainder::default()
}

/// Answers every job that waits with a failure, and hands back what has been answered. All but the first get a failure of their
/// own making, since an error is not shared.
fn fail_all(jobs: Vec<CommitJob>, error: Error) -> VecDeque<Box<AuditJob>> {
    let mut unwritten_events = VecDeque::new();
    let mut error = Some(error);
    for job in jobs {
        match job {
            CommitJob::AuditEvent(audit_job)
                if matches!(audit_job.reply_timing, ReplyTiming::AlreadySent { .. }) =>
            {
                unwritten_events.push_back(audit_job)
            }
            job => {
                let error =
                    error.take().unwrap_or_else(|| Error::internal("another job of the same commit failed"));
                job.complete(JobOutcome::Failed(error));
            }
        }
    }
    if let (Some(error), false) = (error, unwritten_events.is_empty()) {
        tracing::error!(cause = error.cause_chain(), "events of answered calls could not be written yet");
    }
    unwritten_events
}

/// Writes the events of answers for which the heads are held, in the transaction that holds them, if at least so many can be written.
pub(crate) fn commit_leased(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    jobs: Vec<CommitJob>,
    min_events: usize,
    now: Timestamp,
) {
    let executed = jobs.iter().map(|_| Ok(ExecutedJob::AuditEvent { side_effect_ran: false })).collect();
    let result =
        append_events(connection, recent_changes, &jobs, executed, now).and_then(|(mut outcomes, _)| {
            let is_committed = |outcome: &&mut JobOutcome| matches!(outcome, JobOutcome::Committed(_));
            if outcomes.iter_mut().filter(is_committed).count() >= min_events.max(1) {
                connection.commit()?;
            } else {
                connection.rollback();
                outcomes.iter_mut().filter(is_committed).for_each(|outcome| *outcome = JobOutcome::Stale(0));
            }
            Ok(outcomes)
        });
    match result {
        Ok(outcomes) => jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| job.complete(outcome)),
        Err(error) => {
            connection.rollback();
            fail_all(jobs, error);
        }
    }
}

/// For each tenant: its version before and after the commit, and what lies between.
type CommittedChanges = Vec<(TenantId, Version, Version, Vec<Arc<Change>>)>;

fn try_commit_batch(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    mode: AuditMode,
    jobs: &mut [CommitJob],
) -> Result<(Vec<JobOutcome>, CommittedChanges)> {
    let now = Timestamp::now();
    connection.set_sync_commit(mode == AuditMode::Durable || !jobs.iter().all(CommitJob::is_audit_only))?;
    connection.begin_write()?;
    let executed = execute_jobs(connection, recent_changes, jobs, now)?;
    let jobs = &jobs[..executed.len()];
    if executed.iter().all(|result| matches!(result, Err(JobOutcome::Failed(_) | JobOutcome::Stale(_)))) {
        connection.rollback();
        let outcomes =
            executed.into_iter().map(|result| result.err().unwrap_or(JobOutcome::Committed(None))).collect();
        return Ok((outcomes, Vec::new()));
    }
    let committed = append_events(connection, recent_changes, jobs, executed, now)?;
    connection.commit()?;
    Ok(committed)
}

/// Runs the work of the group, until its time is up. The result covers the jobs that were reached.
fn execute_jobs(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    jobs: &mut [CommitJob],
    now: Timestamp,
) -> Result<Vec<Result<ExecutedJob, JobOutcome>>> {
    let started = Instant::now();
    // With a single job the transaction is savepoint enough.
    let use_savepoints = jobs.len() > 1;
    let mut pending_changes: BTreeMap<TenantId, Vec<Arc<Change>>> = BTreeMap::new();
    let mut executed = Vec::with_capacity(jobs.len());
    let mut sorted_side_effects = run_side_effects_sorted(connection, recent_changes, jobs, now)?;
    for (index, job) in jobs.iter_mut().enumerate() {
        let transaction = match job {
            CommitJob::Transaction(transaction) => transaction,
            CommitJob::AuditEvent(audit_job) => {
                let side_effect_ran = match sorted_side_effects.remove(&index) {
                    Some(was_run) => was_run,
                    None => {
                        let pending =
                            pending_changes.get(&audit_job.tenant).map_or(&[] as &[_], Vec::as_slice);
                        run_side_effect(connection, recent_changes, audit_job, pending, now)?
                    }
                };
                executed.push(Ok(ExecutedJob::AuditEvent { side_effect_ran }));
                continue;
            }
        };
        if !executed.is_empty() && started.elapsed() > limits::BATCH_EXEC_MAX {
            break;
        }
        let tenant = transaction.tenant().clone();
        let stored_version = head::version(connection, &tenant)?;
        let version = stored_version.unwrap_or(Version(0));
        let pending = pending_changes.get(&tenant).map_or(&[] as &[_], Vec::as_slice);
        if let Some(credential) = transaction.credential_read_set()
            && !is_current(connection, recent_changes, &tenant, credential, version, pending, now)?
        {
            executed.push(Err(JobOutcome::Stale(0)));
            continue;
        }
        if use_savepoints {
            connection.transaction_control("SAVEPOINT job")?;
        }
        let mut tx = Tx {
            connection: &mut *connection,
            tenant: &tenant,
            version,
            now,
            tags: Vec::new(),
            outputs: AuditFields::default(),
            events: Vec::new(),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| transaction.run(&mut tx)))
            .unwrap_or_else(|_| Err(Error::internal("a job panicked inside its transaction")));
        let Tx { tags, outputs, events, .. } = tx;
        // Only the job that makes a tenant may begin without its head, and then it has made one.
        let outcome = match outcome {
            Ok(()) if stored_version.is_none() && head::version(connection, &tenant)?.is_none() => {
                Err(head::unknown_tenant())
            }
            Ok(()) if matches!(transaction.event_policy(), EventPolicy::FromTx) && events.is_empty() => {
                Err(Error::internal("work that was to tell its events has told none"))
            }
            // Whoever has read what it changes would go on with the old.
            Ok(()) if matches!(transaction.event_policy(), EventPolicy::None) && !tags.is_empty() => {
                Err(Error::internal("work that is announced to nobody has touched what others read"))
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => {
                if use_savepoints {
                    connection.transaction_control("RELEASE job")?;
                }
                let change = Change { version: Version(i64::MAX), tags: tags.clone() };
                pending_changes.entry(tenant).or_default().push(Arc::new(change));
                executed.push(Ok(ExecutedJob::Transaction(Box::new(TxResult { tags, outputs, events }))));
            }
            // The statement that failed may succeed when all of it is done again.
            Err(error) if !use_savepoints && peek_retryable(connection) => return Err(error),
            Err(error) => {
                if use_savepoints {
                    connection.transaction_control("ROLLBACK TO job")?;
                    connection.transaction_control("RELEASE job")?;
                }
                executed.push(Err(JobOutcome::Failed(error)));
            }
        }
    }
    Ok(executed)
}

/// On PostgreSQL, where several processes record at once, errands are run before all else and in one order, so that no two of
/// these processes wait for each other. Says by the jobs' numbers which were run.
fn run_side_effects_sorted(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    jobs: &[CommitJob],
    now: Timestamp,
) -> Result<BTreeMap<usize, bool>> {
    let mut ran_by_index = BTreeMap::new();
    if connection.backend() == Backend::Sqlite {
        return Ok(ran_by_index);
    }
    let mut side_effects: Vec<(&TenantId, i64, usize, &AuditJob)> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        if let CommitJob::AuditEvent(audit_job) = job
            && let Some(side_effect) = &audit_job.side_effect
        {
            side_effects.push((&audit_job.tenant, side_effect.lock_order, index, audit_job));
        }
    }
    side_effects.sort_unstable_by_key(|(tenant, order, index, _)| (*tenant, *order, *index));
    for (_, _, index, audit_job) in side_effects {
        ran_by_index.insert(index, run_side_effect(connection, recent_changes, audit_job, &[], now)?);
    }
    Ok(ran_by_index)
}

/// Runs the errand of a record whose answer still holds, and says whether it did. It belongs to the work and not behind the
/// head: a row that another transaction holds while it waits for the head must not be waited for with the head in hand.
fn run_side_effect(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    audit_job: &AuditJob,
    pending: &[Arc<Change>],
    now: Timestamp,
) -> Result<bool> {
    let Some(side_effect) = &audit_job.side_effect else { return Ok(false) };
    let version = head::version(connection, &audit_job.tenant)?.unwrap_or(Version(0));
    for read_set in audit_job.reply_timing.read_sets() {
        if !is_current(connection, recent_changes, &audit_job.tenant, read_set, version, pending, now)? {
            return Ok(false);
        }
    }
    crate::side_effect::run(connection, &audit_job.tenant, version, now, side_effect)?;
    Ok(true)
}

/// Peeks at the flag and leaves it set for [`run`].
fn peek_retryable(connection: &mut Connection) -> bool {
    let retryable = connection.take_retryable();
    set_retryable(connection, retryable);
    retryable
}

fn set_retryable(connection: &mut Connection, retryable: bool) {
    match connection {
        Connection::Sqlite(conn) => conn.retryable = retryable,
        Connection::Postgres(conn) => conn.retryable = retryable,
    }
}

/// Locks the heads in tenant order and gives every job its place.
fn append_events(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    jobs: &[CommitJob],
    executed: Vec<Result<ExecutedJob, JobOutcome>>,
    now: Timestamp,
) -> Result<(Vec<JobOutcome>, CommittedChanges)> {
    let mut outcomes: Vec<Option<JobOutcome>> = Vec::with_capacity(executed.len());
    let mut executed_jobs: Vec<Option<ExecutedJob>> = Vec::with_capacity(executed.len());
    for result in executed {
        match result {
            Ok(executed_job) => {
                outcomes.push(None);
                executed_jobs.push(Some(executed_job));
            }
            Err(outcome) => {
                outcomes.push(Some(outcome));
                executed_jobs.push(None);
            }
        }
    }
    let mut committed = Vec::new();
    let mut ids = UlidGenerator::new()?;
    let tenants: BTreeSet<&TenantId> =
        jobs.iter().filter(|job| emits_event(job)).map(CommitJob::tenant).collect();
    for tenant in tenants {
        let Some(old_head) = head::lock(connection, tenant)? else {
            // Only records can be left: work for an unknown tenant was refused when it ran.
            for (index, _) in jobs.iter().enumerate().filter(|(_, job)| job.tenant() == tenant) {
                executed_jobs[index] = None;
                outcomes[index].get_or_insert_with(|| JobOutcome::Failed(head::unknown_tenant()));
            }
            continue;
        };
        let mut head = old_head.clone();
        let tenant_jobs = || jobs.iter().enumerate().filter(|(_, job)| job.tenant() == tenant);
        let mut block = chain::BlockBuilder::with_capacity(tenant_jobs().count());
        let mut changes: Vec<Arc<Change>> = Vec::new();
        for (index, job) in tenant_jobs() {
            let outcome = match (job, executed_jobs[index].take()) {
                (CommitJob::AuditEvent(audit_job), Some(ExecutedJob::AuditEvent { side_effect_ran })) => {
                    let mut stale_read_set = None;
                    for (read_set_index, read_set) in audit_job.reply_timing.read_sets().iter().enumerate() {
                        if !is_current(
                            connection,
                            recent_changes,
                            tenant,
                            read_set,
                            old_head.version,
                            &changes,
                            now,
                        )? {
                            stale_read_set = Some(read_set_index);
                            break;
                        }
                    }
                    match stale_read_set {
                        // Touched between the errand and the head, by another process. All of it again, without the errand.
                        Some(_) if side_effect_ran => {
                            set_retryable(connection, true);
                            return Err(Error::internal("an answer became stale behind its errand"));
                        }
                        Some(read_set_index) => JobOutcome::Stale(read_set_index),
                        None => {
                            let receipt = match &audit_job.reply_timing {
                                ReplyTiming::AfterCommit { .. } => block.append(
                                    &mut head,
                                    &ids.next_ulid(),
                                    tenant,
                                    &audit_job.event,
                                    now,
                                )?,
                                ReplyTiming::AlreadySent { ulid, at } => {
                                    block.append(&mut head, ulid, tenant, &audit_job.event, *at)?
                                }
                            };
                            JobOutcome::Committed(Some(receipt))
                        }
                    }
                }
                (CommitJob::Transaction(transaction), Some(ExecutedJob::Transaction(result))) => {
                    let events = match transaction.event_policy() {
                        EventPolicy::None => {
                            outcomes[index] = Some(JobOutcome::Committed(None));
                            continue;
                        }
                        EventPolicy::Single(event) => {
                            let mut event = EventDraft::clone(event);
                            event.outputs.extend(result.outputs);
                            vec![event]
                        }
                        EventPolicy::FromTx => result.events,
                    };
                    if connection.backend() == Backend::Postgres
                        && let Some(credential) = transaction.credential_read_set()
                        && !is_current(
                            connection,
                            recent_changes,
                            tenant,
                            credential,
                            old_head.version,
                            &changes,
                            now,
                        )?
                    {
                        // Withdrawn while the work ran. On PostgreSQL a job is alone in its transaction.
                        return Err(credential_changed());
                    }
                    if !result.tags.is_empty() {
                        head.version = Version(head.version.0 + 1);
                        let new_change = Change { version: head.version, tags: result.tags };
                        change_log::insert(connection, tenant, &new_change, now)?;
                        changes.push(Arc::new(new_change));
                    }
                    let mut last_receipt = None;
                    for event in events {
                        let event = event.succeeded().output("version", head.version.0);
                        last_receipt =
                            Some(block.append(&mut head, &ids.next_ulid(), tenant, &event, now)?);
                    }
                    JobOutcome::Committed(last_receipt)
                }
                // Refused already.
                _ => continue,
            };
            outcomes[index] = Some(outcome);
        }
        if head != old_head {
            block.insert(connection, tenant, &head, now)?;
            head::advance(connection, tenant, &head)?;
        }
        if !changes.is_empty() {
            load_changes_until(connection, recent_changes, tenant, old_head.version)?;
            committed.push((tenant.clone(), old_head.version, head.version, changes));
        }
    }
    let verdicts =
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(JobOutcome::Committed(None))).collect();
    Ok((verdicts, committed))
}

fn emits_event(job: &CommitJob) -> bool {
    match job {
        CommitJob::AuditEvent(_) => true,
        CommitJob::Transaction(transaction) => !matches!(transaction.event_policy(), EventPolicy::None),
    }
}

/// Whether all that an answer rests on holds now: the version at which it does, or the number of the basis that does not.
pub(crate) fn validate_all(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    tenant: &TenantId,
    read_sets: &[Arc<ReadSet>],
    now: Timestamp,
) -> Result<Result<Version, usize>> {
    let version = head::version(connection, tenant)?.ok_or_else(head::unknown_tenant)?;
    for (index, read_set) in read_sets.iter().enumerate() {
        if !is_current(connection, recent_changes, tenant, read_set, version, &[], now)? {
            return Ok(Err(index));
        }
    }
    Ok(Ok(version))
}

/// Whether a basis holds at `version` and after the changes that this group is about to make.
fn is_current(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    tenant: &TenantId,
    read_set: &ReadSet,
    version: Version,
    pending: &[Arc<Change>],
    now: Timestamp,
) -> Result<bool> {
    if read_set.version.is_some_and(|read_version| read_version < version) {
        load_changes_until(connection, recent_changes, tenant, version)?;
    }
    Ok(recent_changes.is_current(tenant, read_set, version, pending, now))
}

/// Brings the mirror to `version`, which this transaction has seen committed.
pub(crate) fn load_changes_until(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    tenant: &TenantId,
    version: Version,
) -> Result<()> {
    // Of a tenant that this process meets for the first time it learns as much as it would remember, so that what was
    // read before a restart of the mirror need not be read again.
    let oldest_loaded = Version((version.0 - limits::RECENT_CHANGES_MAX as i64).max(0));
    let loaded_version = recent_changes.loaded_version(tenant).unwrap_or(oldest_loaded);
    if loaded_version < version {
        let changes = change_log::load_after(connection, tenant, loaded_version)?;
        recent_changes.extend(tenant, loaded_version, version, &changes);
    }
    Ok(())
}

fn credential_changed() -> Error {
    Error::new(Kind::Credential, "CREDENTIAL_CHANGED", "The credential was withdrawn or changed")
}

#[cfg(test)]
mod tests {
    use quad_core::Tag;

    use super::*;
    use crate::connection::{postgres, sqlite};
    use crate::{Location, testing};

    struct InvalidateJob(TenantId, EventPolicy, oneshot::Sender<Result<Option<Receipt>>>);

    impl TransactionJob for InvalidateJob {
        fn tenant(&self) -> &TenantId {
            &self.0
        }
        fn credential_read_set(&self) -> Option<&ReadSet> {
            None
        }
        fn event_policy(&self) -> &EventPolicy {
            &self.1
        }
        fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
            tx.invalidate(Tag::new("a"));
            Ok(())
        }
        fn complete(self: Box<Self>, outcome: Result<Option<Receipt>>) {
            self.2.send(outcome).unwrap();
        }
    }

    /// Whether a commit on this connection waits for the disk, as the database itself sees it.
    fn is_sync_commit(connection: &mut Connection) -> bool {
        let (sql, off_value) = match connection.backend() {
            Backend::Sqlite => ("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous", "1"),
            Backend::Postgres => ("SHOW synchronous_commit", "off"),
        };
        connection.query(sql, &[]).unwrap()[0].text(0).unwrap() != off_value
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_async_audit_batches_skip_sync_commit() {
        for db in testing::stores(&[]).await.unwrap() {
            let (location, tenant) = (db.location.clone(), db.tenant.clone());
            let runtime = tokio::runtime::Handle::current();
            let check = move || {
                let mut connection = match &location {
                    Location::Sqlite(file) => Connection::Sqlite(sqlite::Conn::open(file).unwrap()),
                    Location::Postgres(url) => {
                        Connection::Postgres(postgres::Conn::open(url, &runtime).unwrap())
                    }
                };
                let recent_changes = RecentChanges::default();
                let event = || EventDraft::system("agent", "test", "tester");
                for (mode, writes, expected_sync) in [
                    (AuditMode::Durable, false, true),
                    (AuditMode::Async, false, false),
                    (AuditMode::Async, true, true),
                    (AuditMode::Async, false, false),
                    (AuditMode::Durable, false, true),
                ] {
                    let (reply, recorded) = oneshot::channel();
                    let (done, written) = oneshot::channel();
                    let reply_timing = ReplyTiming::AfterCommit { read_sets: ReadSets::new(), reply };
                    let job =
                        AuditJob { tenant: tenant.clone(), event: event(), side_effect: None, reply_timing };
                    let mut jobs = vec![CommitJob::AuditEvent(Box::new(job))];
                    if writes {
                        jobs.push(CommitJob::Transaction(Box::new(InvalidateJob(
                            tenant.clone(),
                            EventPolicy::Single(Box::new(event())),
                            done,
                        ))));
                    }
                    assert!(commit_batch(&mut connection, &recent_changes, mode, jobs).requeue.is_empty());
                    recorded.blocking_recv().unwrap().unwrap();
                    if writes {
                        written.blocking_recv().unwrap().unwrap();
                    }
                    assert_eq!(is_sync_commit(&mut connection), expected_sync, "{mode:?}, writes: {writes}");
                }
            };
            tokio::task::spawn_blocking(check).await.unwrap();
        }
    }
}
