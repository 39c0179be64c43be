//! Where calls are written down before they are answered, or soon after.

use std::sync::Arc;

use crate::{Basis, BoxFuture, Errand, Error, EventDraft, TenantId, Version};

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
        bases: Vec<Arc<Basis>>,
        errand: Option<Errand>,
    ) -> BoxFuture<'a, Result<Receipt, NotRecorded>> {
        let _ = errand;
        self.record(tenant, event, bases)
    }
}
