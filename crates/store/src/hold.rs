//! A hold: the data stands still while one answer is computed and its event is written.
//!
//! An answer that others keep overtaking would be computed again and again. So whoever was overtaken asks for a hold: the writer begins
//! the transaction of the answer's event first and locks the head, and only then is the answer computed, in a snapshot of its own that
//! nobody can make old. It is the one transaction that waits for somebody, so it waits [for a moment](limits::HOLD_TIME) and no longer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quad_core::{
    ReadSets, SideEffect, EventDraft, HeadLease, AppendError, PendingAppend, Result, TenantId, Timestamp, Version,
};
use tokio::sync::oneshot;
use tokio::task;

use crate::commit::{self, Answer, Job, Record};
use crate::connection::Connection;
use crate::feed::Mirror;
use crate::{errand, head, limits};

/// A hold that somebody waits for.
pub(crate) struct Wanted {
    pub(crate) tenant: TenantId,
    /// What is to be done for the answer. It comes before the head is locked, as every errand.
    pub(crate) errand: Option<SideEffect>,
    pub(crate) holder: Holder,
    pub(crate) granted: oneshot::Sender<Held>,
}

/// Who holds. A call is one task, from its question to its event.
#[derive(Clone)]
pub(crate) struct Holder {
    task: task::Id,
    holders: Arc<Holders>,
}

/// All who hold in this process.
#[derive(Default)]
pub(crate) struct Holders(Mutex<HashMap<task::Id, Arc<Slot>>>);

impl Holders {
    /// The call that is running, if it is one that can hold.
    pub(crate) fn this_call(self: &Arc<Holders>) -> Option<Holder> {
        task::try_id().map(|task| Holder { task, holders: self.clone() })
    }

    /// Gives up what the running call holds, if it does: it wants something else of the writer, who waits for it.
    pub(crate) fn give_up(&self) {
        if let Some(slot) = task::try_id().and_then(|task| self.lock().remove(&task)) {
            slot.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<task::Id, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hold that was granted. It ends with its event, when it is dropped, or when its time is up.
pub(crate) struct Held {
    tenant: TenantId,
    holder: Holder,
    slot: Arc<Slot>,
}

impl Held {
    fn new(tenant: TenantId, holder: Holder) -> Held {
        let slot = Arc::new(Slot::default());
        holder.holders.lock().insert(holder.task, slot.clone());
        Held { tenant, holder, slot }
    }
}

impl HeadLease for Held {
    fn append(self: Box<Self>, event: EventDraft, bases: ReadSets) -> PendingAppend<'static> {
        let (reply, receipt) = oneshot::channel();
        let answer = Answer::Waits { bases, reply };
        let record = Record { tenant: self.tenant.clone(), event, errand: None, answer };
        if self.slot.put(Box::new(record)) {
            return PendingAppend::Queued(receipt);
        }
        // It was over before the answer was there: somebody may have changed anything since.
        PendingAppend::Future(Box::pin(std::future::ready(Err(AppendError::Stale(0)))))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.holder.holders.lock().remove(&self.holder.task);
        self.slot.end();
    }
}

/// Where the event of a held answer is handed over.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Full(Box<Record>),
    Over,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over an event; says whether somebody still waited for it.
    fn put(&self, record: Box<Record>) -> bool {
        let mut state = self.lock();
        let is_awaited = matches!(*state, State::Empty);
        if is_awaited {
            *state = State::Full(record);
            self.changed.notify_one();
        }
        is_awaited
    }

    /// Says that no event will come. One that was handed over stays.
    fn end(&self) {
        let mut state = self.lock();
        if matches!(*state, State::Empty) {
            *state = State::Over;
            self.changed.notify_one();
        }
    }

    /// Waits for the event, and from then on takes no other.
    fn wait(&self, until: Instant) -> Option<Box<Record>> {
        let mut state = self.lock();
        while matches!(*state, State::Empty) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Full(record) => Some(record),
            State::Empty | State::Over => None,
        }
    }
}

/// Grants holds, all in one transaction, and writes the events that come of them. A hold that cannot be granted is dropped: then its
/// answer is computed as any other.
pub(crate) fn run(connection: &mut Connection, mirror: &Mirror, wanted: Vec<Wanted>) {
    let now = Timestamp::now();
    if let Err(error) = begin(connection, &wanted, now) {
        tracing::debug!(cause = error.cause_chain(), "the head could not be held");
        connection.rollback();
        return;
    }
    // An errand has been run for each, so each must lead to its event.
    let at_least = if wanted.iter().any(|wanted| wanted.errand.is_some()) { wanted.len() } else { 0 };
    commit::write_held(connection, mirror, answers(wanted), at_least, now);
}

/// Begins the transaction, runs the errands and locks the heads, each in the one order that keeps processes from waiting for each other.
fn begin(connection: &mut Connection, wanted: &[Wanted], now: Timestamp) -> Result<()> {
    connection.wait_for_disk(true)?;
    connection.begin_write()?;
    let mut errands: Vec<(&TenantId, &SideEffect)> =
        wanted.iter().filter_map(|wanted| Some((&wanted.tenant, wanted.errand.as_ref()?))).collect();
    errands.sort_by_key(|(tenant, errand)| (*tenant, errand.lock_order));
    for (tenant, errand) in errands {
        let version = head::version(connection, tenant)?.unwrap_or(Version(0));
        errand::run(connection, tenant, version, now, errand)?;
    }
    let tenants: BTreeSet<&TenantId> = wanted.iter().map(|wanted| &wanted.tenant).collect();
    for tenant in tenants {
        head::lock(connection, tenant)?;
    }
    Ok(())
}

/// Tells everybody to go on, and waits for what they have to write down.
fn answers(wanted: Vec<Wanted>) -> Vec<Job> {
    let until = Instant::now() + limits::HOLD_TIME;
    let grant = |Wanted { tenant, holder, granted, .. }| {
        let held = Held::new(tenant, holder);
        let slot = held.slot.clone();
        // Whoever has gone away lets go by that.
        drop(granted.send(held));
        slot
    };
    let slots: Vec<Arc<Slot>> = wanted.into_iter().map(grant).collect();
    slots.iter().filter_map(|slot| slot.wait(until)).map(Job::Record).collect()
}
