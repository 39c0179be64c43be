//! Head leases: a tenant's head row stays locked while one read is computed again, so that no write can make it
//! stale.
//!
//! A read whose read set is invalidated before its audit event is committed must be computed again. Under constant
//! writes that could repeat without end. So the second attempt takes a lease first: the commit thread opens the
//! transaction of the audit event and locks the head row, and only then the read is computed, in a snapshot of its
//! own. No write of the tenant can commit in between.
//!
//! ```text
//! call (resolver)                 commit thread                                 other writers
//!    │ attempt 1: append ──────────► read set is stale
//!    │ ◄──────────── Stale ────────── │
//!    │ lease_head ─────────────────► begin, run side effects, lock head rows
//!    │ ◄──────────── Lease ────────── │ waits on the EventSlot,                  │ commit waits for
//!    │ read in a new snapshot         │ at most HEAD_LEASE_MAX (50 ms)           │ the head row
//!    │ Lease::append(event) ───────► event arrives: check, append, commit        │
//!    │ ◄─────────── Receipt ───────── │ ─────────────────────────────────────────► continues
//! ```
//!
//! A lease ends with its event, when it is dropped, when its task writes something else, or after
//! [`HEAD_LEASE_MAX`](limits::HEAD_LEASE_MAX). In the last two cases a later `append` returns `Stale`, and the read
//! is computed once more without a lease. Several leases are granted together in one transaction; the transaction
//! waits for the events of all of them.
//!
//! **Why a write releases the lease of its task.** A write needs the head row (on SQLite the write lock), which the
//! commit thread holds until the leased event arrives. If the leased call itself writes, the two would wait for each
//! other until the time is up. So `Store::submit` releases the lease of the current tokio task. A lease is found by
//! its task because a scheme calls the store without any handle of the call; a write from a task that the leased call
//! has *spawned* is not recognised and waits up to 50 ms.
//!
//! Measured beside a process that adds without a pause (`docs/decisions/0003-memory.md`): p99 of a read 7 ms; without
//! leases 12 to 24 ms, and 2 to 4 % of the reads refused with `BUSY`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quad_core::lock::MutexExt as _;
use quad_core::{
    AppendError, EventDraft, HeadLease, PendingAppend, ReadSets, Result, SideEffect, TenantId, Timestamp,
    Version,
};
use tokio::sync::oneshot;
use tokio::task;

use crate::commit::{self, AuditJob, CommitJob, ReplyTiming};
use crate::connection::Connection;
use crate::fast_path::side_effect;
use crate::recent_changes::RecentChanges;
use crate::tx_error::TxError;
use crate::write_transaction::WriteTransaction;
use crate::{head, limits};

/// A request for a lease, on its way to the commit thread.
pub(crate) struct LeaseRequest {
    pub(crate) tenant: TenantId,
    /// The side effect of the read. Like every side effect, it runs before the head row is locked.
    pub(crate) side_effect: Option<SideEffect>,
    pub(crate) owner: LeaseOwner,
    pub(crate) reply: oneshot::Sender<Lease>,
}

/// The tokio task that holds a lease. A call runs in one task from its request to its audit event.
#[derive(Clone)]
pub(crate) struct LeaseOwner {
    task: task::Id,
    leases: Arc<ActiveLeases>,
}

/// The leases of this process, by task.
#[derive(Default)]
pub(crate) struct ActiveLeases(Mutex<HashMap<task::Id, Arc<EventSlot>>>);

impl ActiveLeases {
    /// The current task as a lease owner. `None` outside of a tokio task.
    pub(crate) fn current_task(self: &Arc<ActiveLeases>) -> Option<LeaseOwner> {
        task::try_id().map(|task| LeaseOwner { task, leases: self.clone() })
    }

