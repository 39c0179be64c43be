//! The changes that this process knows of, and who listens to them.
//!
//! The change table is the truth. This is a mirror of its newest part, extended by whoever sees a newer head: a commit of
//! this process at once, a commit of another when the poller or an audit commit finds it. It answers two questions: does
//! this basis still hold, and who must hear of that change.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::{ReadSet, Change, TenantId, Timestamp, Version};
use tokio::sync::broadcast;

use crate::limits;

/// The mirror of the change log.
#[derive(Default)]
pub(crate) struct Mirror {
    tenants: Mutex<HashMap<TenantId, Recent>>,
}

struct Recent {
    /// Changes in version order without a gap.
    changes: VecDeque<Arc<Change>>,
    /// The version up to which the mirror is complete.
    complete_to: Version,
    listeners: Option<broadcast::Sender<Arc<Change>>>,
}

impl Mirror {
    /// The version up to which changes of this tenant are known; `None` when nothing is.
    pub(crate) fn known_to(&self, tenant: &TenantId) -> Option<Version> {
        self.tenants().get(tenant).map(|recent| recent.complete_to)
    }

    /// Takes the committed changes after `known` that bring the mirror to `head`, in version order. Those it knows already
    /// are ignored; a tenant that is met for the first time is known from `known` on.
    pub(crate) fn extend(&self, tenant: &TenantId, known: Version, head: Version, changes: &[Arc<Change>]) {
        let mut tenants = self.tenants();
        if !tenants.contains_key(tenant) {
            if tenants.len() >= limits::TENANTS_REMEMBERED {
                tenants.retain(|_, recent| recent.is_heard());
            }
            tenants.insert(
                tenant.clone(),
                Recent { changes: VecDeque::new(), complete_to: known, listeners: None },
            );
        }
        let Some(recent) = tenants.get_mut(tenant) else { return };
        for change in changes.iter().filter(|change| change.version <= head) {
            if change.version <= recent.complete_to {
                continue;
            }
            if change.version.0 != recent.complete_to.0 + 1 {
                // A gap: older changes were pruned or too many. What lies before it cannot be vouched for.
                recent.changes.clear();
            }
            recent.complete_to = change.version;
            recent.changes.push_back(change.clone());
            if recent.changes.len() > limits::CHANGES_REMEMBERED {
                recent.changes.pop_front();
            }
            if let Some(listeners) = &recent.listeners {
                // No receiver is left: they have all gone.
                if listeners.send(change.clone()).is_err() {
                    recent.listeners = None;
                }
            }
        }
    }

    /// Whether `basis` still holds at `head`, given changes beyond the mirror that the caller's own transaction is about
    /// to make. The mirror must be complete to `head`; when it does not reach back to the basis, the answer is no.
    pub(crate) fn holds(
        &self,
        tenant: &TenantId,
        basis: &ReadSet,
        head: Version,
        pending: &[Arc<Change>],
        now: Timestamp,
    ) -> bool {
        if basis.valid_until.is_some_and(|until| until <= now) {
            return false;
        }
        if pending.iter().any(|change| basis.is_invalidated_by(&change.tags)) {
            return false;
        }
        let Some(version) = basis.version else { return true };
        if version >= head {
            return true;
        }
        let tenants = self.tenants();
        let Some(recent) = tenants.get(tenant) else { return false };
        let reaches_back = recent.changes.front().is_some_and(|first| first.version.0 <= version.0 + 1);
        if !reaches_back || recent.complete_to < head {
            return false;
        }
        !recent
            .changes
            .iter()
            .rev()
            .take_while(|change| change.version > version)
            .any(|change| basis.is_invalidated_by(&change.tags))
    }

    /// Changes of one tenant after `head`, which the caller has just read.
    pub(crate) fn listen(&self, tenant: &TenantId, head: Version) -> broadcast::Receiver<Arc<Change>> {
        let mut tenants = self.tenants();
        let recent = tenants.entry(tenant.clone()).or_insert_with(|| Recent {
            changes: VecDeque::new(),
            complete_to: head,
            listeners: None,
        });
        match &recent.listeners {
            Some(listeners) => listeners.subscribe(),
            None => {
                let (sender, receiver) = broadcast::channel(quad_core::limits::CHANGES_BUFFERED);
                recent.listeners = Some(sender);
                receiver
            }
        }
    }

    /// The tenants that somebody listens to, and how far each is known.
    pub(crate) fn heard(&self) -> Vec<(TenantId, Version)> {
        let tenants = self.tenants();
        let heard = tenants.iter().filter(|(_, recent)| recent.is_heard());
        heard.map(|(tenant, recent)| (tenant.clone(), recent.complete_to)).collect()
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, Recent>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn is_heard(&self) -> bool {
        self.listeners.as_ref().is_some_and(|listeners| listeners.receiver_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::Tag;

    fn change(version: i64, tag: &str) -> Arc<Change> {
        Arc::new(Change { version: Version(version), tags: vec![Tag::new(tag)] })
    }

    fn basis(version: i64, tag: &str) -> ReadSet {
        ReadSet::at_version(Version(version)).with_tag(Tag::new(tag))
    }

    #[test]
    fn a_basis_holds_until_one_of_its_tags_changes() {
        let mirror = Mirror::default();
        let tenant = TenantId::new("t");
        let now = Timestamp(0);
        mirror.extend(&tenant, Version(5), Version(7), &[change(6, "a"), change(7, "b")]);
        let holds =
            |basis: &ReadSet, pending: &[Arc<Change>]| mirror.holds(&tenant, basis, Version(7), pending, now);
        assert!(holds(&basis(7, "b"), &[]));
        assert!(!holds(&basis(6, "b"), &[]));
        assert!(holds(&basis(6, "a"), &[]));
        assert!(!holds(&basis(5, "a"), &[]));
        assert!(holds(&basis(5, "c"), &[]));
        assert!(!holds(&basis(4, "c"), &[]), "older than the mirror reaches: not vouched for");
        assert!(!holds(&basis(7, "c"), &[change(8, "c")]), "touched by the group's own change");
        let mut timed = basis(7, "c");
        timed.valid_until = Some(Timestamp(0));
        assert!(!holds(&timed, &[]));
    }

    #[test]
    fn a_gap_forgets_what_lies_before_it() {
        let mirror = Mirror::default();
        let tenant = TenantId::new("t");
        mirror.extend(&tenant, Version(1), Version(2), &[change(2, "a")]);
        mirror.extend(&tenant, Version(2), Version(9), &[change(9, "b")]);
        assert!(!mirror.holds(&tenant, &basis(2, "z"), Version(9), &[], Timestamp(0)));
        assert!(mirror.holds(&tenant, &basis(8, "z"), Version(9), &[], Timestamp(0)));
    }

    #[test]
    fn listeners_hear_each_change_once() {
        let mirror = Mirror::default();
        let tenant = TenantId::new("t");
        let mut listener = mirror.listen(&tenant, Version(3));
        mirror.extend(&tenant, Version(3), Version(4), &[change(4, "a")]);
        mirror.extend(&tenant, Version(3), Version(5), &[change(4, "a"), change(5, "b")]);
        assert_eq!(listener.try_recv().unwrap().version, Version(4));
        assert_eq!(listener.try_recv().unwrap().version, Version(5));
        assert!(listener.try_recv().is_err());
    }
}
