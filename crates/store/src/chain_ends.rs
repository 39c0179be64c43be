//! The ends of the chains that this process extends, in memory, and how much of each a checkpoint covers.
//!
//! The table `head` is authoritative. This copy spares the checkpoint signer a query over all tenants for each check,
//! and tells it at once that many events are new. Events that only other processes have written are not in it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quad_core::TenantId;
use quad_core::lock::MutexExt as _;
use tokio::sync::Notify;

use crate::limits;

/// The ends of the chains of all tenants whose events this process has committed.
#[derive(Default)]
pub struct ChainEnds {
    tenants: Mutex<HashMap<TenantId, ChainEnd>>,
    many_uncovered: Notify,
}

struct ChainEnd {
    sequence: i64,
    /// The events up to here have a checkpoint.
    covered: i64,
    /// The first event without a checkpoint was committed at this time or later.
    uncovered_since: Instant,
}

impl ChainEnd {
    fn uncovered(&self) -> i64 {
        self.sequence - self.covered
    }
}

/// The events of a tenant that no checkpoint covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncoveredEvents {
    /// The tenant.
    pub tenant: TenantId,
    /// Their number.
    pub count: u64,
    /// The age of the first of them, at most.
    pub age: Duration,
}

impl ChainEnds {
    /// Records a commit that has appended events. Commits of one tenant may be recorded in any order.
    pub(crate) fn record_commit(&self, tenant: &TenantId, sequence_before: i64, sequence: i64) {
        let mut tenants = self.tenants();
        if !tenants.contains_key(tenant) {
            if tenants.len() >= limits::CHAIN_ENDS_MAX {
                tenants.retain(|_, end| end.uncovered() > 0);
            }
            // Older events without a checkpoint are found by the signer's query.
            let end = ChainEnd {
                sequence: sequence_before,
                covered: sequence_before,
                uncovered_since: Instant::now(),
            };
            tenants.insert(tenant.clone(), end);
        }
        let Some(end) = tenants.get_mut(tenant) else { return };
        if end.uncovered() == 0 {
            end.uncovered_since = Instant::now();
        }
        end.sequence = end.sequence.max(sequence);
        let has_many = end.uncovered() >= limits::AUDIT_CHECKPOINT_EVENTS;
        drop(tenants);
        if has_many {
            self.many_uncovered.notify_one();
        }
    }

    /// Records that a checkpoint covers `size` events. `later_since` is a time before the first event after it was
    /// committed, if such a time is known.
    pub fn record_checkpoint(&self, tenant: &TenantId, size: i64, later_since: Option<Instant>) {
        let mut tenants = self.tenants();
        let Some(end) = tenants.get_mut(tenant).filter(|end| size > end.covered) else { return };
        end.covered = size;
        end.sequence = end.sequence.max(size);
        if let Some(since) = later_since {
            end.uncovered_since = end.uncovered_since.max(since);
        }
    }

    /// Waits until a commit leaves [`AUDIT_CHECKPOINT_EVENTS`](limits::AUDIT_CHECKPOINT_EVENTS) of a tenant without a
    /// checkpoint. Returns at once if that has happened since the last call. For one caller at a time.
    pub async fn wait_for_many_uncovered(&self) {
        self.many_uncovered.notified().await;
    }

    /// The tenants with events that no checkpoint covers, as far as this process knows.
    pub fn uncovered(&self) -> Vec<UncoveredEvents> {
        let tenants = self.tenants();
        let uncovered = tenants.iter().filter(|(_, end)| end.uncovered() > 0);
        uncovered
            .map(|(tenant, end)| UncoveredEvents {
                tenant: tenant.clone(),
                count: end.uncovered().unsigned_abs(),
                age: end.uncovered_since.elapsed(),
            })
            .collect()
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, ChainEnd>> {
        self.tenants.lock_unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncovered(ends: &ChainEnds) -> Vec<(String, u64)> {
        let mut uncovered: Vec<_> =
            ends.uncovered().iter().map(|events| (events.tenant.as_str().to_owned(), events.count)).collect();
        uncovered.sort();
        uncovered
    }

    #[test]
    fn uncovered_events_are_those_after_the_last_checkpoint() {
        let ends = ChainEnds::default();
        let (first, second) = (TenantId::new("a"), TenantId::new("b"));
        ends.record_checkpoint(&first, 5, None);
        ends.record_commit(&first, 10, 13);
        ends.record_commit(&second, 0, 1);
        assert_eq!(uncovered(&ends), [("a".to_owned(), 3), ("b".to_owned(), 1)]);
        // Two commits that are recorded in the wrong order.
        ends.record_commit(&first, 15, 20);
        ends.record_commit(&first, 13, 15);
        ends.record_checkpoint(&second, 1, None);
        assert_eq!(uncovered(&ends), [("a".to_owned(), 10)]);
        ends.record_checkpoint(&first, 18, None);
        ends.record_checkpoint(&first, 12, None);
        assert_eq!(uncovered(&ends), [("a".to_owned(), 2)]);
        // A checkpoint of another process covers events that this process has not seen.
        ends.record_checkpoint(&first, 30, None);
        assert_eq!(uncovered(&ends), []);
        ends.record_commit(&first, 30, 31);
        assert_eq!(uncovered(&ends), [("a".to_owned(), 1)]);
    }

    #[test]
    fn age_is_that_of_the_first_uncovered_event() {
        let ends = ChainEnds::default();
        let tenant = TenantId::new("a");
        let age = || ends.uncovered()[0].age;
        ends.record_commit(&tenant, 0, 1);
        std::thread::sleep(Duration::from_millis(20));
        let before_second = Instant::now();
        ends.record_commit(&tenant, 1, 2);
        assert!(age() >= Duration::from_millis(20));
        ends.record_checkpoint(&tenant, 1, Some(before_second));
        assert!(age() <= before_second.elapsed());
        ends.record_checkpoint(&tenant, 2, None);
        std::thread::sleep(Duration::from_millis(20));
        let before_third = Instant::now();
        ends.record_commit(&tenant, 2, 3);
        assert!(age() <= before_third.elapsed());
    }

    #[tokio::test]
    async fn signer_is_notified_of_many_uncovered_events() {
        let ends = ChainEnds::default();
        let tenant = TenantId::new("a");
        let many = limits::AUDIT_CHECKPOINT_EVENTS;
        let is_notified =
            async || tokio::time::timeout(Duration::ZERO, ends.wait_for_many_uncovered()).await.is_ok();
        ends.record_commit(&tenant, 0, many - 1);
        assert!(!is_notified().await);
        ends.record_commit(&tenant, many - 1, many);
        assert!(is_notified().await);
        assert!(!is_notified().await);
    }
}
