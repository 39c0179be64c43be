//! Where calls are written down before they are answered, or soon after.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::{Basis, BoxFuture, Errand, Error, EventDraft, Result, TenantId, Version};

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
pub enum NotRecorded {
    /// Basis number so-and-so of the list is no longer right; compute it again.
    Stale(usize),
    /// The database failed.
    Failed(Error),
}

/// What an answer rests on, and what the credential of its caller does.
pub type Bases = SmallVec<[Arc<Basis>; 2]>;

/// An event on its way into the trail.
pub enum Recording<'a> {
    /// Somebody else writes it, and will tell.
    Told(oneshot::Receiver<Result<Receipt, NotRecorded>>),
    /// There is more to be done for it.
    Working(BoxFuture<'a, Result<Receipt, NotRecorded>>),
}

impl Future for Recording<'_> {
    type Output = Result<Receipt, NotRecorded>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Recording::Told(receipt) => Pin::new(receipt).poll(context).map(|told| {
                told.unwrap_or_else(|_| Err(NotRecorded::Failed(Error::internal("an event was dropped"))))
            }),
            Recording::Working(work) => work.as_mut().poll(context),
        }
    }
}

/// The audit trail, as the path of a read sees it.
pub trait Journal: Send + Sync {
    /// Makes one event durable, provided that every basis still holds in the same commit. A journal that may write later
    /// answers when every basis holds and the event is in its hands.
    fn record<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        bases: Vec<Arc<Basis>>,
    ) -> BoxFuture<'a, Result<Receipt, NotRecorded>>;

    /// The same, and runs the errand in that commit, once; if the errand fails, the event stays. A journal that keeps no data
    /// has nothing to run it on.
    fn record_with<'a>(
        &'a self,
        tenant: &'a TenantId,
        event: EventDraft,
        bases: Bases,
        errand: Option<Errand>,
    ) -> Recording<'a> {
        let _ = errand;
        Recording::Working(self.record(tenant, event, bases.into_vec()))
    }

    /// Has nobody change anything of the tenant's until the event of the next answer is recorded, and runs the errand in the same
    /// commit: for an answer that was overtaken. `None` where there is no holding; then the answer is recorded as any other.
    fn hold<'a>(
        &'a self,
        tenant: &'a TenantId,
        errand: Option<Errand>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Hold>>>> {
        let _ = (tenant, errand);
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Data that stands still for one answer, for a moment. It goes on when the event is recorded, when the hold is dropped, when whoever
/// holds it writes something, or when the moment is over; in the last two cases the event is not recorded and the basis counts as stale.
pub trait Hold: Send + Sync {
    /// Makes the answer's event durable.
    fn record(self: Box<Self>, event: EventDraft, bases: Bases) -> Recording<'static>;
}
