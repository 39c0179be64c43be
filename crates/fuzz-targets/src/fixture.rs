//! The smallest server in which every method has an answer: one scheme, an audit log in memory, and no changes.

use std::sync::{Arc, OnceLock};

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::resolver::View;
use quad_core::scheme::{Completion, CompletionQuery, ResourceEntry, SchemePage};
use quad_core::tool::{ContentBlock, ToolCall, ToolEffect, ToolResult};
use quad_core::{
    Address, Content, Error, Principal, ReadOutput, ReadSet, Result, RouteDef, RouteTable, ScopeRequirement,
    TenantId, Tool, ToolOutput,
};
use quad_mcp::{Endpoint, ServerOptions, ServerState};
use quad_testing::{MemoryAuditLog, ToyScheme, empty_page};
use serde_json::{Map, Value, json};

/// An endpoint, its caller and its audit log.
pub struct FuzzServer {
    pub endpoint: Endpoint,
    pub caller: Principal,
    audit_log: Arc<MemoryAuditLog>,
}

impl FuzzServer {
    /// The server of this process.
    pub fn get() -> &'static FuzzServer {
        static SERVER: OnceLock<FuzzServer> = OnceLock::new();
        SERVER.get_or_init(|| {
            let audit_log = Arc::new(MemoryAuditLog::default());
            let resolver = Arc::new(audit_log.resolver(vec![Arc::new(scheme())]).unwrap());
            let server =
                ServerState::new(ServerOptions { resolver, sessions: None, name: "fuzz", version: "0" });
            FuzzServer {
                endpoint: Endpoint::new(server, View::All, true),
                caller: Principal::local_agent(TenantId::new("t"), ["toy:read"]),
                audit_log,
            }
        })
    }

    /// Removes the audit events so far and returns their number. The next request has the same receipt as the one
    /// before, so that equal requests have equal replies on both transports.
    pub fn take_events(&self) -> usize {
        self.audit_log.take_events().len()
    }
}

const READ_SCOPE: ScopeRequirement = ScopeRequirement(&["toy:read"]);

const ROUTES: RouteTable<()> = RouteTable {
    rows: &[RouteDef::json((), "toy://items/{id}", "Item", "An item", READ_SCOPE)],
    grammars: &[],
};

static PROMPTS: [Prompt; 1] = [Prompt {
    name: "greet",
    title: "Greet",
    description: "Greets a person",
    arguments: &[PromptArgument { name: "who", description: "The person", required: true }],
    required_scope: READ_SCOPE,
}];

fn scheme() -> ToyScheme {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let echo = Tool::new("echo", "Echo", "Returns its arguments", schema, READ_SCOPE, ToolEffect::Reads);
    ToyScheme {
        instructions: "Start with toy://items/1.",
        scopes: &["toy:read"],
        routes: ROUTES,
        read: Box::new(read),
        list: Box::new(list),
        complete: Box::new(complete),
        tools: vec![Arc::new(echo)],
        call_tool: Box::new(call_tool),
        prompts: &PROMPTS,
        get_prompt: Box::new(get_prompt),
        ..ToyScheme::default()
    }
}

fn read(_: &Principal, _: usize, address: &Address) -> Result<ReadOutput> {
    match address.variable("id") {
        Some(id) if id.len() < 8 => {
            Ok(ReadOutput::new(Content::text("text/plain", format!("item {id}")), ReadSet::default()))
        }
        _ => Err(Error::not_found(address.requested())),
    }
}

fn list(_: Option<&str>, _: usize) -> SchemePage {
    let entry = ResourceEntry {
        uri: "toy://items/1".into(),
        name: "one".into(),
        title: None,
        description: None,
        mime_type: "text/plain".into(),
        priority: None,
    };
    SchemePage { entries: vec![entry], ..empty_page() }
}

fn complete(query: CompletionQuery<'_>) -> Completion {
    Completion { total: 1, values: vec![format!("{}1", query.prefix)], read_set: ReadSet::default() }
}

fn call_tool(call: ToolCall<'_>) -> Result<ToolResult> {
    let output = ToolOutput::structured(Value::Object(call.arguments));
    Ok(ToolResult::read_only(output, ReadSet::default()))
}

fn get_prompt(_: &'static Prompt, arguments: &Map<String, Value>) -> Vec<Message> {
    let text = format!("Greet {}", arguments["who"].as_str().unwrap_or_default());
    vec![Message { role: Role::User, block: ContentBlock::Text(text) }]
}
