//! The server under test: a scheme with a case for every part of the protocol.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::scheme::{Completion, CompletionQuery, CompletionTarget, ResourceEntry, SchemePage};
use quad_core::tool::{ContentBlock, ToolCall, ToolEffect, ToolResult};
use quad_core::{
    Address, Body, Content, Error, EventDraft, Principal, ReadOutput, ReadSet, Receipt, Resolver, Result,
    Route, RouteSpec, Scheme, ScopeRequirement, Tag, Tool, ToolOutput,
};
use quad_testing::MemoryAuditLog;
use serde_json::{Map, Value, json};

/// The state of the test scheme, which tests read and change.
pub struct TestServerState {
    items: Mutex<BTreeMap<String, String>>,
    audit_log: Arc<MemoryAuditLog>,
    /// Calls of `toy_hang`, which never returns, that were dropped.
    pub dropped: AtomicUsize,
    /// Calls of `toy_hang` and `toy_slow` that have begun.
    pub started: AtomicUsize,
    /// Each permit lets one call of `toy_slow` finish.
    pub slow_tool_permits: tokio::sync::Semaphore,
    /// Calls of `toy_slow` that have finished.
    pub finished: AtomicUsize,
}

impl TestServerState {
    pub fn new() -> Arc<TestServerState> {
        let state = TestServerState {
            items: Mutex::default(),
            audit_log: Arc::default(),
            dropped: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            slow_tool_permits: tokio::sync::Semaphore::new(0),
            finished: AtomicUsize::new(0),
        };
        let state = Arc::new(state);
        state.set("one", "first");
        state
    }

    pub fn resolver(self: &Arc<TestServerState>) -> Arc<Resolver> {
        Arc::new(self.audit_log.resolver(vec![Arc::new(ToyScheme(self.clone()))]).unwrap())
    }

    /// Writes an item, as a tool would.
    pub fn set(&self, id: &str, value: &str) -> Receipt {
        // Locked until the change is committed, so that no read has the new item and the old version.
        let mut items = self.items.lock().unwrap();
        let is_new = items.insert(id.to_owned(), value.to_owned()).is_none();
        let mut tags = vec![item_tag(id)];
        if is_new {
            tags.push(Tag::resource_list("toy"));
        }
        self.audit_log.commit(tags)
    }

    /// Commits a change with this tag only.
    pub fn invalidate(&self, tag: Tag) {
        self.audit_log.commit(vec![tag]);
    }

    /// The current version.
    pub fn version(&self) -> i64 {
        self.audit_log.version().0
    }

    /// The audit events so far.
    pub fn events(&self) -> Vec<EventDraft> {
        self.audit_log.events()
    }

    /// The items, and a read set at their version.
    fn snapshot(&self) -> (MutexGuard<'_, BTreeMap<String, String>>, ReadSet) {
        let items = self.items.lock().unwrap();
        let read_set = ReadSet::at_version(self.audit_log.version());
        (items, read_set)
    }
}

fn item_tag(id: &str) -> Tag {
    Tag::new(format!("toy:item:{id}"))
}

pub struct ToyScheme(Arc<TestServerState>);

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
        description: "Greets a person",
        arguments: &[PromptArgument { name: "who", description: "The person to greet", required: true }],
        required_scope: READ,
    },
    Prompt {
        name: "toy_show",
        title: "Show",
        description: "Shows things",
        arguments: &[],
        required_scope: READ,
    },
];

