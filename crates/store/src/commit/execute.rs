//! The first half of a commit: runs closures and side effects, each in a savepoint. No head row is locked yet.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use quad_core::{Change, Error, Result, TenantId, Version};

use super::job::{AuditJob, CommitJob, EventPolicy, JobOutcome, JobState, TransactionJob};
use super::read_set_check::ReadSetCheck;
use crate::fast_path::side_effect;
use crate::sql::TxEffects;
use crate::tx_error::TxError;
use crate::write_transaction::{Savepoint, WriteTransaction};
use crate::{Backend, head, limits};

/// Runs the jobs of one batch.
pub(super) struct Executor<'t, 'c> {
    transaction: &'t mut WriteTransaction<'c>,
    check: &'t ReadSetCheck<'t>,
    /// A single job needs no savepoint: if it fails, the transaction is rolled back.
    use_savepoints: bool,
    /// What the jobs so far will change, by tenant. Their versions are assigned later.
    pending_changes: BTreeMap<TenantId, Vec<Arc<Change>>>,
}

/// Runs the jobs until [`BATCH_EXEC_MAX`](limits::BATCH_EXEC_MAX) is over. Returns one state for each job that was
/// reached; the others belong to the next batch.
pub(super) fn execute_jobs(
    transaction: &mut WriteTransaction<'_>,
    check: &ReadSetCheck<'_>,
    jobs: &mut [CommitJob],
) -> Result<Vec<JobState>, TxError> {
    let started = Instant::now();
    let use_savepoints = jobs.len() > 1;
    let mut executor = Executor { transaction, check, use_savepoints, pending_changes: BTreeMap::new() };
    let mut sorted_side_effects = executor.run_side_effects_sorted(jobs)?;
    let mut states = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter_mut().enumerate() {
        states.push(match job {
            CommitJob::AuditEvent(audit_job) => JobState::Event {
                side_effect_ran: match sorted_side_effects.remove(&index) {
                    Some(has_run) => has_run,
                    None => executor.run_side_effect(audit_job)?,
                },
            },
            CommitJob::Transaction(_) if index > 0 && started.elapsed() > limits::BATCH_EXEC_MAX => break,
            CommitJob::Transaction(job) => executor.run_transaction(&mut **job)?,
        });
    }
    Ok(states)
}

impl Executor<'_, '_> {
    /// Runs one closure. An error of this function fails the whole batch.
    fn run_transaction(&mut self, job: &mut dyn TransactionJob) -> Result<JobState, TxError> {
        let tenant = job.tenant().clone();
        let stored_version = head::version(self.transaction.connection, &tenant)?;
        if let Some(credential) = job.credential_read_set() {
            let version = stored_version.unwrap_or(Version(0));
            let pending = self.pending_changes.get(&tenant).map_or(&[] as &[_], Vec::as_slice);
            let connection = &mut *self.transaction.connection;
            if !self.check.is_current(connection, &tenant, credential, version, pending)? {
                return Ok(JobState::Done(JobOutcome::Stale(0)));
            }
        }
        if self.use_savepoints {
            self.transaction.savepoint(Savepoint::Job)?;
        }
        match self.run_closure(job, &tenant, stored_version) {
            Ok(effects) => {
                if self.use_savepoints {
                    self.transaction.release(Savepoint::Job)?;
                }
                let change = Change { version: Version(i64::MAX), tags: effects.tags.clone() };
                self.pending_changes.entry(tenant).or_default().push(Arc::new(change));
                Ok(match job.event_policy() {
                    EventPolicy::None => JobState::Done(JobOutcome::Committed(None)),
                    EventPolicy::Single(_) | EventPolicy::FromTx => JobState::Transaction(Box::new(effects)),
                })
            }
            // A lone job is run again with its transaction.
            Err(error @ TxError::Retry(_)) if !self.use_savepoints => Err(error),
            Err(error) => {
                if self.use_savepoints {
                    self.transaction.rollback_to(Savepoint::Job)?;
                    self.transaction.release(Savepoint::Job)?;
                }
                Ok(JobState::Done(JobOutcome::Failed(error.into_error())))
            }
        }
    }

    /// Runs the closure itself and checks what it has done. A failure is that of this job alone.
    fn run_closure(
        &mut self,
        job: &mut dyn TransactionJob,
        tenant: &TenantId,
        stored_version: Option<Version>,
    ) -> Result<TxEffects, TxError> {
        let version = stored_version.unwrap_or(Version(0));
        let mut tx = self.transaction.tx(tenant, version, self.check.now);
        catch_unwind(AssertUnwindSafe(|| job.run(&mut tx)))
            .unwrap_or_else(|_| Err(Error::internal("a transaction closure panicked")))
            .map_err(|error| TxError::of_closure(error, tx.saw_retryable()))?;
        let effects = tx.into_effects();
        // Only the job that creates a tenant may start without a head row, and it must have inserted one.
        if stored_version.is_none() && head::version(self.transaction.connection, tenant)?.is_none() {
            return Err(head::unknown_tenant().into());
        }
        match job.event_policy() {
            EventPolicy::FromTx if effects.events.is_empty() => {
                Err(Error::internal("`write_with_events` must emit at least one event").into())
            }
            // Caches would keep answers that this change has made stale.
            EventPolicy::None if !effects.tags.is_empty() => {
                Err(Error::internal("`write_unaudited` must not invalidate tags").into())
            }
            _ => Ok(effects),
        }
    }

    /// PostgreSQL: runs all side effects before anything else, sorted by tenant and lock order. Several processes
    /// commit at the same time there, and one common order keeps them from deadlocks. Returns by job index which of
    /// them ran.
    fn run_side_effects_sorted(&mut self, jobs: &[CommitJob]) -> Result<BTreeMap<usize, bool>, TxError> {
        let mut ran_by_index = BTreeMap::new();
        if self.transaction.connection.backend() == Backend::Sqlite {
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
            ran_by_index.insert(index, self.run_side_effect(audit_job)?);
        }
        Ok(ran_by_index)
    }

    /// Runs the side effect of an audit event whose read sets are current; returns whether it ran. It runs before the
    /// head row is locked: another transaction may hold a row that it needs and wait for the head row.
    fn run_side_effect(&mut self, job: &AuditJob) -> Result<bool, TxError> {
        let Some(side_effect) = &job.side_effect else { return Ok(false) };
        let connection = &mut *self.transaction.connection;
        let version = head::version(connection, &job.tenant)?.unwrap_or(Version(0));
        let pending = self.pending_changes.get(&job.tenant).map_or(&[] as &[_], Vec::as_slice);
        let read_sets = job.reply_timing.read_sets();
        if self.check.first_stale(connection, &job.tenant, read_sets, version, pending)?.is_some() {
            return Ok(false);
        }
        side_effect::run(self.transaction, &job.tenant, version, self.check.now, side_effect)?;
        Ok(true)
    }
}
