//! The scheme `test`: the fixtures as an address space like any other.

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, SchemePage, CompletionTarget};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Address, ReadSet, BoxFuture, Principal, ReadOutput, Result, Route, RouteSpec, Scheme, Tool};
use serde_json::{Map, Value};

use crate::{prompts, resources, tools};

/// The provider of `test://`.
pub struct Fixtures {
    patterns: Vec<RouteSpec>,
}

impl Fixtures {
    /// The fixtures, their patterns parsed.
    pub fn new() -> Result<Fixtures> {
        Ok(Fixtures { patterns: resources::patterns()? })
    }
}

impl Scheme for Fixtures {
    fn name(&self) -> &'static str {
        "test"
    }

    fn instructions(&self) -> &'static str {
        "Fixtures of the MCP conformance suite. Start from test://static-text."
    }

    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }

    fn routes(&self) -> Vec<Route> {
        resources::routes(&self.patterns)
    }

    fn read<'a>(
        &'a self,
        _: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<ReadOutput>> {
        Box::pin(async move { resources::read(route, address) })
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<SchemePage>> {
        Box::pin(async { Ok(resources::list_page()) })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        let candidates: &[&str] = match query.target {
            CompletionTarget::Prompt(_) => &prompts::COMPLETION_VALUES,
            // Every id is as good as another, so none is suggested.
            CompletionTarget::Template(_) => &[],
        };
        let matching = candidates.iter().filter(|value| value.starts_with(query.prefix));
        let values: Vec<String> = matching.map(|value| (*value).to_owned()).collect();
        let completion = Completion { total: values.len(), values, read_set: ReadSet::default() };
        Box::pin(async { Ok(completion) })
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn client_capabilities(&self, tool: &str) -> &'static [&'static str] {
        tools::client_capabilities(tool)
    }

    fn call_tool<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let output = tools::call(call.tool.name, call.progress).await?;
            Ok(ToolResult::read_only(output, ReadSet::default()))
        })
    }

    fn prompts(&self) -> &'static [Prompt] {
        prompts::PROMPTS
    }

    fn get_prompt<'a>(
        &'a self,
        _: &'a Principal,
        prompt: &'static Prompt,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<(Vec<Message>, ReadSet)>> {
        Box::pin(async move { Ok((prompts::prompt_messages(prompt.name, arguments)?, ReadSet::default())) })
    }
}
