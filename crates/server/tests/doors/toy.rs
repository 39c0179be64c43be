//! A scheme, a journal and a feed that live in memory: as little as the path of a read needs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::scheme::{Completion, CompletionQuery, ResourceEntry, SchemePage, CompletionTarget};
use quad_core::tool::{ContentBlock, ToolCall, ToolResult, ToolEffect};
use quad_core::{
    Address, ReadSet, Body, BoxFuture, Change, Content, Error, EventDraft, ChangeFeed, AuditLog, ScopeRequirement, AppendError,
    Principal, ReadOutput, Receipt, Resolver, Result, Route, RouteSpec, Scheme, Tag, TenantId, Tool, ToolOutput,
    Version,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

/// Everything the tests look at or turn.
pub struct World {
    state: Mutex<State>,
    changes: broadcast::Sender<Arc<Change>>,
    /// Tool calls that wait for ever and have been dropped.
    pub dropped: AtomicUsize,
    /// Tool calls that wait for ever and have begun.
    pub begun: AtomicUsize,
    /// Lets slow tools go on.
    pub go: tokio::sync::Semaphore,
    /// Slow tools that have come to their end.
    pub finished: AtomicUsize,
}

#[derive(Default)]
struct State {
    version: i64,
    items: BTreeMap<String, String>,
    log: Vec<Arc<Change>>,
    events: Vec<EventDraft>,
}

impl World {
    pub fn new() -> Arc<World> {
        let world = World {
            state: Mutex::default(),
            changes: broadcast::Sender::new(64),
            dropped: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            go: tokio::sync::Semaphore::new(0),
            finished: AtomicUsize::new(0),
        };
        let world = Arc::new(world);
        world.set("one", "first");
        world
    }

    pub fn resolver(self: &Arc<World>) -> Arc<Resolver> {
        let schemes: Vec<Arc<dyn Scheme>> = vec![Arc::new(Toy(self.clone()))];
        Arc::new(Resolver::new(schemes, self.clone(), self.clone()).unwrap())
    }

    /// Writes an item, as a tool would.
    pub fn set(&self, id: &str, value: &str) -> Receipt {
        let mut state = self.state.lock().unwrap();
        let is_new = state.items.insert(id.to_owned(), value.to_owned()).is_none();
        let mut tags = vec![item(id)];
        if is_new {
            tags.push(Tag::resource_list("toy"));
        }
        self.commit(&mut state, tags)
    }

    /// A commit that touches exactly this.
    pub fn touch(&self, tag: Tag) {
        let mut state = self.state.lock().unwrap();
        self.commit(&mut state, vec![tag]);
    }

    /// The version now.
    pub fn version(&self) -> i64 {
        self.state.lock().unwrap().version
    }

    /// What has been written down.
    pub fn events(&self) -> Vec<EventDraft> {
        self.state.lock().unwrap().events.clone()
    }

    fn commit(&self, state: &mut State, tags: Vec<Tag>) -> Receipt {
        state.version += 1;
        let change = Arc::new(Change { version: Version(state.version), tags });
        state.log.push(change.clone());
        let _ = self.changes.send(change);
        Receipt {
            version: Version(state.version),
            sequence: Some(state.events.len() as i64),
            event_id: "evt_w".into(),
        }
    }
}

fn item(id: &str) -> Tag {
    Tag::new(format!("toy:item:{id}"))
}

impl ChangeFeed for World {
    fn subscribe<'a>(&'a self, _: &'a TenantId) -> BoxFuture<'a, Result<broadcast::Receiver<Arc<Change>>>> {
        Box::pin(async { Ok(self.changes.subscribe()) })
    }
}

impl AuditLog for World {
    fn append<'a>(
        &'a self,
        _: &'a TenantId,
        event: EventDraft,
        bases: Vec<Arc<ReadSet>>,
    ) -> BoxFuture<'a, Result<Receipt, AppendError>> {
        Box::pin(async move {
            let mut state = self.state.lock().unwrap();
            for (index, basis) in bases.iter().enumerate() {
                let since = basis.version.unwrap_or(Version(0));
                let mut newer = state.log.iter().filter(|change| change.version > since);
                if newer.any(|change| basis.is_invalidated_by(&change.tags)) {
                    return Err(AppendError::Stale(index));
                }
            }
            state.events.push(event);
            let sequence = state.events.len() as i64;
            Ok(Receipt {
                version: Version(state.version),
                sequence: Some(sequence),
                event_id: format!("evt_{sequence}").into(),
            })
        })
    }
}

pub struct Toy(Arc<World>);