#[async_trait::async_trait]
impl Scheme for ToyScheme {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        "Start with toy://static."
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read", "toy:write", "toy:secret"]
    }

    fn routes(&self) -> Result<Vec<Route>> {
        Ok(ROUTES
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
            .collect())
    }

    async fn read(&self, _: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let (items, read_set) = self.0.snapshot();
        let text = |text: &str| Content::text("text/plain", text);
        Ok(match route {
            0 => ReadOutput::new(text("never \"changes\"\n"), read_set),
            1 => {
                let id = address.variable("id").unwrap();
                let Some(value) = items.get(id) else {
                    return Err(Error::not_found(address.requested()));
                };
                ReadOutput::new(
                    Content::json(&json!({"id": id, "value": value}))?,
                    read_set.with_tag(item_tag(id)),
                )
            }
            2 => {
                let body = Body::Blob(vec![0x89, b'P', b'N', b'G', 0, 255].into());
                ReadOutput::new(Content { mime_type: "image/png".into(), body }, read_set)
            }
            3 => {
                let mut reading = ReadOutput::new(text("left"), read_set);
                reading.contents.push(text("right"));
                reading
            }
            4 => ReadOutput { immutable: true, ..ReadOutput::new(text("for ever"), read_set) },
            5 => ReadOutput { cacheable: false, ..ReadOutput::new(text("once"), read_set) },
            6 => ReadOutput::new(text("psst"), read_set),
            7 => return Err(Error::internal("the disk is on fire")),
            _ => {
                // The item that `pointer` names. The read set has the tags of both.
                let Some(id) = items.get("pointer") else {
                    return Err(Error::not_found(address.requested()));
                };
                let value = items.get(id).map_or("", String::as_str);
                ReadOutput::new(text(value), read_set.with_tag(item_tag("pointer")).with_tag(item_tag(id)))
            }
        })
    }

    async fn list(&self, _: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        let (stored, read_set) = self.0.snapshot();
        let fixed = [("toy://static".to_owned(), "static")].into_iter();
        let items = stored.keys().map(|id| (format!("toy://items/{id}"), "item"));
        let to_entry = |(uri, name): (String, &'static str)| ResourceEntry {
            uri,
            name: name.into(),
            title: None,
            description: None,
            mime_type: "text/plain".into(),
            priority: Some(0.5),
        };
        let mut entries: Vec<ResourceEntry> = fixed.chain(items).map(to_entry).collect();
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        if let Some(after) = after {
            entries.retain(|entry| entry.uri.as_str() > after);
        }
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = if more { entries.last().map(|entry| entry.uri.clone()) } else { None };
        Ok(SchemePage { entries, next, read_set: read_set.with_tag(Tag::resource_list("toy")) })
    }

    async fn complete(&self, _: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let (items, read_set) = self.0.snapshot();
        let values: Vec<String> = match query.target {
            CompletionTarget::Template(_) => {
                items.keys().filter(|id| id.starts_with(query.prefix)).cloned().collect()
            }
            CompletionTarget::Prompt(_) => vec!["world".to_owned()],
        };
        Ok(Completion { total: values.len(), values, read_set })
    }

    fn tools(&self) -> Vec<std::sync::Arc<Tool>> {
        let tool = |name, need, effect, core, input_schema| Tool {
            core,
            ..Tool::new(name, name, "A toy tool", input_schema, need, effect)
        };
        let no_arguments = || json!({"type": "object", "additionalProperties": false});
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
            tool("toy_media", READ, ToolEffect::Reads, true, no_arguments()),
            tool("toy_progress", READ, ToolEffect::Reads, true, no_arguments()),
            tool("toy_hasty", READ, ToolEffect::Reads, false, no_arguments()),
            tool("toy_hang", READ, ToolEffect::Reads, false, no_arguments()),
            tool("toy_slow", READ, ToolEffect::Reads, false, no_arguments()),
            tool("toy_fail", READ, ToolEffect::Reads, false, no_arguments()),
            tool("toy_secret", SECRET, ToolEffect::Reads, false, no_arguments()),
        ]
        .into_iter()
        .map(std::sync::Arc::new)
        .collect()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        let read_set = ReadSet::default();
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
                Ok(ToolResult::read_only(ToolOutput { blocks, ..ToolOutput::default() }, read_set))
            }
            "toy_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    call.progress.report(done, Some(100.0), "on the way");
                    tokio::task::yield_now().await;
                }
                Ok(ToolResult::read_only(ToolOutput::structured(json!({"done": true})), read_set))
            }
            "toy_hasty" => {
                // Reports progress and returns without an await point in between.
                call.progress.report(1.0, None, "");
                Ok(ToolResult::read_only(ToolOutput::structured(json!({"done": true})), read_set))
            }
            "toy_hang" => {
                struct DropCounter<'a>(&'a TestServerState);
                impl Drop for DropCounter<'_> {
                    fn drop(&mut self) {
                        self.0.dropped.fetch_add(1, Ordering::SeqCst);
                    }
                }
                let _drop_counter = DropCounter(&self.0);
                self.0.started.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            "toy_slow" => {
                self.0.started.fetch_add(1, Ordering::SeqCst);
                let _ = self.0.slow_tool_permits.acquire().await;
                self.0.finished.fetch_add(1, Ordering::SeqCst);
                Ok(ToolResult::read_only(ToolOutput::structured(json!({"slow": true})), read_set))
            }
            "toy_fail" => Err(Error::bad_input("It does not work").with_detail("errorCode", "TOY_BROKEN")),
            _ => Ok(ToolResult::read_only(ToolOutput::structured(json!({"secret": 1})), read_set)),
        }
    }

    fn prompts(&self) -> &'static [Prompt] {
        &PROMPTS
    }

    async fn get_prompt(
        &self,
        _: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        let user_message = |block| Message { role: Role::User, block };
        let messages = match prompt.name {
            "toy_greet" => {
                vec![user_message(ContentBlock::Text(format!(
                    "Hello {}",
                    arguments["who"].as_str().unwrap()
                )))]
            }
            _ => vec![
                user_message(ContentBlock::Image { data: "AP8=".into(), mime_type: "image/png".into() }),
                user_message(ContentBlock::Embedded {
                    uri: "toy://static".into(),
                    content: Content::text("text/plain", "in"),
                }),
            ],
        };
        Ok((messages, ReadSet::default()))
    }
}
