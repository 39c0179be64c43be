//! Counts rejected credentials and records them in the audit log.
//!
//! A refusal without a proven tenant is recorded in the chain of `system`, never in the chain of a tenant that the
//! credential only claims. A refusal of a registered subject is recorded in the chain of its tenant. Any client can
//! send any number of bad credentials, so refusals of the same kind within a second become one event with a count:
//! the first is recorded at once, the others at the end of the second. A process that is killed loses the counts of
//! its last second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;
use quad_core::{AuditLog as _, EventDraft, ReadSets, TenantId, Timestamp};
use quad_store::Store;
use tokio::task::JoinSet;

use crate::auth_error::{AuthError, KnownSubject};
use crate::limits;

/// The key under which refusals are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CountKey {
    /// `None` if nothing is proven.
    known_subject: Option<KnownSubject>,
    reason: &'static str,
    code: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    refusals: u64,
    since: Timestamp,
}

#[derive(Debug, Default)]
struct PendingCounts {
    counts: BTreeMap<CountKey, Count>,
    /// A task is writing events, or waits for the end of the second.
    flush_running: bool,
}

/// Counts rejected credentials.
pub struct RefusalCounter {
    store: Store,
    pending: Mutex<PendingCounts>,
    /// Held while counts are written to the database.
    flush_lock: tokio::sync::Mutex<()>,
}

impl RefusalCounter {
    /// Creates a counter without counts.
    pub fn new(store: Store) -> RefusalCounter {
        RefusalCounter { store, pending: Mutex::default(), flush_lock: tokio::sync::Mutex::default() }
    }

    /// Counts a rejected credential. Internal failures are not counted.
    pub fn count(self: &Arc<RefusalCounter>, error: &AuthError) {
        if !error.is_internal() {
            self.add(error.known_subject.clone(), error.kind.as_str(), error.code());
        }
    }

    /// Counts a refusal of an authenticated principal.
    pub fn count_known(
        self: &Arc<RefusalCounter>,
        known_subject: KnownSubject,
        reason: &'static str,
        code: &'static str,
    ) {
        self.add(Some(known_subject), reason, code);
    }

    /// Counts a refusal that precedes authentication.
    pub fn count_anonymous(self: &Arc<RefusalCounter>, reason: &'static str, code: &'static str) {
        self.add(None, reason, code);
    }

    fn add(
        self: &Arc<RefusalCounter>,
        known_subject: Option<KnownSubject>,
        reason: &'static str,
        code: &'static str,
    ) {
        let mut pending = self.lock();
        let mut key = CountKey { known_subject, reason, code };
        if pending.counts.len() >= limits::REFUSAL_KEYS_MAX && !pending.counts.contains_key(&key) {
            key.known_subject = None;
        }
        let count = pending.counts.entry(key).or_insert(Count { refusals: 0, since: Timestamp::now() });
        count.refusals += 1;
        if !pending.flush_running {
            pending.flush_running = true;
            tokio::spawn(self.clone().flush_every_second());
        }
    }

    async fn flush_every_second(self: Arc<RefusalCounter>) {
        loop {
            let counts = {
                let mut pending = self.lock();
                pending.flush_running = !pending.counts.is_empty();
                std::mem::take(&mut pending.counts)
            };
            if counts.is_empty() {
                return;
            }
            self.append_events(counts).await;
            tokio::time::sleep(limits::REFUSAL_INTERVAL).await;
        }
    }

    /// Writes all pending counts. Call it before the process ends.
    pub async fn flush(&self) {
        let counts = std::mem::take(&mut self.lock().counts);
        self.append_events(counts).await;
    }

