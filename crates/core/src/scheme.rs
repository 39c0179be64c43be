//! What an address space must be able to do.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::prompt::{Message, Prompt};
use crate::tool::{ToolCall, ToolResult};
use crate::{Address, Error, Principal, ReadOutput, ReadSet, Result, RouteSpec, ScopeRequirement, Tool};

/// An address pattern of a scheme, and what the scheme says about it.
#[derive(Debug)]
pub struct Route {
    /// The template and the grammars of its variables.
    pub spec: RouteSpec,
    /// Its name in lists.
    pub name: &'static str,
    /// A line for people.
    pub title: &'static str,
    /// A sentence for the agent that chooses.
    pub description: &'static str,
    /// The media type, when every match has the same.
    pub mime_type: Option<&'static str>,
    /// What a reader must hold. Known from the shape alone, before any look at the data.
    pub required_scope: ScopeRequirement,
    /// Whether `resources/templates/list` shows it (a template without variables is never shown there).
    pub advertised: bool,
}

impl Route {
    /// The entry in `resources/templates/list`.
    pub fn to_json(&self) -> Value {
        let mut entry = json!({
            "uriTemplate": self.spec.template.as_str(),
            "name": self.name,
            "title": self.title,
            "description": self.description,
        });
        if let (Some(mime_type), Some(entry)) = (self.mime_type, entry.as_object_mut()) {
            entry.insert("mimeType".into(), mime_type.into());
        }
        entry
    }
}

/// A resource in `resources/list`.
#[derive(Clone, Debug)]
pub struct ResourceEntry {
    /// Its address, concrete.
    pub uri: String,
    /// Its name.
    pub name: Cow<'static, str>,
    /// A line for people.
    pub title: Option<String>,
    /// A sentence for the agent that chooses.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Cow<'static, str>,
    /// How much an assistant should want it, 0 to 1.
    pub priority: Option<f64>,
}

impl ResourceEntry {
    /// The entry in `resources/list`.
    pub fn to_json(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("uri".into(), self.uri.as_str().into());
        entry.insert("name".into(), self.name.as_ref().into());
        if let Some(title) = &self.title {
            entry.insert("title".into(), title.as_str().into());
        }
        if let Some(description) = &self.description {
            entry.insert("description".into(), description.as_str().into());
        }
        entry.insert("mimeType".into(), self.mime_type.as_ref().into());
        if let Some(priority) = self.priority {
            entry.insert("annotations".into(), json!({"audience": ["assistant"], "priority": priority}));
        }
        Value::Object(entry)
    }
}

/// A part of a scheme's listing.
#[derive(Debug)]
pub struct SchemePage {
    /// In the scheme's stable order.
    pub entries: Vec<ResourceEntry>,
    /// Where the next part starts: a key of the scheme's own, handed back to [`Scheme::list`]. `None` at the end.
    pub next: Option<String>,
    /// What the listing rests on.
    pub read_set: ReadSet,
}

/// Possible values of a variable.
#[derive(Debug, Default)]
pub struct Completion {
    /// Ranked; the resolver cuts them to the protocol's maximum.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
    /// What they rest on.
    pub read_set: ReadSet,
}

/// A question for possible values.
#[derive(Clone, Copy, Debug)]
pub struct CompletionQuery<'a> {
    /// The template (as published) or the prompt in question.
    pub target: CompletionTarget<'a>,
    /// The variable.
    pub variable: &'a str,
    /// What has been typed so far.
    pub prefix: &'a str,
    /// The other variables, as far as they are known.
    pub context: &'a Map<String, Value>,
}

/// What a completion is about.
#[derive(Clone, Copy, Debug)]
pub enum CompletionTarget<'a> {
    /// A variable of a template.
    Template(&'a str),
    /// An argument of a prompt.
    Prompt(&'a str),
}

/// What a refused call had asked for.
#[derive(Clone, Copy, Debug)]
pub enum RequestTarget<'a> {
    /// An address.
    Address(&'a str),
    /// A tool, by name.
    Tool(&'a str),
    /// A prompt, by name.
    Prompt(&'a str),
    /// A list or a completion.
    Other,
}

/// The provider of one address space.
///
/// Everything here is called with a proven caller whose scopes have been checked against the declared [`ScopeRequirement`]. What a
/// scheme reads, it reads in one snapshot and says so in a [`ReadSet`]; what it writes, it writes in one transaction that
/// also holds the call's audit event.
#[async_trait::async_trait]
pub trait Scheme: Send + Sync {
    /// The scheme's name, as in `name://`.
    fn name(&self) -> &'static str;

    /// Whether its addresses can be read and its tools called at every endpoint, also at one that shows another scheme only. It
    /// is listed and advertised where all schemes are. For what is about the others: what happened, what cites what.
    fn is_global(&self) -> bool {
        false
    }

    /// What an agent should know to start, at most 2 kB over all schemes.
    fn instructions(&self) -> &'static str;

    /// Every scope that this scheme knows.
    fn scopes(&self) -> &'static [&'static str];

    /// The address patterns.
    fn routes(&self) -> Result<Vec<Route>>;

    /// The authorization facts, beyond the route's need, that a reading of `address` depends on. Two callers share a
    /// cache entry only if this is equal for both.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let _ = (caller, address);
        String::new()
    }

    /// A refusal as the clients of this scheme know it: with the codes and fields that its own contract documents. What the
    /// shared path has found wrong comes through here too. The kind must stay, since it decides statuses and numbers.
    fn map_error(&self, caller: &Principal, target: RequestTarget<'_>, error: Error) -> Error {
        let _ = (caller, target);
        error
    }

    /// Reads one address. `route` is the index into [`Scheme::routes`].
    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput>;

    /// Whether `read` would answer, and what that rests on; its refusals are those of `read`. Nothing is shown. A scheme whose
    /// readings look at other addresses says here what holds without looking at them, or two that look at each other would never
    /// end.
    async fn check_readable(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadSet> {
        Ok(self.read(caller, route, address).await?.read_set)
    }

    /// What the caller can read, in a stable order, at most `limit` entries from the key `after` on.
    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage>;

    /// Possible values of a variable.
    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion>;

    /// The tools, in the order in which they are published.
    fn tools(&self) -> Vec<Arc<Tool>> {
        Vec::new()
    }

    /// What a client must be able to do for this tool to work, in the protocol's words; the protocol refuses the call of
    /// one that has not said so. Nothing, as a rule: a result that an agent can read is enough.
    fn client_capabilities(&self, tool: &str) -> &'static [&'static str] {
        let _ = tool;
        &[]
    }

    /// Calls a tool.
    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        let name = call.tool.name;
        Err(Error::internal(format!("tool {name} is published but not implemented")))
    }

    /// The prompts.
    fn prompts(&self) -> &'static [Prompt] {
        &[]
    }

    /// The messages of a prompt, and what they rest on. Required arguments are present.
    async fn get_prompt(
        &self,
        caller: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        let _ = (caller, arguments);

        Err(Error::internal(format!("prompt {} is published but not implemented", prompt.name)))
    }
}
