//! Refused credentials, counted in the audit.
//!
//! A refusal whose tenant is not proven is counted in the chain of `system`, never in that of a tenant that the credential
//! merely claims; one of a registered holder stands in its tenant's own. Everybody can send bad credentials, as many as they
//! like, so refusals of one kind within a second become one event with a count: the first is written at once, those that
//! follow when the second is over. A process that is killed loses the counts of its last second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::{EventDraft, AuditLog as _, TenantId, Timestamp};
use quad_store::Store;
use tokio::task::JoinSet;

use crate::limits;
use crate::refusal::{Holder, Refusal};

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// Nobody in particular where nothing is proven.
    holder: Option<Holder>,
    reason: &'static str,
    code: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    refusals: u64,
    since: Timestamp,
}

#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<Group, Count>,
    /// Somebody writes, or waits for the second to end.
    busy: bool,
}

/// Counts refusals.
pub struct Refusals {
    store: Store,
    tally: Mutex<Tally>,
    /// Held while counts are on their way to the database.
    writing: tokio::sync::Mutex<()>,
}

impl Refusals {
    /// Nothing refused yet.
    pub fn new(store: Store) -> Refusals {
        Refusals { store, tally: Mutex::default(), writing: tokio::sync::Mutex::default() }
    }

    /// Counts a refused credential. A failure of ours is none.
    pub fn count(self: &Arc<Refusals>, refusal: &Refusal) {
        if !refusal.is_internal() {
            self.add(refusal.holder.clone(), refusal.reason.as_str(), refusal.code());
        }
    }

    /// Counts a refusal of somebody who had proven who they are.
    pub fn count_holder(self: &Arc<Refusals>, holder: Holder, reason: &'static str, code: &'static str) {
        self.add(Some(holder), reason, code);
    }

    /// Counts a refusal of somebody who was not even asked who they are.
    pub fn count_stranger(self: &Arc<Refusals>, reason: &'static str, code: &'static str) {
        self.add(None, reason, code);
    }

    fn add(self: &Arc<Refusals>, holder: Option<Holder>, reason: &'static str, code: &'static str) {
        let mut tally = self.lock();
        let mut group = Group { holder, reason, code };
        if tally.counts.len() >= limits::REFUSAL_GROUPS && !tally.counts.contains_key(&group) {
            group.holder = None;
        }
        let count = tally.counts.entry(group).or_insert(Count { refusals: 0, since: Timestamp::now() });
        count.refusals += 1;
        if !tally.busy {
            tally.busy = true;
            tokio::spawn(self.clone().write_each_second());
        }
    }

    async fn write_each_second(self: Arc<Refusals>) {
        loop {
            let counts = {
                let mut tally = self.lock();
                tally.busy = !tally.counts.is_empty();
                std::mem::take(&mut tally.counts)
            };
            if counts.is_empty() {
                return;
            }
            self.write(counts).await;
            tokio::time::sleep(limits::REFUSAL_INTERVAL).await;
        }
    }

    /// Writes what is counted and not yet written: for a process that is about to end.
    pub async fn settle(&self) {
        let counts = std::mem::take(&mut self.lock().counts);
        self.write(counts).await;
    }

    async fn write(&self, counts: BTreeMap<Group, Count>) {
        let _alone = self.writing.lock().await;
        // At once, so that they become one commit.
        let mut writing = JoinSet::new();
        for (group, count) in counts {
            let store = self.store.clone();
            writing.spawn(async move {
                let tenant =
                    group.holder.as_ref().map_or_else(TenantId::system, |holder| holder.tenant.clone());
                let event = event(&group, count);
                if store.append(&tenant, event, Vec::new()).await.is_err() {
                    let Count { refusals, .. } = count;
                    tracing::error!(reason = group.reason, refusals, "refusals could not be written down");
                }
            });
        }
        while writing.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        // A count is whole at every moment, so a panic elsewhere does not spoil it.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn event(group: &Group, count: Count) -> EventDraft {
    let actor = group.holder.as_ref().map_or("anonymous", |holder| &holder.subject);
    let mut event = EventDraft::system("identity", "auth.refused", actor)
        .input("reason", group.reason)
        .input("count", count.refusals)
        .input("since", count.since.to_string())
        .output("ok", false)
        .output("error_code", group.code);
    event.outcome = Some("refused");
    // A client that has not been told of tokens yet is nothing to worry about.
    if group.reason != "missing" {
        event.event_type = "flagged";
        event.severity = "warning";
    }
    event
}

#[cfg(test)]
mod tests {
    use quad_core::Principal;
    use serde_json::Value;

