//! The second half of a commit: locks the head rows, writes the changes and appends the audit events.

use std::collections::BTreeSet;
use std::sync::Arc;

use quad_core::id::UlidGenerator;
use quad_core::{Change, Error, EventDraft, Receipt, Result, Tag, TenantId, Version};

use super::job::{
    AuditJob, CommitJob, EventPolicy, JobOutcome, JobState, ReplyTiming, TransactionJob, credential_changed,
};
use super::read_set_check::ReadSetCheck;
use crate::chain::BlockBuilder;
use crate::connection::Connection;
use crate::head::Head;
use crate::recent_changes::RecentChanges;
use crate::sql::TxEffects;
use crate::tx_error::TxError;
use crate::{Backend, change_log, head};

/// What one commit has added to a tenant, to be published after the commit.
pub(super) struct CommittedTenant {
    tenant: TenantId,
    version_before: Version,
    version: Version,
    changes: Vec<Arc<Change>>,
    sequence_before: i64,
    sequence: i64,
}

impl CommittedTenant {
    /// Notifies the subscribers and the checkpoint signer of this process.
    pub(super) fn publish(&self, recent_changes: &RecentChanges) {
        if self.sequence > self.sequence_before {
            recent_changes.chain_ends.record_commit(&self.tenant, self.sequence_before, self.sequence);
        }
        if !self.changes.is_empty() {
            recent_changes.extend(&self.tenant, self.version_before, self.version, &self.changes);
        }
    }
}

/// Appends what is left of each job and turns its state into `Done`. Tenants are locked in sorted order, so that two
/// processes cannot wait for each other.
pub(super) fn append_events(
    connection: &mut Connection,
    check: &ReadSetCheck<'_>,
    jobs: &[CommitJob],
    states: &mut [JobState],
) -> Result<Vec<CommittedTenant>, TxError> {
    let mut committed = Vec::new();
    let mut ids = UlidGenerator::new()?;
    let unfinished = jobs.iter().zip(&*states).filter(|(_, state)| !state.is_done());
    let tenants: BTreeSet<&TenantId> = unfinished.map(|(job, _)| job.tenant()).collect();
    for tenant in tenants {
        let mut tenant_jobs = jobs.iter().zip(states.iter_mut()).filter(|(job, _)| job.tenant() == tenant);
        let Some(head) = head::lock(connection, tenant)? else {
            // A transaction for an unknown tenant has failed already, so these are audit events.
            for (_, state) in tenant_jobs.filter(|(_, state)| !state.is_done()) {
                *state = JobState::Done(JobOutcome::Failed(head::unknown_tenant()));
            }
            continue;
        };
        let block = BlockBuilder::with_capacity(jobs.iter().filter(|job| job.tenant() == tenant).count());
        let old_version = head.version;
        let old_sequence = head.sequence;
        let mut appender = TenantAppender {
            connection,
            check,
            tenant,
            ids: &mut ids,
            old_version,
            head,
            block,
            changes: Vec::new(),
        };
        tenant_jobs.try_for_each(|(job, state)| appender.append_job(job, state))?;
        committed.extend(appender.finish(old_sequence)?);
    }
    Ok(committed)
}

/// Appends the jobs of one tenant, whose head row is locked.
struct TenantAppender<'t> {
    connection: &'t mut Connection,
    check: &'t ReadSetCheck<'t>,
    tenant: &'t TenantId,
    ids: &'t mut UlidGenerator,
    /// The version of the head row before this batch.
    old_version: Version,
    /// The head row after the jobs so far.
    head: Head,
    block: BlockBuilder,
    /// The changes of the jobs so far.
    changes: Vec<Arc<Change>>,
}

