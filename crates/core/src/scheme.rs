//! The interface of a scheme: the provider of one address space.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::prompt::{Message, Prompt};
use crate::tool::{ToolCall, ToolResult};
use crate::{Address, Error, Principal, ReadOutput, ReadSet, Result, RouteSpec, ScopeRequirement, Tool};

/// An address pattern of a scheme, with what lists say about it.
#[derive(Debug)]
pub struct Route {
    /// The template and the grammars of its variables.
    pub spec: RouteSpec,
    /// The name in lists.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// A sentence that lets an agent choose.
    pub description: &'static str,
    /// The media type, when every match has the same.
    pub mime_type: Option<&'static str>,
    /// The scope that a reader needs. It depends on the template only, so it is checked before any I/O.
    pub required_scope: ScopeRequirement,
    /// Whether `resources/templates/list` shows it. A template without variables is never shown there.
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
    /// The address.
    pub uri: String,
    /// The name.
    pub name: Cow<'static, str>,
    /// A short title for people.
    pub title: Option<String>,
    /// A sentence that lets an agent choose.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: Cow<'static, str>,
    /// The importance for an assistant, 0 to 1.
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

/// The entries of one scheme in a page of `resources/list`.
#[derive(Debug)]
pub struct SchemePage {
    /// The entries, in the scheme's stable order.
    pub entries: Vec<ResourceEntry>,
    /// Where the next page starts: a key of the scheme's own, passed to [`Scheme::list`] as `after`. `None`
    /// at the end.
    pub next: Option<String>,
    /// The read set of the entries.
    pub read_set: ReadSet,
}

/// Possible values of a variable.
#[derive(Debug, Default)]
pub struct Completion {
    /// The values, best first. The resolver truncates them to the protocol's maximum.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
    /// The read set of the values.
    pub read_set: ReadSet,
}

/// A request for possible values.
#[derive(Clone, Copy, Debug)]
pub struct CompletionQuery<'a> {
    /// The template, as published, or the prompt.
    pub target: CompletionTarget<'a>,
    /// The variable or argument to complete.
    pub variable: &'a str,
    /// The text that values must start with.
    pub prefix: &'a str,
    /// Known values of the other variables.
    pub context: &'a Map<String, Value>,
}

/// What a completion is for.
#[derive(Clone, Copy, Debug)]
pub enum CompletionTarget<'a> {
    /// A variable of a template.
    Template(&'a str),
    /// An argument of a prompt.
    Prompt(&'a str),
}

/// What a failed call asked for.
#[derive(Clone, Copy, Debug)]
pub enum RequestTarget<'a> {
    /// An address, as sent.
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
/// Every method is called with an authenticated caller whose scopes satisfy the declared
/// [`ScopeRequirement`]. A read uses one snapshot and returns its [`ReadSet`]. A write uses one transaction,
/// which also appends the call's audit event.
#[async_trait::async_trait]
pub trait Scheme: Send + Sync {
    /// The scheme's name, as in `name://`.
    fn name(&self) -> &'static str;

    /// Whether every endpoint serves its addresses and tools, also the endpoint of another scheme. It is
    /// listed and advertised only where all schemes are. For schemes about the other schemes: the audit log,
    /// the links.
    fn is_global(&self) -> bool {
        false
    }

    /// What an agent needs to know to start. All schemes together have 2 kB.
    fn instructions(&self) -> &'static str;

    /// Every scope of this scheme.
    fn scopes(&self) -> &'static [&'static str];

    /// The address patterns. An error is reported at start.
    fn routes(&self) -> Result<Vec<Route>>;

    /// What the contents of `address` depend on beyond the tenant and the change log: the caller, or the generation
    /// of files. Two callers share a cache entry only if this is equal for both.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let _ = (caller, address);
        String::new()
    }

    /// Translates an error into the codes and fields that this scheme documents. Errors of the resolver pass
    /// here too. The kind must not change: it decides the HTTP status and the JSON-RPC code.
    fn map_error(&self, caller: &Principal, target: RequestTarget<'_>, error: Error) -> Error {
        let _ = (caller, target);
        error
    }

    /// Reads one address. `route` is the index into [`Scheme::routes`].
    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput>;

    /// Checks that `read` would succeed, and returns the read set of that decision. The errors are those of
    /// `read`. A scheme whose contents depend on other addresses must override this so that it does not check
    /// those: two addresses that refer to each other would recurse without end.
    async fn check_readable(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadSet> {
        Ok(self.read(caller, route, address).await?.read_set)
    }

    /// What the caller can read, in a stable order: at most `limit` entries, from the key `after` on.
    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage>;

    /// Possible values of a variable.
    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion>;

    /// The tools, in the order of `tools/list`.
    fn tools(&self) -> Vec<Arc<Tool>> {
        Vec::new()
    }

    /// The client capabilities, by their MCP names, that a tool needs. A call from a client that did not
    /// declare them is rejected. Used by `crates/quad/examples/conformance` only; no scheme of the product
    /// needs it.
    fn client_capabilities(&self, tool: &str) -> &'static [&'static str] {
        let _ = tool;
        &[]
    }

    /// Calls a tool. The arguments match its schema.
    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        let name = call.tool.name;
        Err(Error::internal(format!("tool {name} is published but not implemented")))
    }

    /// The prompts.
    fn prompts(&self) -> &'static [Prompt] {
        &[]
    }

    /// The messages of a prompt, with their read set. Required arguments are present.
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
