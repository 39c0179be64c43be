//! Tests of the resolver with an in-memory scheme and audit log.

use std::sync::Mutex;

use serde_json::{Map, json};
use tokio::sync::broadcast;

use super::*;
use crate::lock::MutexExt as _;
use crate::scheme::{Completion, CompletionQuery, CompletionTarget, SchemePage};
use crate::tool::NoProgress;
use crate::{
    Address, AppendError, Change, Content, EventDraft, PendingAppend, ReadOutput, ReadSets, Receipt,
    RouteSpec, SideEffect, TenantId, Version,
};

/// Records the outcome of every appended event; fails every append if `fails`.
#[derive(Default)]
struct MemoryAuditLog {
    outcomes: Mutex<Vec<&'static str>>,
    fails: bool,
}

impl AuditLog for MemoryAuditLog {
    fn append<'a>(
        &'a self,
        _: &'a TenantId,
        event: EventDraft,
        _: ReadSets,
        _: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        self.outcomes.lock_unpoisoned().push(event.outcome.unwrap_or("none"));
        if self.fails {
            return PendingAppend::ready(Err(AppendError::Failed(Error::internal("disk full"))));
        }
        PendingAppend::ready(Ok(Receipt { version: Version(1), sequence: Some(1), event_id: "e".into() }))
    }
}

struct NoChanges;

#[async_trait::async_trait]
impl ChangeFeed for NoChanges {
    async fn subscribe(&self, _: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>> {
        Ok(broadcast::channel(1).1)
    }
}

#[derive(Default)]
struct ToyScheme {
    tools: Vec<Arc<Tool>>,
}

#[async_trait::async_trait]
impl Scheme for ToyScheme {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        ""
    }

    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }

    fn routes(&self) -> Result<Vec<Route>> {
        let spec = RouteSpec::parse("toy://{id}").map_err(Error::internal)?;
        Ok(vec![Route {
            spec,
            name: "Toy",
            title: "Toy",
            description: "A toy.",
            mime_type: None,
            required_scope: ScopeRequirement::NONE,
            advertised: true,
        }])
    }

    async fn read(&self, _: &Principal, _: usize, address: &Address) -> Result<ReadOutput> {
        let text = match address.variable("id") {
            Some("small") => "small".to_owned(),
            Some("large") => "x".repeat(limits::CONTENTS_BYTES + 1),
            _ => return Err(Error::not_found(address.requested())),
        };
        Ok(ReadOutput::new(Content::text("text/plain", text), Default::default()))
    }

    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        Ok(SchemePage { entries: Vec::new(), next: None, read_set: Default::default() })
    }

    async fn complete(&self, _: &Principal, _: CompletionQuery<'_>) -> Result<Completion> {
        Ok(Completion::default())
    }

    fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools.clone()
    }
}

fn resolver(fails: bool) -> (Resolver, Arc<MemoryAuditLog>, Principal) {
    let audit_log = Arc::new(MemoryAuditLog { fails, ..MemoryAuditLog::default() });
    let resolver =
        Resolver::new(vec![Arc::new(ToyScheme::default())], audit_log.clone(), Arc::new(NoChanges)).unwrap();
    (resolver, audit_log, Principal::local_agent(TenantId::new("t"), []))
}

#[test]
fn two_tools_with_one_name_are_an_error() {
    let tool = |name| Arc::new(Tool { name, ..resource_tools::tools().remove(0) });
    for (names, expect) in [
        (["a", "b"], Ok(())),
        (["a", "a"], Err("two tools are named a")),
        (["a", "resource_read"], Err("two tools are named resource_read")),
    ] {
        let scheme = ToyScheme { tools: names.map(tool).to_vec() };
        let audit_log = Arc::new(MemoryAuditLog::default());
        let resolver = Resolver::new(vec![Arc::new(scheme)], audit_log, Arc::new(NoChanges));
        let result = resolver.map(|_| ()).map_err(|error| error.cause_chain());
        assert_eq!(result, expect.map_err(str::to_owned));
    }
}

#[tokio::test]
async fn every_call_leaves_one_event() {
    let (resolver, audit_log, caller) = resolver(false);
    let check = |expect: &[&str]| {
        assert_eq!(std::mem::take(&mut *audit_log.outcomes.lock_unpoisoned()), expect);
    };
    let arguments = |uri: &str| match json!({"uri": uri}) {
        serde_json::Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    resolver.read(&caller, View::All, "toy://small").await.unwrap();
    check(&["ok"]);
    resolver.read(&caller, View::All, "toy://missing").await.unwrap_err();
    check(&["refused"]);
    for (uri, outcome) in [("toy://small", "ok"), ("toy://missing", "refused"), ("no uri", "refused")] {
        let call = resolver.call_tool(&caller, View::All, "resource_read", arguments(uri), &NoProgress).await;
        assert_eq!(call.is_ok(), outcome == "ok");
        check(&[outcome]);
    }
    resolver.call_tool(&caller, View::All, "unknown", Map::new(), &NoProgress).await.unwrap_err();
    check(&["refused"]);
    resolver.list(&caller, View::All, Some("not a cursor")).await.unwrap_err();
    check(&["refused"]);
    resolver.get_prompt(&caller, View::All, "unknown", &Map::new()).await.unwrap_err();
    check(&["refused"]);
}

#[tokio::test]
async fn refusal_is_recorded_once() {
    let (resolver, audit_log, caller) = resolver(false);
    let event = EventDraft::call(&caller, "ping");
    let error = resolver.record_refusal(&caller, event.clone(), Error::bad_input("no")).await;
    assert!(error.is_recorded());
    let error = resolver.record_refusal(&caller, event, error).await;
    assert_eq!((error.code(), audit_log.outcomes.lock_unpoisoned().len()), ("VALIDATION_ERROR", 1));
}

#[tokio::test]
async fn failed_append_replaces_the_error_and_is_not_repeated() {
    let (resolver, audit_log, caller) = resolver(true);
    let event = EventDraft::call(&caller, "ping");
    let error = resolver.record_refusal(&caller, event.clone(), Error::bad_input("no")).await;
    assert_eq!((error.kind(), error.is_recorded()), (Kind::Internal, false));
    let error = resolver.record_refusal(&caller, event, error).await;
    assert_eq!((error.kind(), audit_log.outcomes.lock_unpoisoned().len()), (Kind::Internal, 1));
}

#[tokio::test]
async fn error_of_a_read_names_the_address() {
    let (resolver, _, caller) = resolver(false);
    let error = resolver.read(&caller, View::All, "toy://large").await.unwrap_err();
    assert_eq!((error.code(), error.uri()), ("CONTENTS_TOO_LARGE", Some("toy://large")));
}

/// Compiles only if the futures are `Send`: transports spawn them.
#[allow(dead_code)]
fn futures_are_send(resolver: &Resolver, caller: &Principal) {
    fn check(_: impl Future + Send) {}
    let context = Map::new();
    let query = CompletionQuery {
        target: CompletionTarget::Template(""),
        variable: "",
        prefix: "",
        context: &context,
    };
    check(resolver.read(caller, View::All, ""));
    check(resolver.list(caller, View::All, None));
    check(resolver.complete(caller, View::All, query));
    check(resolver.call_tool(caller, View::All, "", Map::new(), &NoProgress));
    check(resolver.get_prompt(caller, View::All, "", &context));
}
