//! The jobs of a batch, and what becomes of each of them.

use std::sync::Arc;

use quad_core::{
    AppendError, Error, EventDraft, Kind, ReadSet, ReadSets, Receipt, Result, SideEffect, TenantId, Timestamp,
};
use tokio::sync::oneshot;

use crate::sql::{Tx, TxEffects};

/// One unit of a group commit.
pub(crate) enum CommitJob {
    Transaction(Box<dyn TransactionJob>),
    AuditEvent(Box<AuditJob>),
}

/// A closure that writes.
pub(crate) trait TransactionJob: Send {
    fn tenant(&self) -> &TenantId;
    /// The read set of the caller's credential check. The commit fails if it is no longer current.
    fn credential_read_set(&self) -> Option<&ReadSet>;
    fn event_policy(&self) -> &EventPolicy;
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()>;
    /// Sends the outcome to the caller, after the commit.
    fn complete(self: Box<Self>, outcome: Result<Option<Receipt>>);
}

/// Which audit events a transaction emits.
pub(crate) enum EventPolicy {
    /// None. The transaction advances no version, and no subscriber is notified.
    None,
    /// One event, which is known before the transaction runs.
    Single(Box<EventDraft>),
    /// The events that it emits with [`Tx::emit_event`], at least one.
    FromTx,
}

/// The audit event of a call that wrote nothing.
pub(crate) struct AuditJob {
    pub(crate) tenant: TenantId,
    pub(crate) event: EventDraft,
    pub(crate) side_effect: Option<SideEffect>,
    pub(crate) reply_timing: ReplyTiming,
}

/// Whether the call is answered before or after the commit.
pub(crate) enum ReplyTiming {
    /// The reply waits for the commit, which fails if one of the read sets is no longer current.
    AfterCommit { read_sets: ReadSets, reply: oneshot::Sender<Result<Receipt, AppendError>> },
    /// The reply was sent at this time, with this id for its event. Its read sets were checked before.
    AlreadySent { ulid: String, at: Timestamp },
}

impl ReplyTiming {
    /// The read sets that the commit must check.
    pub(crate) fn read_sets(&self) -> &[Arc<ReadSet>] {
        match self {
            ReplyTiming::AfterCommit { read_sets, .. } => read_sets,
            ReplyTiming::AlreadySent { .. } => &[],
        }
    }
}

/// How far a job has come. The executor makes one state per job, and the appender turns each into `Done`.
pub(crate) enum JobState {
    /// An audit event to append.
    Event { side_effect_ran: bool },
    /// A transaction that has run: its change and its events are to be appended.
    Transaction(Box<TxEffects>),
    /// Nothing is left to do. The caller gets this outcome after the commit.
    Done(JobOutcome),
}

/// The outcome of a job.
pub(crate) enum JobOutcome {
    /// With the receipt of its last event, if it has any.
    Committed(Option<Receipt>),
    Failed(Error),
    /// The read set with this index is no longer current.
    Stale(usize),
}

impl JobState {
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, JobState::Done(_))
    }

    /// Whether the job leaves nothing in the transaction.
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(self, JobState::Done(JobOutcome::Failed(_) | JobOutcome::Stale(_)))
    }

    /// Takes the state out; what stays behind is done.
    pub(crate) fn take(&mut self) -> JobState {
        std::mem::replace(self, JobState::Done(JobOutcome::Committed(None)))
    }

    pub(crate) fn into_outcome(self) -> JobOutcome {
        match self {
            JobState::Done(outcome) => outcome,
            JobState::Event { .. } | JobState::Transaction(_) => JobOutcome::Committed(None),
        }
    }
}

impl CommitJob {
    pub(crate) fn is_audit_event(&self) -> bool {
        matches!(self, CommitJob::AuditEvent(_))
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        match self {
            CommitJob::Transaction(transaction) => transaction.tenant(),
            CommitJob::AuditEvent(audit_job) => &audit_job.tenant,
        }
    }

    /// Sends the outcome to the caller.
    pub(crate) fn complete(self, outcome: JobOutcome) {
        match self {
            CommitJob::Transaction(transaction) => transaction.complete(match outcome {
                JobOutcome::Committed(receipt) => Ok(receipt),
                JobOutcome::Failed(error) => Err(error),
                JobOutcome::Stale(_) => Err(credential_changed()),
            }),
            CommitJob::AuditEvent(audit_job) => audit_job.complete(outcome),
        }
    }
}

impl AuditJob {
    fn complete(self, outcome: JobOutcome) {
        let result = match outcome {
            JobOutcome::Committed(Some(receipt)) => Ok(receipt),
            JobOutcome::Committed(None) => {
                Err(AppendError::Failed(Error::internal("an audit event was committed without a receipt")))
            }
            JobOutcome::Failed(error) => Err(AppendError::Failed(error)),
            JobOutcome::Stale(index) => Err(AppendError::Stale(index)),
        };
        match (self.reply_timing, result) {
            // If the caller is gone, the receipt is dropped; the event stays.
            (ReplyTiming::AfterCommit { reply, .. }, result) => drop(reply.send(result)),
            (ReplyTiming::AlreadySent { .. }, Ok(_) | Err(AppendError::Stale(_))) => {}
            (ReplyTiming::AlreadySent { .. }, Err(AppendError::Failed(error))) => {
                tracing::error!(cause = error.cause_chain(), "deferred audit event rejected");
            }
        }
    }
}

/// The error of a write whose credential was revoked or changed before the commit.
pub(crate) fn credential_changed() -> Error {
    Error::new(Kind::Credential, "CREDENTIAL_CHANGED", "The credential was withdrawn or changed")
}
