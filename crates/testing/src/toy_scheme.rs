//! A scheme that is made of functions.

use std::sync::Arc;

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Address, Error, Principal, ReadOutput, ReadSet, Result, Route, RouteTable, Scheme, Tool};
use serde_json::{Map, Value};

/// Reads one address; the number is the index of its route.
pub type ReadFn = Box<dyn Fn(&Principal, usize, &Address) -> Result<ReadOutput> + Send + Sync>;
/// Lists at most so many resources, from a key on.
pub type ListFn = Box<dyn Fn(Option<&str>, usize) -> SchemePage + Send + Sync>;
/// Possible values of a variable.
pub type CompleteFn = Box<dyn Fn(CompletionQuery<'_>) -> Completion + Send + Sync>;
/// Calls a tool.
pub type CallToolFn = Box<dyn Fn(ToolCall<'_>) -> Result<ToolResult> + Send + Sync>;
/// The messages of a prompt.
pub type GetPromptFn = Box<dyn Fn(&'static Prompt, &Map<String, Value>) -> Vec<Message> + Send + Sync>;

/// A scheme for tests. A test sets the parts that it needs; the others have nothing to show.
pub struct ToyScheme {
    /// The name, `toy` unless set.
    pub name: &'static str,
    /// What an agent needs to know to start.
    pub instructions: &'static str,
    /// Every scope.
    pub scopes: &'static [&'static str],
    /// The routes.
    pub routes: RouteTable<()>,
    /// Reads an address. Finds nothing unless set.
    pub read: ReadFn,
    /// Lists resources.
    pub list: ListFn,
    /// Completes variables and arguments.
    pub complete: CompleteFn,
    /// The tools.
    pub tools: Vec<Arc<Tool>>,
    /// Calls a tool. Fails unless set.
    pub call_tool: CallToolFn,
    /// The prompts.
    pub prompts: &'static [Prompt],
    /// The messages of a prompt.
    pub get_prompt: GetPromptFn,
}

impl Default for ToyScheme {
    fn default() -> ToyScheme {
        ToyScheme {
            name: "toy",
            instructions: "",
            scopes: &[],
            routes: RouteTable { rows: &[], grammars: &[] },
            read: Box::new(|_, _, address| Err(Error::not_found(address.requested()))),
            list: Box::new(|_, _| empty_page()),
            complete: Box::new(|_| Completion::default()),
            tools: Vec::new(),
            call_tool: Box::new(|call| Err(Error::internal(format!("{} has no handler", call.tool.name)))),
            prompts: &[],
            get_prompt: Box::new(|_, _| Vec::new()),
        }
    }
}

/// A page of a list without entries.
pub fn empty_page() -> SchemePage {
    SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() }
}

#[async_trait::async_trait]
impl Scheme for ToyScheme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn instructions(&self) -> &'static str {
        self.instructions
    }

    fn scopes(&self) -> &'static [&'static str] {
        self.scopes
    }

    fn routes(&self) -> Result<Vec<Route>> {
        self.routes.routes()
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        (self.read)(caller, route, address)
    }

    async fn list(&self, _: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        Ok((self.list)(after, limit))
    }

    async fn complete(&self, _: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        Ok((self.complete)(query))
    }

    fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools.clone()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        (self.call_tool)(call)
    }

    fn prompts(&self) -> &'static [Prompt] {
        self.prompts
    }

    async fn get_prompt(
        &self,
        _: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        Ok(((self.get_prompt)(prompt, arguments), ReadSet::default()))
    }
}