    /// Ends the lease of the current task, if it has one. See the module docs for the reason.
    pub(crate) fn release_for_current_task(&self) {
        if let Some(slot) = task::try_id().and_then(|task| self.lock().remove(&task)) {
            slot.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<task::Id, Arc<EventSlot>>> {
        self.0.lock_unpoisoned()
    }
}

/// A granted lease.
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
        // The lease has ended, so a write may have committed since.
        PendingAppend::ready(Err(AppendError::Stale(0)))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.owner.leases.lock().remove(&self.owner.task);
        self.slot.close();
    }
}

/// Passes the event of a leased read to the commit thread.
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
        self.state.lock_unpoisoned()
    }

    /// Passes an event; returns false if the commit thread no longer waits for it.
    fn put(&self, job: Box<AuditJob>) -> bool {
        let mut state = self.lock();
        let is_awaited = matches!(*state, SlotState::Waiting);
        if is_awaited {
            *state = SlotState::Filled(job);
            self.changed.notify_one();
        }
        is_awaited
    }

    /// Tells the commit thread that no event will come. An event that was already passed is kept.
    fn close(&self) {
        let mut state = self.lock();
        if matches!(*state, SlotState::Waiting) {
            *state = SlotState::Closed;
            self.changed.notify_one();
        }
    }

    /// Waits for the event until the deadline, then closes the slot.
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

/// Grants leases, all in one transaction, and commits their events. If that fails, the requests are dropped and the
/// reads are computed without a lease.
pub(crate) fn grant_leases(
    connection: &mut Connection,
    recent_changes: &RecentChanges,
    requests: Vec<LeaseRequest>,
) {
    let now = Timestamp::now();
    let transaction = match lock_heads(connection, &requests, now) {
        Ok(transaction) => transaction,
        Err(error) => {
            tracing::debug!(cause = error.into_error().cause_chain(), "head lease not granted");
            connection.rollback();
            return;
        }
    };
    // The side effects have already run, so they may be committed only if every event is.
    let min_events =
        if requests.iter().any(|request| request.side_effect.is_some()) { requests.len() } else { 0 };
    commit::commit_leased(transaction, recent_changes, wait_for_events(requests), min_events, now);
}

/// Begins the transaction, runs the side effects and locks the head rows, each in the order that keeps processes from
/// deadlocks.
fn lock_heads<'c>(
    connection: &'c mut Connection,
    requests: &[LeaseRequest],
    now: Timestamp,
) -> Result<WriteTransaction<'c>, TxError> {
    connection.check_file()?;
    connection.set_sync_commit(true)?;
    let mut transaction = WriteTransaction::begin(connection)?;
    let mut side_effects: Vec<(&TenantId, &SideEffect)> = requests
        .iter()
        .filter_map(|request| Some((&request.tenant, request.side_effect.as_ref()?)))
        .collect();
    side_effects.sort_by_key(|(tenant, side_effect)| (*tenant, side_effect.lock_order));
    for (tenant, side_effect) in side_effects {
        let version = head::version(transaction.connection, tenant)?.unwrap_or(Version(0));
        side_effect::run(&mut transaction, tenant, version, now, side_effect)?;
    }
    let tenants: BTreeSet<&TenantId> = requests.iter().map(|request| &request.tenant).collect();
    for tenant in tenants {
        head::lock(transaction.connection, tenant)?;
    }
    Ok(transaction)
}

/// Grants the leases and waits for their events.
fn wait_for_events(requests: Vec<LeaseRequest>) -> Vec<CommitJob> {
    let deadline = Instant::now() + limits::HEAD_LEASE_MAX;
    let grant = |LeaseRequest { tenant, owner, reply, .. }| {
        let lease = Lease::new(tenant, owner);
        let slot = lease.slot.clone();
        // If the caller is gone, the lease is dropped here, which ends it.
        drop(reply.send(lease));
        slot
    };
    let slots: Vec<Arc<EventSlot>> = requests.into_iter().map(grant).collect();
    slots.iter().filter_map(|slot| slot.wait(deadline)).map(CommitJob::AuditEvent).collect()
}
