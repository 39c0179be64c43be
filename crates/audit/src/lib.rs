//! The audit trail and the link index.
//!
//! `audit://` shows a tenant its own chain of audit events. Further parts: [`CheckpointSigner`] signs checkpoints of
//! the chain. [`export`](mod@export) writes it to a file, which [`Verifier`] verifies without a database. [`proof`]
//! proves a single event. [`ReadReceipt`] compares a reply with the event that recorded it. [`archive`](mod@archive)
//! moves old events into a file.
//!
//! `link://` ([`links`]) stores links between the addresses of all schemes.
//!
//! The store writes the chain, in the commit of what it records; this crate cannot change it. This crate does not
//! know protocol messages, sockets or keys: it gets a [`Signer`].
#![forbid(unsafe_code)]

pub mod archive;
mod chain_error;
mod chain_reader;
mod checkpoint;
mod checkpoint_file;
mod checkpoint_schedule;
mod checkpointer;
pub mod database_check;
mod events;
pub mod export;
mod export_format;
mod hash;
pub mod limits;
pub mod links;
pub mod merkle;
pub mod proof;
mod receipt;
mod signer;
#[cfg(test)]
mod testing;
mod tree_store;
mod verify;

use quad_core::scheme::{Completion, CompletionQuery, SchemePage};
use quad_core::{
    Address, Grammar, Principal, ReadOutput, ReadSet, Result, Route, RouteDef, RouteTable, Scheme,
    ScopeRequirement,
};
use quad_store::Store;

pub use chain_error::AUDIT_BROKEN;
pub use checkpoint::{Checkpoint, Statement};
pub use checkpoint_file::{CheckpointFile, CheckpointFileWriter, FileSync, Origin, TrustedCheckpoints};
pub use checkpoint_schedule::CheckpointLag;
pub use checkpointer::CheckpointSigner;
pub use events::event_json;
pub use hash::Hash;
pub use links::{COMPONENT, Links};
pub use receipt::ReadReceipt;
pub use signer::{SignatureWithKey, Signer};
pub use verify::{EventSelector, Report, Verifier};

/// Every scope of this scheme.
pub const SCOPES: &[&str] = &["audit:read"];

const READ_SCOPE: ScopeRequirement = ScopeRequirement(SCOPES);

const EVENTS_TEMPLATE: &str = "audit://events{?agent,uri,since,until,outcome,cursor}";

/// What a route of `audit://` names.
#[derive(Clone, Copy, Debug)]
enum Resource {
    Events,
    Event,
}

const ROUTES: RouteTable<Resource> = RouteTable {
    rows: &[
        RouteDef::json(
            Resource::Events,
            EVENTS_TEMPLATE,
            "Audit events",
            "Audit events, newest first, by agent, address, time and outcome. A page may be empty and still name the \
             next.",
            READ_SCOPE,
        )
        .title("Who did what"),
        RouteDef::json(
            Resource::Event,
            "audit://events/{id}",
            "Audit event",
            "An event with its hash, its sequence in the chain and the proof that a signed checkpoint covers it.",
            READ_SCOPE,
        )
        .title("One audit event"),
    ],
    grammars: &[
        ("agent", Grammar::Text),
        ("uri", Grammar::Text),
        ("since", Grammar::Text),
        ("until", Grammar::Text),
        ("cursor", Grammar::Text),
        ("outcome", Grammar::OneOf(events::OUTCOMES)),
    ],
};

const INSTRUCTIONS: &str = "audit:// is the record of every call: read audit://events?agent=…&uri=… to see who \
    fetched what and when, newest first, and audit://events/{id} for one event with its proof.";

/// The provider of `audit://`.
pub struct Audit {
    store: Store,
}

impl Audit {
    /// Serves the chains in this store.
    pub fn new(store: Store) -> Audit {
        Audit { store }
    }
}