const READ: ScopeRequirement = ScopeRequirement(&["toy:read"]);
const WRITE: ScopeRequirement = ScopeRequirement(&["toy:write"]);
const SECRET: ScopeRequirement = ScopeRequirement(&["toy:secret"]);

const ROUTES: [(&str, ScopeRequirement); 9] = [
    ("toy://static", READ),
    ("toy://items/{id}", READ),
    ("toy://picture", READ),
    ("toy://pair", READ),
    ("toy://forever", READ),
    ("toy://volatile", READ),
    ("toy://secret", SECRET),
    ("toy://broken", READ),
    ("toy://pointed", READ),
];

static PROMPTS: [Prompt; 2] = [
    Prompt {
        name: "toy_greet",
        title: "Greet",
        description: "Greets somebody",
        arguments: &[PromptArgument { name: "who", description: "Whom to greet", required: true }],
        required_scope: READ,
    },
    Prompt { name: "toy_show", title: "Show", description: "Shows things", arguments: &[], required_scope: READ },
];

impl Scheme for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        "Start with toy://static."
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read", "toy:write", "toy:secret"]
    }

    fn routes(&self) -> Vec<Route> {
        ROUTES
            .iter()
            .map(|(template, need)| Route {
                spec: RouteSpec::parse(template).unwrap(),
                name: "toy",
                title: "Toy",
                description: "A toy",
                mime_type: None,
                required_scope: *need,
                advertised: true,
            })
            .collect()
    }

    fn read<'a>(
        &'a self,
        _: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<ReadOutput>> {
        Box::pin(async move {
            let state = self.0.state.lock().unwrap();
            let basis = ReadSet::at_version(Version(state.version));
            let text = |text: &str| Content::text("text/plain", text);
            Ok(match route {
                0 => ReadOutput::new(text("never \"changes\"\n"), basis),
                1 => {
                    let id = address.variable("id").unwrap();
                    let Some(value) = state.items.get(id) else {
                        return Err(Error::not_found(address.requested()));
                    };
                    ReadOutput::new(Content::json(&json!({"id": id, "value": value}))?, basis.with_tag(item(id)))
                }
                2 => {
                    let body = Body::Blob(vec![0x89, b'P', b'N', b'G', 0, 255].into());
                    ReadOutput::new(Content { mime_type: "image/png".into(), body }, basis)
                }
                3 => {
                    let mut reading = ReadOutput::new(text("left"), basis);
                    reading.contents.push(text("right"));
                    reading
                }
                4 => ReadOutput { immutable: true, ..ReadOutput::new(text("for ever"), basis) },
                5 => ReadOutput { cacheable: false, ..ReadOutput::new(text("once"), basis) },
                6 => ReadOutput::new(text("psst"), basis),
                7 => return Err(Error::internal("the disk is on fire")),
                _ => {
                    // What the item `pointer` points to: it rests on both.
                    let Some(id) = state.items.get("pointer") else {
                        return Err(Error::not_found(address.requested()));
                    };
                    let value = state.items.get(id).map_or("", String::as_str);
                    ReadOutput::new(text(value), basis.with_tag(item("pointer")).with_tag(item(id)))
                }
            })
        })
    }

    fn list<'a>(
        &'a self,
        _: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<SchemePage>> {
        Box::pin(async move {
            let state = self.0.state.lock().unwrap();
            let fixed = [("toy://static".to_owned(), "static")].into_iter();
            let items = state.items.keys().map(|id| (format!("toy://items/{id}"), "item"));
            let listed = |(uri, name): (String, &'static str)| ResourceEntry {
                uri,
                name: name.into(),
                title: None,
                description: None,
                mime_type: "text/plain".into(),
                priority: Some(0.5),
            };
            let mut entries: Vec<ResourceEntry> = fixed.chain(items).map(listed).collect();
            entries.sort_by(|a, b| a.uri.cmp(&b.uri));
            if let Some(after) = after {
                entries.retain(|entry| entry.uri.as_str() > after);
            }
            let more = entries.len() > limit;
            entries.truncate(limit);
            let next = if more { entries.last().map(|entry| entry.uri.clone()) } else { None };
            let basis = ReadSet::at_version(Version(state.version)).with_tag(Tag::resource_list("toy"));
            Ok(SchemePage { entries, next, read_set: basis })
        })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        Box::pin(async move {
            let state = self.0.state.lock().unwrap();
            let values: Vec<String> = match query.target {
                CompletionTarget::Template(_) => {
                    state.items.keys().filter(|id| id.starts_with(query.prefix)).cloned().collect()
                }
                CompletionTarget::Prompt(_) => vec!["world".to_owned()],
            };
            Ok(Completion { total: values.len(), values, read_set: ReadSet::at_version(Version(state.version)) })
        })
    }

    fn tools(&self) -> Vec<Tool> {
        let tool = |name, need, effect, core, input_schema| Tool {
            name,
            title: name,
            description: "A toy tool",
            input_schema,
            output_schema: None,
            required_scope: need,
            effect,
            core,
        };
        let nothing = || json!({"type": "object", "additionalProperties": false});
        let strings = json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "value": {"type": "string"}},
            "required": ["id", "value"],
            "additionalProperties": false,
        });
        let mut set = tool("toy_set", WRITE, ToolEffect::Updates, true, strings);
        set.output_schema = Some(json!({"type": "object"}));
        vec![
            set,
            tool("toy_media", READ, ToolEffect::Reads, true, nothing()),
            tool("toy_progress", READ, ToolEffect::Reads, true, nothing()),
            tool("toy_hasty", READ, ToolEffect::Reads, false, nothing()),
            tool("toy_hang", READ, ToolEffect::Reads, false, nothing()),
            tool("toy_slow", READ, ToolEffect::Reads, false, nothing()),
            tool("toy_fail", READ, ToolEffect::Reads, false, nothing()),
            tool("toy_secret", SECRET, ToolEffect::Reads, false, nothing()),
        ]
    }

    fn call_tool<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let basis = ReadSet::default();
            let text = |call: &ToolCall<'_>, name: &str| call.arguments[name].as_str().unwrap().to_owned();
            match call.tool.name {
                "toy_set" => {
                    let (id, value) = (text(&call, "id"), text(&call, "value"));
                    let receipt = self.0.set(&id, &value);
                    let output = ToolOutput::structured(json!({"id": id, "value": value}));
                    Ok(ToolResult::committed(output.with_link(format!("toy://items/{id}"), "the item"), receipt))
                }
                "toy_media" => {
                    let blocks = vec![
                        ContentBlock::Image { data: "AP8=".into(), mime_type: "image/png".into() },
                        ContentBlock::Audio { data: "AP8=".into(), mime_type: "audio/wav".into() },
                        ContentBlock::Embedded {
                            uri: "toy://static".into(),
                            content: Content::text("text/plain", "inside"),
                        },
                    ];
                    Ok(ToolResult::read_only(ToolOutput { structured: None, blocks, is_error: false }, basis))
                }
                "toy_progress" => {
                    for done in [0.0, 50.0, 100.0] {
                        call.progress.report(done, Some(100.0), "on the way");
                        tokio::task::yield_now().await;
                    }
                    Ok(ToolResult::read_only(ToolOutput::structured(json!({"done": true})), basis))
                }
                "toy_hasty" => {
                    // Reports and is done before anybody can look.
                    call.progress.report(1.0, None, "");
                    Ok(ToolResult::read_only(ToolOutput::structured(json!({"done": true})), basis))
                }
                "toy_hang" => {
                    struct Fallen<'a>(&'a World);
                    impl Drop for Fallen<'_> {
                        fn drop(&mut self) {
                            self.0.dropped.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    let _fallen = Fallen(&self.0);
                    self.0.begun.fetch_add(1, Ordering::SeqCst);
                    std::future::pending().await
                }
                "toy_slow" => {
                    self.0.begun.fetch_add(1, Ordering::SeqCst);
                    let _ = self.0.go.acquire().await;
                    self.0.finished.fetch_add(1, Ordering::SeqCst);
                    Ok(ToolResult::read_only(ToolOutput::structured(json!({"slow": true})), basis))
                }
                "toy_fail" => Err(Error::bad_input("It does not work").with_detail("errorCode", "TOY_BROKEN")),
                _ => Ok(ToolResult::read_only(ToolOutput::structured(json!({"secret": 1})), basis)),
            }
        })
    }

    fn prompts(&self) -> &'static [Prompt] {
        &PROMPTS
    }

    fn get_prompt<'a>(
        &'a self,
        _: &'a Principal,
        prompt: &'static Prompt,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<(Vec<Message>, ReadSet)>> {
        Box::pin(async move {
            let say = |block| Message { role: Role::User, block };
            let messages = match prompt.name {
                "toy_greet" => {
                    vec![say(ContentBlock::Text(format!("Hello {}", arguments["who"].as_str().unwrap())))]
                }
                _ => vec![
                    say(ContentBlock::Image { data: "AP8=".into(), mime_type: "image/png".into() }),
                    say(ContentBlock::Embedded {
                        uri: "toy://static".into(),
                        content: Content::text("text/plain", "in"),
                    }),
                ],
            };
            Ok((messages, ReadSet::default()))
        })
    }
}
