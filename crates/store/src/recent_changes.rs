//! The newest part of each tenant's change log, in memory, and the subscribers of this process.
//!
//! The table `change` is authoritative. This copy is extended after each commit of this process, and when the poller
//! or an audit commit finds a commit of another process. It answers two questions: is this read set current, and
//! which subscribers must be notified of this change?

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;
use quad_core::{Change, ReadSet, TenantId, Timestamp, Version};
use tokio::sync::broadcast;

use crate::chain_ends::ChainEnds;
use crate::limits;

/// The recent changes of all tenants that this process has read or written.
#[derive(Default)]
pub(crate) struct RecentChanges {
    /// The ends of their chains. Here, because both are updated after each commit.
    pub(crate) chain_ends: ChainEnds,
    tenants: Mutex<HashMap<TenantId, TenantChanges>>,
}

struct TenantChanges {
    /// Changes in version order, without a gap.
    changes: VecDeque<Arc<Change>>,
    /// All changes up to this version have been seen.
    complete_through: Version,
    subscribers: Option<broadcast::Sender<Arc<Change>>>,
}

impl RecentChanges {
    /// The version up to which this tenant's changes are known; `None` if nothing is known.
    pub(crate) fn loaded_version(&self, tenant: &TenantId) -> Option<Version> {
        self.tenants().get(tenant).map(|recent| recent.complete_through)
    }

    /// Adds the committed changes after version `after` up to `head`, in version order, and notifies subscribers.
    /// Changes that are already known are skipped. A tenant that is new here is known from `after` on.
    pub(crate) fn extend(&self, tenant: &TenantId, after: Version, head: Version, changes: &[Arc<Change>]) {
        let mut tenants = self.tenants();
        if !tenants.contains_key(tenant) {
            if tenants.len() >= limits::RECENT_TENANTS_MAX {
                tenants.retain(|_, recent| recent.has_subscribers());
            }
            tenants.insert(
                tenant.clone(),
                TenantChanges { changes: VecDeque::new(), complete_through: after, subscribers: None },
            );
        }
        let Some(recent) = tenants.get_mut(tenant) else { return };
        for change in changes.iter().filter(|change| change.version <= head) {
            if change.version <= recent.complete_through {
                continue;
            }
            if change.version.0 != recent.complete_through.0 + 1 {
                // A gap: older changes were pruned or too many. Nothing can be said about versions before it.
                recent.changes.clear();
            }
            recent.complete_through = change.version;
            recent.changes.push_back(change.clone());
            if recent.changes.len() > limits::RECENT_CHANGES_MAX {
                recent.changes.pop_front();
            }
            if let Some(subscribers) = &recent.subscribers {
                // No receiver is left.
                if subscribers.send(change.clone()).is_err() {
                    recent.subscribers = None;
                }
            }
        }
    }

    /// Whether a read set is current at version `head` and after the `pending` changes of the caller's own
    /// transaction. The changes up to `head` must have been loaded. If they do not reach back to the read set's
    /// version, the answer is no.
    pub(crate) fn is_current(
        &self,
        tenant: &TenantId,
        read_set: &ReadSet,
        head: Version,
        pending: &[Arc<Change>],
        now: Timestamp,
    ) -> bool {
        if read_set.valid_until.is_some_and(|until| until <= now) {
            return false;
        }
        if pending.iter().any(|change| read_set.is_invalidated_by(&change.tags)) {
            return false;
        }
        let Some(version) = read_set.version else { return true };
        if version >= head {
            return true;
        }
        let tenants = self.tenants();
        let Some(recent) = tenants.get(tenant) else { return false };
        let reaches_back = recent.changes.front().is_some_and(|first| first.version.0 <= version.0 + 1);
        if !reaches_back || recent.complete_through < head {
            return false;
        }
        !recent
            .changes
            .iter()
            .rev()
            .take_while(|change| change.version > version)
            .any(|change| read_set.is_invalidated_by(&change.tags))
    }