    use super::*;
    use crate::AgentState;
    use crate::gate::tests::{KNOWN, TestGate, gates, outcome};

    /// The refusals in a chain: actor, reason and how many.
    async fn refusals(test: &TestGate, tenant: &TenantId) -> Vec<(String, String, u64)> {
        let audit = test.audit(tenant).await;
        let events = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let refused = events.filter(|event| event["action"] == "auth.refused");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        refused
            .map(|event| {
                assert_eq!(event["outcome"], "refused");
                (
                    text(&event["actor"]),
                    text(&event["inputs"]["reason"]),
                    event["inputs"]["count"].as_u64().unwrap(),
                )
            })
            .collect()
    }

    fn total(refusals: &[(String, String, u64)], actor: &str, reason: &str) -> u64 {
        let counted = refusals.iter().filter(|(who, why, _)| who == actor && why == reason);
        counted.map(|(_, _, count)| count).sum()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_refusal_is_counted_and_a_flood_is_few_events() {
        for test in gates().await {
            for _ in 0..500 {
                assert_eq!(outcome(&test.gate, "a.b.c").await, "malformed");
            }
            for _ in 0..3 {
                test.gate.authenticate(None).await.unwrap_err();
            }
            test.gate.settle().await;
            let counted = refusals(&test, &TenantId::system()).await;
            assert_eq!(total(&counted, "anonymous", "malformed"), 500);
            assert_eq!(total(&counted, "anonymous", "missing"), 3);
            // One event a second and reason, however long the loop took: far fewer than refusals.
            assert!(counted.len() < 100, "{}", counted.len());
            assert!(refusals(&test, &test.place.tenant).await.is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_claimed_tenant_is_not_written_to_and_a_proven_one_is() {
        for test in gates().await {
            let tenant = &test.place.tenant;
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            // Cut the signature: the tenant in the claims is now only claimed.
            let (signed, _) = minted.token.rsplit_once('.').unwrap();
            assert_eq!(outcome(&test.gate, &format!("{signed}.AAAA")).await, "bad_signature");
            test.gate.set_agent_state(tenant, "a", AgentState::Quarantined, "operator").await.unwrap();
            assert_eq!(outcome(&test.gate, &minted.token).await, "agent_quarantined");
            let caller = Principal { subject: "b".into(), ..Principal::local_agent(tenant.clone(), []) };
            test.gate.note_refusal(&caller, "rate_limited", "rate_limited");
            test.gate.settle().await;
            let unproven = refusals(&test, &TenantId::system()).await;
            assert_eq!(unproven, [("anonymous".to_owned(), "bad_signature".to_owned(), 1)]);
            let mut proven = refusals(&test, tenant).await;
            proven.sort();
            let expect = [("a", "agent_quarantined"), ("b", "rate_limited")];
            let expect = expect.map(|(actor, reason)| (actor.to_owned(), reason.to_owned(), 1));
            assert_eq!(proven, expect);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lone_refusal_is_written_without_waiting_for_the_end() {
        let test = &gates().await[0];
        test.gate.authenticate(None).await.unwrap_err();
        // Nobody settles; the event comes by itself.
        while refusals(test, &TenantId::system()).await.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn holders_beyond_the_bound_are_counted_together() {
        let test = &gates().await[0];
        let refusals = Arc::new(Refusals::new(test.place.store.clone()));
        // As if somebody were writing, so that all stay in the tally.
        refusals.lock().busy = true;
        for index in 0..limits::REFUSAL_GROUPS + 5 {
            let holder = Holder { tenant: test.place.tenant.clone(), subject: index.to_string() };
            refusals.count_holder(holder, "revoked", "auth_token_invalid");
        }
        let tally = refusals.lock();
        assert_eq!(tally.counts.len(), limits::REFUSAL_GROUPS + 1);
        let together = Group { holder: None, reason: "revoked", code: "auth_token_invalid" };
        assert_eq!(tally.counts[&together].refusals, 5);
    }
}