#[async_trait::async_trait]
impl Scheme for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    fn scopes(&self) -> &'static [&'static str] {
        SCOPES
    }

    fn is_global(&self) -> bool {
        true
    }

    fn routes(&self) -> Result<Vec<Route>> {
        ROUTES.routes()
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let resource = ROUTES.resource(route)?;
        // Writes deferred events first, so that the page includes every call that this process has answered.
        self.store.flush_audit().await?;
        match resource {
            Resource::Events => {
                let query = events::EventQuery::new(&caller.tenant, address)?;
                self.store.read(&caller.tenant, move |sql| events::read_page(sql, &query)).await
            }
            Resource::Event => {
                let id = address.variable("id").unwrap_or_default().to_owned();
                let requested = address.requested().to_owned();
                self.store.read(&caller.tenant, move |sql| events::read_event(sql, &id, &requested)).await
            }
        }
    }

    /// Empty: events are found by their template, and a list would grow with every read of it.
    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() })
    }

    async fn complete(&self, _: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let outcomes = if query.variable == "outcome" { events::OUTCOMES } else { &[] };
        let values: Vec<String> = outcomes
            .iter()
            .filter(|outcome| outcome.starts_with(query.prefix))
            .map(|outcome| (*outcome).to_owned())
            .collect();
        Ok(Completion { total: values.len(), values, read_set: ReadSet::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quad_core::resolver::View;
    use quad_core::scheme::CompletionTarget;
    use quad_core::{Kind, PrincipalKind, Resolver, ScopeSet, TenantId};
    use quad_store::audit::block;
    use quad_testing::ToyScheme;
    use serde_json::{Map, Value};

    use super::*;
    use crate::testing::{ChainFixture, fixtures, read_event, write_events};

    fn resolver(fixture: &ChainFixture) -> Resolver {
        let store = Arc::new(fixture.store().clone());
        let schemes: Vec<Arc<dyn Scheme>> = vec![Arc::new(Audit::new(fixture.store().clone()))];
        Resolver::new(schemes, store.clone(), store).unwrap()
    }

    fn caller(tenant: &TenantId, scopes: &str) -> Principal {
        Principal {
            tenant: tenant.clone(),
            subject: "auditor".into(),
            kind: PrincipalKind::User,
            scopes: ScopeSet::parse(scopes),
            credential_read_set: None,
            expires_at: None,
        }
    }

    async fn read(resolver: &Resolver, caller: &Principal, uri: &str) -> Result<Value> {
        let answer = resolver.read(caller, View::All, uri).await?;
        assert!(!answer.read.cacheable);
        assert!(answer.read.read_set.tags.is_empty(), "the answer has no tags");
        Ok(serde_json::from_slice(answer.read.contents[0].bytes()).unwrap())
    }

    /// All events of a filter, page by page.
    async fn read_all_pages(resolver: &Resolver, caller: &Principal, query: &str) -> Vec<Value> {
        let (mut events, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = read(resolver, caller, &format!("audit://events?{query}{cursor}")).await.unwrap();
            events.extend(page["events"].as_array().unwrap().clone());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return events,
            }
        }
    }

    #[test]
    fn both_templates_are_well_formed() {
        assert_eq!(ROUTES.routes().unwrap().len(), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pages_give_every_event_once_newest_first() {
        for fixture in fixtures().await {
            fixture.write(170).await;
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "audit:read"));
            let before = fixture.last_sequence().await;
            let events = read_all_pages(&resolver, &auditor, "").await;
            let sequences: Vec<i64> =
                events.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
            assert!(
                sequences.iter().copied().eq((1..=before).rev()),
                "the events of these reads are not included"
            );
            // Each page was itself an audited read.
            assert_eq!(fixture.last_sequence().await, before + 4);
            let again = read(&resolver, &auditor, "audit://events").await.unwrap();
            assert_eq!(again["events"][0]["actor"], "auditor");
            assert!(again["events"][0]["inputs"]["uri"].as_str().unwrap().contains("cursor="));
            let newest = &events[0];
            assert_eq!(newest["address"], format!("audit://events/{}", newest["id"].as_str().unwrap()));
        }
    }

    /// The text that was hashed, from an entry of a page.
    fn hashed_text(entry: &Value) -> String {
        let mut record = entry.as_object().unwrap().clone();
        for added in ["address", "sequence", "event_hash"] {
            assert!(record.remove(added).is_some(), "{added} is missing: {entry}");
        }
        assert_eq!(record.len(), 20, "{entry}");
        quad_core::canonical::to_string(&Value::Object(record))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn chain_can_be_computed_from_pages() {
        for fixture in fixtures().await {
            fixture.write(60).await;
            let hostile = read_event("a \"quoted\" \\ name\u{1}\u{7f}\u{2028}", "bkend://orgs/ö?x=😀\n");
            fixture.append(hostile.output("score", serde_json::json!({"z": [null, 1.5, -3], "a": ""}))).await;
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "audit:read"));
            let mut events = read_all_pages(&resolver, &auditor, "").await;
            events.reverse();
            let mut previous = Value::Null;
            for event in &events {
                assert_eq!(event["prev_event_hash"], previous, "{event}");
                assert_eq!(event["tenant_id"], fixture.tenant().as_str());
                assert!(event["policy_version"].is_null(), "absent values are shown");
                previous = quad_store::hash_record(&hashed_text(event)).into();
                assert_eq!(event["event_hash"], previous, "{event}");
            }
            assert_eq!(events.len(), 62);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn filters_apply_and_cursor_is_bound_to_its_filter() {
        for fixture in fixtures().await {
            fixture.write(300).await;
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "audit:read"));
            let all = read_all_pages(&resolver, &auditor, "").await;
            let expected_ids = |predicate: &dyn Fn(&Value) -> bool| {
                all.iter()
                    .filter(|event| predicate(event))
                    .map(|event| event["id"].clone())
                    .collect::<Vec<_>>()
            };
            let ids = |events: Vec<Value>| events.iter().map(|event| event["id"].clone()).collect::<Vec<_>>();
            let by_agent = ids(read_all_pages(&resolver, &auditor, "agent=agent_1").await);
            assert_eq!(by_agent, expected_ids(&|event| event["actor"] == "agent_1"));
            assert!(by_agent.len() > 50);
            let uri = "bkend://orgs/org_3";
            let by_uri =
                ids(read_all_pages(&resolver, &auditor, "uri=bkend%3A%2F%2Forgs%2Forg_3&outcome=ok").await);
            assert_eq!(by_uri, expected_ids(&|event| event["inputs"]["uri"] == uri));
            assert!(!by_uri.is_empty());
            assert_eq!(read_all_pages(&resolver, &auditor, "agent=nobody").await, Vec::<Value>::new());
            // A refused read is found by its outcome.
            let without_scope = caller(fixture.tenant(), "table:read");
            let refused = read(&resolver, &without_scope, "audit://events").await.unwrap_err();
            assert_eq!((refused.kind(), refused.detail("scope")), (Kind::Scope, Some(&"audit:read".into())));
            let refused_events = read_all_pages(&resolver, &auditor, "outcome=refused").await;
            assert_eq!(refused_events.len(), 1);
            assert_eq!(refused_events[0]["outputs"]["error_code"], "SCOPE_INSUFFICIENT");
            // Invalid cursors, times and outcomes.
            let page = read(&resolver, &auditor, "audit://events?agent=agent_1").await.unwrap();
            let other_filter_cursor_uri =
                format!("audit://events?agent=agent_2&cursor={}", page["nextCursor"].as_str().unwrap());
            assert_eq!(
                read(&resolver, &auditor, &other_filter_cursor_uri).await.unwrap_err().code(),
                "INVALID_CURSOR"
            );
            let bad_time = read(&resolver, &auditor, "audit://events?since=yesterday").await.unwrap_err();
            assert!(bad_time.hint_text().unwrap().contains("2026-02-12"));
            assert!(read(&resolver, &auditor, "audit://events?outcome=maybe").await.is_err());
            assert!(read(&resolver, &auditor, "audit://events?action=x").await.is_err());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn since_and_until_limit_events() {
        for fixture in fixtures().await {
            fixture.write(120).await;
            // Records have their own time, blocks the times of their first and last event.
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "audit:read"));
            let all = read_all_pages(&resolver, &auditor, "").await;
            let time = |event: &Value| event["created_at"].as_str().unwrap().to_owned();
            let (early, late) = (time(&all[100]), time(&all[20]));
            let inside = read_all_pages(&resolver, &auditor, &format!("since={early}&until={late}")).await;
            let expected: Vec<&Value> =
                all.iter().filter(|event| time(event) >= early && time(event) < late).collect();
            assert_eq!(
                inside.iter().map(|event| &event["id"]).collect::<Vec<_>>(),
                expected.iter().map(|event| &event["id"]).collect::<Vec<_>>()
            );
            assert!(read_all_pages(&resolver, &auditor, "until=2020-01-01").await.is_empty());
            assert!(read_all_pages(&resolver, &auditor, "since=2200-01-01").await.is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn event_by_id_is_visible_only_to_its_tenant() {
        for fixture in fixtures().await {
            fixture.write(90).await;
            let other_tenant = quad_store::tenant::create(fixture.store(), "other").await.unwrap();
            write_events(fixture.store(), &other_tenant.id, 10).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "*:read"));
            for sequence in [1, 44, 91] {
                let id = block::record_id(&fixture.record(sequence).await.unwrap()).unwrap();
                let body = read(&resolver, &auditor, &format!("audit://events/{id}")).await.unwrap();
                assert_eq!(body["event"]["id"], id.as_str());
                assert_eq!(proof::verify(&body, None).unwrap().sequence as i64, sequence);
            }
            let other_record = fixture
                .store()
                .read(&other_tenant.id, |sql| block::record_at(sql, 5))
                .await
                .unwrap()
                .unwrap();
            let other_id = block::record_id(&other_record).unwrap();
            let unknown_id = format!("evt_{}", quad_core::id::ulid().unwrap());
            let mut envelopes = Vec::new();
            for id in [other_id.as_str(), &unknown_id, "evt_1", "something"] {
                let uri = format!("audit://events/{id}");
                let refused = read(&resolver, &auditor, &uri).await.unwrap_err();
                assert_eq!(refused.kind(), Kind::NotFound);
                envelopes.push(serde_json::to_string(&refused.envelope()).unwrap().replace(id, "ID"));
            }
            envelopes.dedup();
            assert_eq!(envelopes.len(), 1, "a foreign id looks like a missing one");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn event_by_id_ignores_id_inside_another_event() {
        for fixture in fixtures().await {
            fixture.write(3).await;
            let id = block::record_id(&fixture.record(2).await.unwrap()).unwrap();
            let mut decoy = read_event("agent_1", "x");
            decoy.inputs.set("id", id.as_str());
            let read_sets = quad_core::ReadSets::new();
            let append =
                quad_core::AuditLog::append(fixture.store(), fixture.tenant(), decoy, read_sets, None);
            append.await.unwrap();
            let (resolver, auditor) = (resolver(&fixture), caller(fixture.tenant(), "audit:read"));
            let body = read(&resolver, &auditor, &format!("audit://events/{id}")).await.unwrap();
            assert_eq!(body["sequence"], 2);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn lists_nothing_completes_outcomes_and_is_global() {
        for fixture in fixtures().await {
            let other = ToyScheme { name: "other", ..ToyScheme::default() };
            let store = Arc::new(fixture.store().clone());
            let schemes: Vec<Arc<dyn Scheme>> =
                vec![Arc::new(other), Arc::new(Audit::new(fixture.store().clone()))];
            let resolver = Resolver::new(schemes, store.clone(), store).unwrap();
            let auditor = caller(fixture.tenant(), "audit:read");
            let (other_view, audit_view) =
                (resolver.view_for_scheme("other").unwrap(), resolver.view_for_scheme("audit").unwrap());
            resolver.read(&auditor, other_view, "audit://events").await.unwrap();
            assert_eq!(resolver.templates(other_view).count(), 0, "advertised where all schemes are");
            assert_eq!(resolver.templates(View::All).count(), 2);
            assert!(resolver.list(&auditor, audit_view, None).await.unwrap().entries.is_empty());
            let context = Map::new();
            let query = CompletionQuery {
                target: CompletionTarget::Template(EVENTS_TEMPLATE),
                variable: "outcome",
                prefix: "f",
                context: &context,
            };
            assert_eq!(resolver.complete(&auditor, View::All, query).await.unwrap().values, ["failed"]);
        }
    }
}
