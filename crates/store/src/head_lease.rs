//! A hold: the data stands still while one answer is computed and its event is written.
//!
//! An answer that others keep overtaking would be computed again and again. So whoever was overtaken asks for a hold: the writer begins
//! the transaction of the answer's event first and locks the head, and only then is the answer computed, in a snapshot of its own that
//! nobody can make old. It is the one transaction that waits for somebody, so it waits [for a moment](limits::HOLD_TIME) and no longer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quad_core::{
    AppendError, EventDraft, HeadLease, PendingAppend, ReadSets, Result, SideEffect, TenantId, Timestamp,
    Version,
};
use tokio::sync::oneshot;
use tokio::task;

use crate::commit::{self, AuditJob, CommitJob, ReplyTiming};
use crate::connection::Connection;
use crate::recent_changes::RecentChanges;
use crate::{head, limits, side_effect};

/// A hold that somebody waits for.
pub(crate) struct LeaseRequest {
    pub(crate) tenant: TenantId,
    /// What is to be done for the answer. It comes before the head is locked, as every errand.
    pub(crate) side_effect: Option<SideEffect>,
    pub(crate) owner: LeaseOwner,
    pub(crate) reply: oneshot::Sender<Lease>,
}

/// Who holds. A call is one task, from its question to its event.
#[derive(Clone)]
pub(crate) struct LeaseOwner {
    task: task::Id,
    leases: Arc<ActiveLeases>,
}

/// All who hold in this process.
#[derive(Default)]
pub(crate) struct ActiveLeases(Mutex<HashMap<task::Id, Arc<EventSlot>>>);

impl ActiveLeases {
    /// The call that is running, if it is one that can hold.
    pub(crate) fn current_task(self: &Arc<ActiveLeases>) -> Option<LeaseOwner> {
        task::try_id().map(|task| LeaseOwner { task, leases: self.clone() })
    }

    /// Gives up what the running call holds, if it does: it wants something else of the writer, who waits for it.
    pub(crate) fn release_for_current_task(&self) {
        if let Some(slot) = task::try_id().and_then(|task| self.lock().remove(&task)) {
            slot.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<task::Id, Arc<EventSlot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hold that was granted. It ends with its event, when it is dropped, or when its time is up.
pub(crate) struct Lease {
    tenant: TenantId,
    owner: LeaseOwner,
    slot: Arc<EventSlot>,
}

impl Lease {
    fn new(tenant: TenantId, owner: LeaseOwner) -> Lease {
        let slot = Arc::new(EventSlot::default());
        owner.leases.lock().insert(owner.task, slot.clone());
        Lease { tenant, owner, slot }
    }
}

impl HeadLease for Lease {
    fn append(self: Box<Self>, event: EventDraft, read_sets: ReadSets) -> PendingAppend<'static> {
        let (reply, receipt) = oneshot::channel();
        let reply_timing = ReplyTiming::AfterCommit { read_sets, reply };
        let job = AuditJob { tenant: self.tenant.clone(), event, side_effect: None, reply_timing };
        if self.slot.put(Box::new(job)) {
            return PendingAppend::Queued(receipt);
        }
        // It was over before the answer was there: somebody may have changed anything since.
        PendingAppend::ready(Err(AppendError::Stale(0)))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.owner.leases.lock().remove(&self.owner.task);
        self.slot.close();
    }
}

/// Where the event of a held answer is handed over.
#[derive(Default)]
struct EventSlot {
    state: Mutex<SlotState>,
    changed: Condvar,
}

#[derive(Default)]
enum SlotState {
    #[default]
    Waiting,
    Filled(Box<AuditJob>),
    Closed,
}

impl EventSlot {
    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over an event; says whether somebody still waited for it.
    fn put(&self, job: Box<AuditJob>) -> bool {
        let mut state = self.lock();
        let is_awaited = matches!(*state, SlotState::Waiting);
        if is_awaited {
            *state = SlotState::Filled(job);
            self.changed.notify_one();
        }
        is_awaited
    }

    /// Says that no event will come. One that was handed over stays.
    fn close(&self) {
        let mut state = self.lock();
        if matches!(*state, SlotState::Waiting) {
            *state = SlotState::Closed;
            self.changed.notify_one();
        }
    }

    /// Waits for the event, and from then on takes no other.
    fn wait(&self, deadline: Instant) -> Option<Box<AuditJob>> {
        let mut state = self.lock();
        while matches!(*state, SlotState::Waiting) {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
        match std::mem::replace(&mut *state, SlotState::Closed) {
            SlotState::Filled(job) => Some(job),
            SlotState::Waiting | SlotState::Closed => None,
        }
    }
}

/// Grants holds, all in one transaction, and writes the events that come of them. A hold that cannot be granted is dropped: then its
/// answer is computed as any other.
pub(crate) fn grant_leases(connection: &mut Connection, mirror: &RecentChanges, requests: Vec<LeaseRequest>) {
    let now = Timestamp::now();
    if let Err(error) = lock_heads(connection, &requests, now) {
        tracing::debug!(cause = error.cause_chain(), "the head could not be held");
        connection.rollback();
        return;
    }
    // An errand has been run for each, so each must lead to its event.
    let min_events =
        if requests.iter().any(|request| request.side_effect.is_some()) { requests.len() } else { 0 };
    commit::commit_leased(connection, mirror, wait_for_events(requests), min_events, now);
}

/// Begins the transaction, runs the errands and locks the heads, each in the one order that keeps processes from waiting for each other.
fn lock_heads(connection: &mut Connection, requests: &[LeaseRequest], now: Timestamp) -> Result<()> {
    connection.set_sync_commit(true)?;
    connection.begin_write()?;
    let mut side_effects: Vec<(&TenantId, &SideEffect)> = requests
        .iter()
        .filter_map(|request| Some((&request.tenant, request.side_effect.as_ref()?)))
        .collect();
    side_effects.sort_by_key(|(tenant, side_effect)| (*tenant, side_effect.lock_order));
    for (tenant, side_effect) in side_effects {
        let version = head::version(connection, tenant)?.unwrap_or(Version(0));
        side_effect::run(connection, tenant, version, now, side_effect)?;
    }
    let tenants: BTreeSet<&TenantId> = requests.iter().map(|request| &request.tenant).collect();
    for tenant in tenants {
        head::lock(connection, tenant)?;
    }
    Ok(())
}

/// Tells everybody to go on, and waits for what they have to write down.
fn wait_for_events(requests: Vec<LeaseRequest>) -> Vec<CommitJob> {
    let deadline = Instant::now() + limits::HEAD_LEASE_MAX;
    let grant = |LeaseRequest { tenant, owner, reply, .. }| {
        let lease = Lease::new(tenant, owner);
        let slot = lease.slot.clone();
        // Whoever has gone away lets go by that.
        drop(reply.send(lease));
        slot
    };
    let slots: Vec<Arc<EventSlot>> = requests.into_iter().map(grant).collect();
    slots.iter().filter_map(|slot| slot.wait(deadline)).map(CommitJob::AuditEvent).collect()
}
