//! The interface to the audit log: an event is appended before its call is answered, or at most a few
//! milliseconds after.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::{BoxFuture, Error, EventDraft, ReadSet, Result, SideEffect, TenantId, Version};

/// The proof that a call's event was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The tenant's version when the event was appended.
    pub version: Version,
    /// The event's sequence number in the tenant's chain, from 1. `None` if the call is answered before the
    /// append.
    pub sequence: Option<i64>,
    /// The event's id.
    pub event_id: Arc<str>,
}

/// Why an event was not appended.
#[derive(Debug)]
pub enum AppendError {
    /// The read set at this index is outdated: compute the answer again.
    Stale(usize),
    /// The database failed.
    Failed(Error),
}

/// The read sets that one append validates: those of the answer, then that of the caller's credential.
pub type ReadSets = SmallVec<[Arc<ReadSet>; 2]>;

/// The future of an append.
pub enum PendingAppend<'a> {
    /// The event is in the writer's queue. The writer sends the outcome.
    Queued(oneshot::Receiver<Result<Receipt, AppendError>>),
    /// The append needs more steps, such as waiting for space in the queue.
    Future(BoxFuture<'a, Result<Receipt, AppendError>>),
}

impl PendingAppend<'_> {
    /// An append with a known outcome.
    pub fn ready(outcome: Result<Receipt, AppendError>) -> PendingAppend<'static> {
        PendingAppend::Future(Box::pin(std::future::ready(outcome)))
    }
}

impl Future for PendingAppend<'_> {
    type Output = Result<Receipt, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            PendingAppend::Queued(receiver) => Pin::new(receiver).poll(context).map(|result| {
                result.unwrap_or_else(|_| {
                    let dropped = Error::internal("the audit writer dropped an event");
                    Err(AppendError::Failed(dropped))
                })
            }),
            PendingAppend::Future(future) => future.as_mut().poll(context),
        }
    }
}

/// The audit log.
#[async_trait::async_trait]
pub trait AuditLog: Send + Sync {
    /// Appends one event if every read set is current in the same commit, and runs the side effect once in
    /// that commit. If the side effect fails, the event stays. A log that appends later answers when it has
    /// validated the read sets and queued the event. A log without a database ignores the side effect.
    ///
    /// Not an `async fn`: a queued append needs no boxed future.
    fn append<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> PendingAppend<'a>;

    /// Locks the tenant's head row for the next attempt at an answer that conflicted with a write: see
    /// [`HeadLease`]. The side effect runs in the lease's commit. `None` if the log has no leases: the next
    /// attempt is then appended like the first.
    async fn lease_head(
        &self,
        tenant: &TenantId,
        side_effect: Option<SideEffect>,
    ) -> Result<Option<Box<dyn HeadLease>>> {
        let _ = (tenant, side_effect);
        Ok(None)
    }
}

/// A lease on the tenant's head row: no write of the tenant commits while it is held. It ends when the event
/// is appended, when it is dropped, when its holder writes, or when its time limit passes. In the last two
/// cases `append` returns [`AppendError::Stale`].
pub trait HeadLease: Send + Sync {
    /// Appends the event of the answer that was computed under the lease.
    fn append(self: Box<Self>, event: EventDraft, read_sets: ReadSets) -> PendingAppend<'static>;
}