impl TenantAppender<'_> {
    fn append_job(&mut self, job: &CommitJob, state: &mut JobState) -> Result<(), TxError> {
        let outcome = match (job, state.take()) {
            (CommitJob::AuditEvent(job), JobState::Event { side_effect_ran }) => {
                self.append_audit_job(job, side_effect_ran)?
            }
            (CommitJob::Transaction(job), JobState::Transaction(effects)) => {
                self.append_transaction(&**job, *effects)?
            }
            (_, other) => other.into_outcome(),
        };
        *state = JobState::Done(outcome);
        Ok(())
    }

    fn append_audit_job(&mut self, job: &AuditJob, side_effect_ran: bool) -> Result<JobOutcome, TxError> {
        let read_sets = job.reply_timing.read_sets();
        let stale = self.check.first_stale(
            self.connection,
            self.tenant,
            read_sets,
            self.old_version,
            &self.changes,
        )?;
        let receipt = match (stale, &job.reply_timing) {
            // Another process has committed between the side effect and the lock. The next attempt finds the read set
            // stale before it would run the side effect.
            (Some(_), _) if side_effect_ran => {
                let error = Error::internal("a read set became stale after its side effect had run");
                return Err(TxError::Retry(error));
            }
            (Some(index), _) => return Ok(JobOutcome::Stale(index)),
            (None, ReplyTiming::AfterCommit { .. }) => self.append_event(&job.event)?,
            (None, ReplyTiming::AlreadySent { ulid, at }) => {
                self.block.append(&mut self.head, ulid, self.tenant, &job.event, *at)?
            }
        };
        Ok(JobOutcome::Committed(Some(receipt)))
    }

    fn append_transaction(
        &mut self,
        job: &dyn TransactionJob,
        effects: TxEffects,
    ) -> Result<JobOutcome, TxError> {
        if self.connection.backend() == Backend::Postgres
            && let Some(credential) = job.credential_read_set()
        {
            let (version, changes) = (self.old_version, &self.changes);
            if !self.check.is_current(self.connection, self.tenant, credential, version, changes)? {
                // Revoked while the closure ran. The job is alone in its transaction, so all of it fails.
                return Err(TxError::Failed(credential_changed()));
            }
        }
        self.add_change(effects.tags)?;
        let mut receipt = None;
        match job.event_policy() {
            EventPolicy::None => {}
            EventPolicy::Single(event) => {
                let mut event = EventDraft::clone(event);
                event.outputs.extend(effects.outputs);
                receipt = Some(self.append_success(event)?);
            }
            EventPolicy::FromTx => {
                for event in effects.events {
                    receipt = Some(self.append_success(event)?);
                }
            }
        }
        Ok(JobOutcome::Committed(receipt))
    }

    /// Advances the version, unless the transaction has invalidated nothing.
    fn add_change(&mut self, tags: Vec<Tag>) -> Result<(), TxError> {
        if !tags.is_empty() {
            self.head.version = Version(self.head.version.0 + 1);
            let change = Change { version: self.head.version, tags };
            change_log::insert(self.connection, self.tenant, &change, self.check.now)?;
            self.changes.push(Arc::new(change));
        }
        Ok(())
    }

    /// Appends the event of a transaction.
    fn append_success(&mut self, event: EventDraft) -> Result<Receipt> {
        self.append_event(&event.succeeded().output("version", self.head.version.0))
    }

    fn append_event(&mut self, event: &EventDraft) -> Result<Receipt> {
        self.block.append(&mut self.head, &self.ids.next_ulid(), self.tenant, event, self.check.now)
    }

    /// Writes the block and the head row. Returns what to publish.
    fn finish(self, old_sequence: i64) -> Result<Option<CommittedTenant>, TxError> {
        let TenantAppender { connection, check, tenant, old_version, head, block, changes, .. } = self;
        if head.sequence == old_sequence && head.version == old_version {
            return Ok(None);
        }
        block.insert(connection, tenant, &head, check.now)?;
        head::advance(connection, tenant, &head)?;
        if !changes.is_empty() {
            check.load_changes_until(connection, tenant, old_version)?;
        }
        Ok(Some(CommittedTenant {
            tenant: tenant.clone(),
            version_before: old_version,
            version: head.version,
            changes,
            sequence_before: old_sequence,
            sequence: head.sequence,
        }))
    }
}
