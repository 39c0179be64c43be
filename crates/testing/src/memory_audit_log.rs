//! An audit log and a change feed in memory.

use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;
use quad_core::{
    AppendError, AuditLog, Change, ChangeFeed, Error, EventDraft, PendingAppend, ReadSets, Receipt, Resolver,
    Result, Scheme, SideEffect, Tag, TenantId, Version,
};
use tokio::sync::broadcast;

/// Changes that a slow subscriber can fall behind.
const CHANGES_BUFFERED: usize = 64;

/// Keeps the changes and the audit events of one tenant. Like the store, it rejects an event whose read set was
/// invalidated. It has no head leases, and ignores side effects.
pub struct MemoryAuditLog {
    state: Mutex<State>,
    changes: broadcast::Sender<Arc<Change>>,
    fails: bool,
}

#[derive(Default)]
struct State {
    changes: Vec<Arc<Change>>,
    events: Vec<EventDraft>,
}

impl State {
    /// A change is the commit of one version.
    fn version(&self) -> Version {
        self.changes.last().map_or(Version(0), |change| change.version)
    }

    fn receipt(&self) -> Receipt {
        let sequence = self.events.len() as i64;
        Receipt {
            version: self.version(),
            sequence: Some(sequence),
            event_id: format!("evt_{sequence}").into(),
        }
    }
}

impl Default for MemoryAuditLog {
    fn default() -> MemoryAuditLog {
        MemoryAuditLog {
            state: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES_BUFFERED),
            fails: false,
        }
    }
}

impl MemoryAuditLog {
    /// A log that records every event and then reports that the append failed.
    pub fn failing() -> MemoryAuditLog {
        MemoryAuditLog { fails: true, ..MemoryAuditLog::default() }
    }

    /// A resolver of these schemes with this log.
    pub fn resolver(self: &Arc<MemoryAuditLog>, schemes: Vec<Arc<dyn Scheme>>) -> Result<Resolver> {
        Resolver::new(schemes, self.clone(), self.clone())
    }

    /// Commits a change that invalidates these tags, without an event.
    pub fn commit(&self, tags: Vec<Tag>) -> Receipt {
        let mut state = self.state();
        let change = Arc::new(Change { version: Version(state.version().0 + 1), tags });
        state.changes.push(change.clone());
        // Fails without subscribers.
        let _ = self.changes.send(change);
        state.receipt()
    }

    /// The current version.
    pub fn version(&self) -> Version {
        self.state().version()
    }

    /// The events so far.
    pub fn events(&self) -> Vec<EventDraft> {
        self.state().events.clone()
    }

    /// Removes the events so far and returns them. The next event has the sequence 1 again.
    pub fn take_events(&self) -> Vec<EventDraft> {
        std::mem::take(&mut self.state().events)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock_unpoisoned()
    }
}

#[async_trait::async_trait]
impl AuditLog for MemoryAuditLog {
    fn append<'a>(
        &'a self,
        _: &'a TenantId,
        event: EventDraft,
        read_sets: ReadSets,
        _: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        let mut state = self.state();
        for (index, read_set) in read_sets.iter().enumerate() {
            let after = read_set.version.unwrap_or(Version(0));
            let mut newer = state.changes.iter().filter(|change| change.version > after);
            if newer.any(|change| read_set.is_invalidated_by(&change.tags)) {
                return PendingAppend::ready(Err(AppendError::Stale(index)));
            }
        }
        state.events.push(event);
        let outcome = match self.fails {
            true => Err(AppendError::Failed(Error::internal("disk full"))),
            false => Ok(state.receipt()),
        };
        PendingAppend::ready(outcome)
    }
}

#[async_trait::async_trait]
impl ChangeFeed for MemoryAuditLog {
    async fn subscribe(&self, _: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>> {
        Ok(self.changes.subscribe())
    }
}
