//! Where calls are written down before they are answered, or soon after.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::{BoxFuture, Error, EventDraft, ReadSet, Result, SideEffect, TenantId, Version};

/// The proof that a call was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The tenant's version when the event was written.
    pub version: Version,
    /// The event's place in the tenant's chain, from 1. `None` where the call is answered before the event is written.
    pub sequence: Option<i64>,
    /// The event's id.
    pub event_id: Arc<str>,
}

/// Why an event was not written.
#[derive(Debug)]
pub enum AppendError {
    /// Basis number so-and-so of the list is no longer right; compute it again.
    Stale(usize),
    /// The database failed.
    Failed(Error),
}

/// What an answer rests on, and what the credential of its caller does.
pub type ReadSets = SmallVec<[Arc<ReadSet>; 2]>;

/// An event on its way into the trail.
pub enum PendingAppend<'a> {
    /// Somebody else writes it, and will tell.
    Queued(oneshot::Receiver<Result<Receipt, AppendError>>),
    /// There is more to be done for it.
    Future(BoxFuture<'a, Result<Receipt, AppendError>>),
}

impl Future for PendingAppend<'_> {
    type Output = Result<Receipt, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            PendingAppend::Queued(receiver) => Pin::new(receiver).poll(context).map(|result| {
                result.unwrap_or_else(|_| Err(AppendError::Failed(Error::internal("an event was dropped"))))
            }),
            PendingAppend::Future(future) => future.as_mut().poll(context),
        }
    }
}

/// The audit trail, as the path of a read sees it.
#[async_trait::async_trait]
pub trait AuditLog: Send + Sync {
    /// Makes one event durable, provided that every basis still holds in the same commit. A journal that may write later
    /// answers when every basis holds and the event is in its hands.
    async fn append(
        &self,
        tenant: &TenantId,
        event: EventDraft,
        read_sets: Vec<Arc<ReadSet>>,
    ) -> Result<Receipt, AppendError>;

    /// The same, and runs the errand in that commit, once; if the errand fails, the event stays. A journal that keeps no data
    /// has nothing to run it on.
    fn append_with_side_effect<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        let _ = side_effect;
        PendingAppend::Future(self.append(tenant, event, read_sets.into_vec()))
    }

    /// Has nobody change anything of the tenant's until the event of the next answer is recorded, and runs the errand in the same
    /// commit: for an answer that was overtaken. `None` where there is no holding; then the answer is recorded as any other.
    async fn lease_head(
        &self,
        tenant: &TenantId,
        side_effect: Option<SideEffect>,
    ) -> Result<Option<Box<dyn HeadLease>>> {
        let _ = (tenant, side_effect);
        Ok(None)
    }
}

/// Data that stands still for one answer, for a moment. It goes on when the event is recorded, when the hold is dropped, when whoever
/// holds it writes something, or when the moment is over; in the last two cases the event is not recorded and the basis counts as stale.
pub trait HeadLease: Send + Sync {
    /// Makes the answer's event durable.
    fn append(self: Box<Self>, event: EventDraft, read_sets: ReadSets) -> PendingAppend<'static>;
}
