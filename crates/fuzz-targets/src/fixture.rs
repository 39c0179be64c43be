//! The smallest server in which every method has an answer: one scheme, an audit log that only counts, and no changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::resolver::View;
use quad_core::scheme::{Completion, CompletionQuery, ResourceEntry, SchemePage};
use quad_core::tool::{ContentBlock, ToolCall, ToolEffect, ToolResult};
use quad_core::{
    Address, AuditLog, Change, ChangeFeed, Content, Error, EventDraft, PendingAppend, Principal, ReadOutput,
    ReadSet, ReadSets, Receipt, Resolver, Result, Route, RouteSpec, Scheme, ScopeRequirement, SideEffect,
    TenantId, Tool, ToolOutput, Version,
};
use quad_mcp::{Endpoint, ServerOptions, ServerState};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

/// An endpoint, its caller and its audit log.
pub struct FuzzServer {
    pub endpoint: Endpoint,
    pub caller: Principal,
    audit_log: Arc<CountingAuditLog>,
}

impl FuzzServer {
    /// The server of this process.
    pub fn get() -> &'static FuzzServer {
        static SERVER: OnceLock<FuzzServer> = OnceLock::new();
        SERVER.get_or_init(|| {
            let audit_log =
                Arc::new(CountingAuditLog { events: AtomicU64::new(0), changes: broadcast::Sender::new(1) });
            let resolver =
                Resolver::new(vec![Arc::new(ToyScheme)], audit_log.clone(), audit_log.clone()).unwrap();
            let resolver = Arc::new(resolver);
            let server =
                ServerState::new(ServerOptions { resolver, sessions: None, name: "fuzz", version: "0" });
            FuzzServer {
                endpoint: Endpoint::new(server, View::All, true),
                caller: Principal::local_agent(TenantId::new("t"), ["toy:read"]),
                audit_log,
            }
        })
    }

    /// The number of audit events so far.
    pub fn events(&self) -> u64 {
        self.audit_log.events.load(Ordering::Relaxed)
    }
}

struct CountingAuditLog {
    events: AtomicU64,
    changes: broadcast::Sender<Arc<Change>>,
}

#[async_trait::async_trait]
impl AuditLog for CountingAuditLog {
    fn append<'a>(
        &'a self,
        _: &'a TenantId,
        _: EventDraft,
        _: ReadSets,
        _: Option<SideEffect>,
    ) -> PendingAppend<'a> {
        self.events.fetch_add(1, Ordering::Relaxed);
        // Always the same receipt, so that equal requests have equal replies on both transports.
        PendingAppend::ready(Ok(Receipt { version: Version(1), sequence: Some(1), event_id: "evt_1".into() }))
    }
}

#[async_trait::async_trait]
impl ChangeFeed for CountingAuditLog {
    async fn subscribe(&self, _: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>> {
        Ok(self.changes.subscribe())
    }
}

struct ToyScheme;

const READ_SCOPE: ScopeRequirement = ScopeRequirement(&["toy:read"]);

static PROMPTS: [Prompt; 1] = [Prompt {
    name: "greet",
    title: "Greet",
    description: "Greets a person",
    arguments: &[PromptArgument { name: "who", description: "The person", required: true }],
    required_scope: READ_SCOPE,
}];

#[async_trait::async_trait]
impl Scheme for ToyScheme {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        "Start with toy://items/1."
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read"]
    }

    fn routes(&self) -> Result<Vec<Route>> {
        Ok(vec![Route {
            spec: RouteSpec::parse("toy://items/{id}").unwrap(),
            name: "item",
            title: "Item",
            description: "An item",
            mime_type: None,
            required_scope: READ_SCOPE,
            advertised: true,
        }])
    }

    async fn read(&self, _: &Principal, _: usize, address: &Address) -> Result<ReadOutput> {
        match address.variable("id") {
            Some(id) if id.len() < 8 => {
                Ok(ReadOutput::new(Content::text("text/plain", format!("item {id}")), ReadSet::default()))
            }
            _ => Err(Error::not_found(address.requested())),
        }
    }

    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        let entry = ResourceEntry {
            uri: "toy://items/1".into(),
            name: "one".into(),
            title: None,
            description: None,
            mime_type: "text/plain".into(),
            priority: None,
        };
        Ok(SchemePage { entries: vec![entry], next: None, read_set: ReadSet::default() })
    }

    async fn complete(&self, _: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let values = vec![format!("{}1", query.prefix)];
        Ok(Completion { total: values.len(), values, read_set: ReadSet::default() })
    }

    fn tools(&self) -> Vec<std::sync::Arc<Tool>> {
        let schema =
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        vec![Tool::new("echo", "Echo", "Returns its arguments", schema, READ_SCOPE, ToolEffect::Reads)]
            .into_iter()
            .map(std::sync::Arc::new)
            .collect()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        let output = ToolOutput::structured(Value::Object(call.arguments));
        Ok(ToolResult::read_only(output, ReadSet::default()))
    }

    fn prompts(&self) -> &'static [Prompt] {
        &PROMPTS
    }

    async fn get_prompt(
        &self,
        _: &Principal,
        _: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        let text = format!("Greet {}", arguments["who"].as_str().unwrap_or_default());
        Ok((vec![Message { role: Role::User, block: ContentBlock::Text(text) }], ReadSet::default()))
    }
}
