//! The smallest world in which every method of the protocol has an answer: one scheme, a journal that only counts, and no news.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::resolver::View;
use quad_core::scheme::{Completion, CompletionQuery, Listed, Listing};
use quad_core::tool::{Block, Call, Called, Effect};
use quad_core::{
    Address, Basis, BoxFuture, Change, Content, Error, EventDraft, Feed, Journal, Need, NotRecorded,
    Principal, Reading, Receipt, Resolver, Result, Route, RouteSpec, Scheme, TenantId, Tool, ToolOutput,
    Version,
};
use quad_wire::{Endpoint, Hub, HubOptions};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

/// An endpoint, who calls it, and what was written down.
pub struct World {
    pub endpoint: Endpoint,
    pub caller: Principal,
    journal: Arc<Counting>,
}

impl World {
    pub fn get() -> &'static World {
        static WORLD: OnceLock<World> = OnceLock::new();
        WORLD.get_or_init(|| {
            let journal =
                Arc::new(Counting { events: AtomicU64::new(0), changes: broadcast::Sender::new(1) });
            let resolver = Resolver::new(vec![Arc::new(Toy)], journal.clone(), journal.clone()).unwrap();
            let resolver = Arc::new(resolver);
            let hub = Hub::new(HubOptions { resolver, sessions: None, name: "probe", version: "0" });
            World {
                endpoint: Endpoint::new(hub, View::All, true),
                caller: Principal::local_agent(TenantId::new("t"), ["toy:read"]),
                journal,
            }
        })
    }

    /// How many events were written so far.
    pub fn events(&self) -> u64 {
        self.journal.events.load(Ordering::Relaxed)
    }
}

struct Counting {
    events: AtomicU64,
    changes: broadcast::Sender<Arc<Change>>,
}

impl Journal for Counting {
    fn record<'a>(
        &'a self,
        _: &'a TenantId,
        _: EventDraft,
        _: Vec<Arc<Basis>>,
    ) -> BoxFuture<'a, Result<Receipt, NotRecorded>> {
        self.events.fetch_add(1, Ordering::Relaxed);
        // Always the same, so that the same request has the same reply.
        Box::pin(async { Ok(Receipt { version: Version(1), sequence: Some(1), event_id: "evt_1".into() }) })
    }
}

impl Feed for Counting {
    fn listen<'a>(&'a self, _: &'a TenantId) -> BoxFuture<'a, Result<broadcast::Receiver<Arc<Change>>>> {
        Box::pin(async { Ok(self.changes.subscribe()) })
    }
}

struct Toy;

const READ: Need = Need(&["toy:read"]);

static PROMPTS: [Prompt; 1] = [Prompt {
    name: "greet",
    title: "Greet",
    description: "Greets somebody",
    arguments: &[PromptArgument { name: "who", description: "Whom", required: true }],
    need: READ,
}];

impl Scheme for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        "Start with toy://items/1."
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read"]
    }

    fn routes(&self) -> Vec<Route> {
        vec![Route {
            spec: RouteSpec::parse("toy://items/{id}").unwrap(),
            name: "item",
            title: "Item",
            description: "An item",
            mime_type: None,
            need: READ,
            advertised: true,
        }]
    }

    fn read<'a>(
        &'a self,
        _: &'a Principal,
        _: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<Reading>> {
        Box::pin(async move {
            match address.variable("id") {
                Some(id) if id.len() < 8 => {
                    Ok(Reading::new(Content::text("text/plain", format!("item {id}")), Basis::default()))
                }
                _ => Err(Error::not_found(address.requested())),
            }
        })
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<Listing>> {
        let entry = Listed {
            uri: "toy://items/1".into(),
            name: "one".into(),
            title: None,
            description: None,
            mime_type: "text/plain".into(),
            priority: None,
        };
        Box::pin(async { Ok(Listing { entries: vec![entry], next: None, basis: Basis::default() }) })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        let values = vec![format!("{}1", query.prefix)];
        Box::pin(async { Ok(Completion { total: values.len(), values, basis: Basis::default() }) })
    }

    fn tools(&self) -> Vec<Tool> {
        let schema =
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        vec![Tool::new("echo", "Echo", "Says it again", schema, READ, Effect::Reads)]
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Called>> {
        let output = ToolOutput::structured(Value::Object(call.arguments));
        Box::pin(async { Ok(Called::read(output, Basis::default())) })
    }

    fn prompts(&self) -> &'static [Prompt] {
        &PROMPTS
    }

    fn prompt<'a>(
        &'a self,
        _: &'a Principal,
        _: &'static Prompt,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<(Vec<Message>, Basis)>> {
        let text = format!("Greet {}", arguments["who"].as_str().unwrap_or_default());
        Box::pin(async {
            Ok((vec![Message { role: Role::User, block: Block::Text(text) }], Basis::default()))
        })
    }
}
