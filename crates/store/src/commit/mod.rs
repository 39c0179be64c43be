//! Group commit: one batch of jobs in one database transaction.
//!
//! ```text
//! begin ─► execute: each closure and side effect in its savepoint
//!            │       (a job that fails is rolled back alone; the others go on)
//!            ▼
//!          append, tenant by tenant: lock the head row
//!            │       event whose read set is stale ─► leaves the batch, is computed again
//!            │       everything else ─► version, change log, audit block, head row
//!            ▼
//! commit ─► publish the changes to subscribers ─► send each caller its outcome
//! ```
//!
//! The head rows are locked last. So commit order is version order, the chain cannot fork, and no transaction waits
//! for a head row while another one computes. Nothing is published and no caller is answered before the commit.

mod append;
mod execute;
mod job;
mod read_set_check;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use quad_core::{Error, ReadSet, Result, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::recent_changes::RecentChanges;
use crate::tx_error::TxError;
use crate::write_transaction::WriteTransaction;
use crate::{AuditMode, head, limits};
use append::CommittedTenant;
use job::{JobOutcome, JobState};

pub(crate) use job::{AuditJob, CommitJob, EventPolicy, ReplyTiming, TransactionJob};
use read_set_check::ReadSetCheck;

/// What a batch leaves to the commit thread.
#[derive(Default)]
pub(crate) struct BatchRemainder {
    /// Jobs that were not reached in time. They go into the next batch.
    pub(crate) requeue: Vec<CommitJob>,
    /// Events of calls that are already answered, if the commit failed.
    pub(crate) unwritten_events: VecDeque<Box<AuditJob>>,
}

/// Runs a batch and sends each job its outcome, except for those in the remainder.
pub(crate) fn commit_batch(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    mode: AuditMode,
    mut jobs: Vec<CommitJob>,
) -> BatchRemainder {
    let mut attempt = 1;
    loop {
        match try_commit_batch(connection, recent_changes, mode, &mut jobs) {
            Ok((outcomes, committed)) => {
                committed.iter().for_each(|tenant| tenant.publish(recent_changes));
                let requeue = jobs.split_off(outcomes.len());
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    job.complete(outcome);
                }
                return BatchRemainder { requeue, unwritten_events: VecDeque::new() };
            }
            Err(error) => {
                connection.rollback();
                match error {
                    TxError::Retry(_) if attempt < limits::TX_ATTEMPTS_MAX && connection.is_alive() => {
                        std::thread::sleep(Duration::from_millis(1 << attempt));
                        attempt += 1;
                    }
                    TxError::Retry(error) | TxError::Failed(error) => {
                        return BatchRemainder {
                            requeue: Vec::new(),
                            unwritten_events: fail_all(jobs, error),
                        };
                    }
                }
            }
        }
    }
}

/// One attempt at a batch. The outcomes are those of the jobs that were reached.
fn try_commit_batch(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    mode: AuditMode,
    jobs: &mut [CommitJob],
) -> Result<(Vec<JobOutcome>, Vec<CommittedTenant>), TxError> {
    let check = ReadSetCheck { recent_changes, now: Timestamp::now() };
    connection.check_file()?;
    connection.set_sync_commit(mode == AuditMode::Durable || !jobs.iter().all(CommitJob::is_audit_event))?;
    let mut transaction = WriteTransaction::begin(connection)?;
    let mut states = execute::execute_jobs(&mut transaction, &check, jobs)?;
    let committed = if states.iter().all(JobState::is_rejected) {
        transaction.connection.rollback();
        Vec::new()
    } else {
        let jobs = &jobs[..states.len()];
        let committed = append::append_events(transaction.connection, &check, jobs, &mut states)?;
        transaction.commit()?;
        committed
    };
    Ok((states.into_iter().map(JobState::into_outcome).collect(), committed))
}

/// Sends each waiting job the error. Returns the events of calls that are already answered.
pub(crate) fn fail_all(jobs: Vec<CommitJob>, error: Error) -> VecDeque<Box<AuditJob>> {
    let mut unwritten_events = VecDeque::new();
    for job in jobs {
        match job {
            CommitJob::AuditEvent(audit_job)
                if matches!(audit_job.reply_timing, ReplyTiming::AlreadySent { .. }) =>
            {
                unwritten_events.push_back(audit_job)
            }
            job => job.complete(JobOutcome::Failed(error.duplicate())),
        }
    }
    if !unwritten_events.is_empty() {
        tracing::error!(cause = error.cause_chain(), "writing deferred audit events failed; will retry");
    }
    unwritten_events
}

/// Commits the events of leased reads, in the transaction that holds the head rows. If fewer than `min_events` are
/// current, nothing is committed and all are stale.
pub(crate) fn commit_leased(
    mut transaction: WriteTransaction<'_>,
    recent_changes: &RecentChanges,
    jobs: Vec<CommitJob>,
    min_events: usize,
    now: Timestamp,
) {
    match try_commit_leased(&mut transaction, recent_changes, &jobs, min_events, now) {
        Ok(outcomes) => jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| job.complete(outcome)),
        Err(error) => {
            transaction.connection.rollback();
            fail_all(jobs, error.into_error());
        }
    }
}

fn try_commit_leased(
    transaction: &mut WriteTransaction<'_>,
    recent_changes: &RecentChanges,
    jobs: &[CommitJob],
    min_events: usize,
    now: Timestamp,
) -> Result<Vec<JobOutcome>, TxError> {
    let check = ReadSetCheck { recent_changes, now };
    let mut states: Vec<JobState> = jobs.iter().map(|_| JobState::Event { side_effect_ran: false }).collect();
    let committed = append::append_events(transaction.connection, &check, jobs, &mut states)?;
    let mut outcomes: Vec<JobOutcome> = states.into_iter().map(JobState::into_outcome).collect();
    let is_committed = |outcome: &&mut JobOutcome| matches!(outcome, JobOutcome::Committed(_));
    if outcomes.iter_mut().filter(is_committed).count() >= min_events.max(1) {
        transaction.commit()?;
        committed.iter().for_each(|tenant| tenant.publish(recent_changes));
    } else {
        transaction.connection.rollback();
        outcomes.iter_mut().filter(is_committed).for_each(|outcome| *outcome = JobOutcome::Stale(0));
    }
    Ok(outcomes)
}

/// Checks read sets outside of a commit. Returns the version at which all of them are current, or the index of the
/// first one that is not.
pub(crate) fn validate_all(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    tenant: &TenantId,
    read_sets: &[Arc<ReadSet>],
) -> Result<Result<Version, usize>, TxError> {
    let check = ReadSetCheck { recent_changes, now: Timestamp::now() };
    let version = head::version(connection, tenant)?.ok_or_else(head::unknown_tenant)?;
    let stale = check.first_stale(connection, tenant, read_sets, version, &[])?;
    Ok(stale.map_or(Ok(version), Err))
}

#[cfg(test)]
mod tests {
    use quad_core::{EventDraft, ReadSet, ReadSets, Receipt, Result, Tag, TenantId};
    use tokio::sync::oneshot;

    use super::*;
    use crate::connection::{postgres, sqlite};
    use crate::{Backend, Location, Tx, testing};

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