    /// Subscribes to the changes of one tenant after `head`, which the caller has just read.
    pub(crate) fn subscribe(&self, tenant: &TenantId, head: Version) -> broadcast::Receiver<Arc<Change>> {
        let mut tenants = self.tenants();
        let recent = tenants.entry(tenant.clone()).or_insert_with(|| TenantChanges {
            changes: VecDeque::new(),
            complete_through: head,
            subscribers: None,
        });
        match &recent.subscribers {
            Some(subscribers) => subscribers.subscribe(),
            None => {
                let (sender, receiver) = broadcast::channel(quad_core::limits::CHANGES_BUFFERED);
                recent.subscribers = Some(sender);
                receiver
            }
        }
    }

    /// The tenants with subscribers, and the version up to which each is known.
    pub(crate) fn subscribed_tenants(&self) -> Vec<(TenantId, Version)> {
        let tenants = self.tenants();
        let subscribed = tenants.iter().filter(|(_, recent)| recent.has_subscribers());
        subscribed.map(|(tenant, recent)| (tenant.clone(), recent.complete_through)).collect()
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, TenantChanges>> {
        self.tenants.lock_unpoisoned()
    }
}

impl TenantChanges {
    fn has_subscribers(&self) -> bool {
        self.subscribers.as_ref().is_some_and(|subscribers| subscribers.receiver_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::Tag;

    fn change(version: i64, tag: &str) -> Arc<Change> {
        Arc::new(Change { version: Version(version), tags: vec![Tag::new(tag)] })
    }

    fn read_set(version: i64, tag: &str) -> ReadSet {
        ReadSet::at_version(Version(version)).with_tag(Tag::new(tag))
    }

    #[test]
    fn read_set_is_current_until_one_of_its_tags_changes() {
        let recent_changes = RecentChanges::default();
        let tenant = TenantId::new("t");
        let now = Timestamp(0);
        recent_changes.extend(&tenant, Version(5), Version(7), &[change(6, "a"), change(7, "b")]);
        let is_current = |read_set: &ReadSet, pending: &[Arc<Change>]| {
            recent_changes.is_current(&tenant, read_set, Version(7), pending, now)
        };
        assert!(is_current(&read_set(7, "b"), &[]));
        assert!(!is_current(&read_set(6, "b"), &[]));
        assert!(is_current(&read_set(6, "a"), &[]));
        assert!(!is_current(&read_set(5, "a"), &[]));
        assert!(is_current(&read_set(5, "c"), &[]));
        assert!(!is_current(&read_set(4, "c"), &[]), "older than the first change in memory");
        assert!(
            !is_current(&read_set(7, "c"), &[change(8, "c")]),
            "invalidated by a pending change of the same batch"
        );
        let mut expired = read_set(7, "c");
        expired.valid_until = Some(Timestamp(0));
        assert!(!is_current(&expired, &[]));
    }

    #[test]
    fn version_gap_drops_older_changes() {
        let recent_changes = RecentChanges::default();
        let tenant = TenantId::new("t");
        recent_changes.extend(&tenant, Version(1), Version(2), &[change(2, "a")]);
        recent_changes.extend(&tenant, Version(2), Version(9), &[change(9, "b")]);
        assert!(!recent_changes.is_current(&tenant, &read_set(2, "z"), Version(9), &[], Timestamp(0)));
        assert!(recent_changes.is_current(&tenant, &read_set(8, "z"), Version(9), &[], Timestamp(0)));
    }

    #[test]
    fn subscribers_receive_each_change_once() {
        let recent_changes = RecentChanges::default();
        let tenant = TenantId::new("t");
        let mut receiver = recent_changes.subscribe(&tenant, Version(3));
        recent_changes.extend(&tenant, Version(3), Version(4), &[change(4, "a")]);
        recent_changes.extend(&tenant, Version(3), Version(5), &[change(4, "a"), change(5, "b")]);
        assert_eq!(receiver.try_recv().unwrap().version, Version(4));
        assert_eq!(receiver.try_recv().unwrap().version, Version(5));
        assert!(receiver.try_recv().is_err());
    }
}