    async fn append_events(&self, counts: BTreeMap<CountKey, Count>) {
        let _guard = self.flush_lock.lock().await;
        // Concurrently, so that they are committed together.
        let mut tasks = JoinSet::new();
        for (key, count) in counts {
            let store = self.store.clone();
            tasks.spawn(async move {
                let tenant = key
                    .known_subject
                    .as_ref()
                    .map_or_else(TenantId::system, |subject| subject.tenant.clone());
                let event = audit_event(&key, count);
                if store.append(&tenant, event, ReadSets::new(), None).await.is_err() {
                    let Count { refusals, .. } = count;
                    tracing::error!(reason = key.reason, refusals, "refusal events could not be appended");
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, PendingCounts> {
        // No operation leaves the counts inconsistent, so a poisoned lock is safe to use.
        self.pending.lock_unpoisoned()
    }
}

fn audit_event(key: &CountKey, count: Count) -> EventDraft {
    let actor = key.known_subject.as_ref().map_or("anonymous", |subject| &subject.subject);
    let mut event = EventDraft::system("identity", "auth.refused", actor)
        .input("reason", key.reason)
        .input("count", count.refusals)
        .input("since", count.since.to_string())
        .output("ok", false)
        .output("error_code", key.code);
    event.outcome = Some("refused");
    // A request without a token is normal for a client that is not configured yet, so it is no warning.
    if key.reason != "missing" {
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
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures, auth_outcome};

    /// The refusal events of a chain: actor, reason and count.
    async fn refusal_events(test: &AuthFixture, tenant: &TenantId) -> Vec<(String, String, u64)> {
        let audit = test.audit_records(tenant).await;
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

    fn total_count(refusals: &[(String, String, u64)], actor: &str, reason: &str) -> u64 {
        let counted = refusals.iter().filter(|(who, why, _)| who == actor && why == reason);
        counted.map(|(_, _, count)| count).sum()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn refusals_are_all_counted_in_few_events() {
        for test in auth_fixtures().await {
            for _ in 0..500 {
                assert_eq!(auth_outcome(&test.auth, "a.b.c").await, "malformed");
            }
            for _ in 0..3 {
                test.auth.authenticate(None).await.unwrap_err();
            }
            test.auth.flush_refusals().await;
            let counted = refusal_events(&test, &TenantId::system()).await;
            assert_eq!(total_count(&counted, "anonymous", "malformed"), 500);
            assert_eq!(total_count(&counted, "anonymous", "missing"), 3);
            // One event per second and reason, however long the loop took: far fewer events than refusals.
            assert!(counted.len() < 100, "{}", counted.len());
            assert!(refusal_events(&test, &test.db.tenant).await.is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn refusal_reaches_tenant_chain_only_for_known_subject() {
        for test in auth_fixtures().await {
            let tenant = &test.db.tenant;
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            // Without a valid signature the tenant in the claims is not proven.
            let (signed, _) = minted.token.rsplit_once('.').unwrap();
            assert_eq!(auth_outcome(&test.auth, &format!("{signed}.AAAA")).await, "bad_signature");
            test.auth.set_agent_state(tenant, "a", AgentState::Quarantined, "operator").await.unwrap();
            assert_eq!(auth_outcome(&test.auth, &minted.token).await, "agent_quarantined");
            let caller = Principal { subject: "b".into(), ..Principal::local_agent(tenant.clone(), []) };
            test.auth.count_refusal(&caller, "rate_limited", "rate_limited");
            test.auth.flush_refusals().await;
            let unproven = refusal_events(&test, &TenantId::system()).await;
            assert_eq!(unproven, [("anonymous".to_owned(), "bad_signature".to_owned(), 1)]);
            let mut proven = refusal_events(&test, tenant).await;
            proven.sort();
            let expect = [("a", "agent_quarantined"), ("b", "rate_limited")];
            let expect = expect.map(|(actor, reason)| (actor.to_owned(), reason.to_owned(), 1));
            assert_eq!(proven, expect);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn single_refusal_is_audited_without_a_flush() {
        let test = &auth_fixtures().await[0];
        test.auth.authenticate(None).await.unwrap_err();
        // The event is recorded without a call of `flush`.
        while refusal_events(test, &TenantId::system()).await.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn subjects_beyond_the_limit_share_one_count() {
        let test = &auth_fixtures().await[0];
        let counter = Arc::new(RefusalCounter::new(test.db.store.clone()));
        // Simulates a running flush, so that all counts stay pending.
        counter.lock().flush_running = true;
        for index in 0..limits::REFUSAL_KEYS_MAX + 5 {
            let subject = KnownSubject { tenant: test.db.tenant.clone(), subject: index.to_string() };
            counter.count_known(subject, "revoked", "auth_token_invalid");
        }
        let pending = counter.lock();
        assert_eq!(pending.counts.len(), limits::REFUSAL_KEYS_MAX + 1);
        let anonymous_key = CountKey { known_subject: None, reason: "revoked", code: "auth_token_invalid" };
        assert_eq!(pending.counts[&anonymous_key].refusals, 5);
    }
}
