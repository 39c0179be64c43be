//! The scheme `test`: the fixtures of the conformance suite as resources, tools and prompts.

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, CompletionTarget, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Address, Principal, ReadOutput, ReadSet, Result, Route, RouteSpec, Scheme, Tool};
use serde_json::{Map, Value};

use crate::{prompts, resources, tools};

/// The provider of `test://`.
pub struct Fixtures {
    patterns: Vec<RouteSpec>,
}

impl Fixtures {
    /// The routes of the fixtures.
    pub fn new() -> Result<Fixtures> {
        Ok(Fixtures { patterns: resources::patterns()? })
    }
}

#[async_trait::async_trait]
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

    fn routes(&self) -> Result<Vec<Route>> {
        Ok(resources::routes(&self.patterns))
    }

    async fn read(&self, _: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        resources::read(route, address)
    }

    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        Ok(resources::list_page())
    }

    async fn complete(&self, _: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let candidates: &[&str] = match query.target {
            CompletionTarget::Prompt(_) => &prompts::COMPLETION_VALUES,
            // Every id is valid, so none is suggested.
            CompletionTarget::Template(_) => &[],
        };
        let matching = candidates.iter().filter(|value| value.starts_with(query.prefix));
        let values: Vec<String> = matching.map(|value| (*value).to_owned()).collect();
        let completion = Completion { total: values.len(), values, read_set: ReadSet::default() };
        Ok(completion)
    }

    fn tools(&self) -> Vec<std::sync::Arc<Tool>> {
        tools::all().into_iter().map(std::sync::Arc::new).collect()
    }

    fn client_capabilities(&self, tool: &str) -> &'static [&'static str] {
        tools::client_capabilities(tool)
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        let output = tools::call(call.tool.name, call.progress).await?;
        Ok(ToolResult::read_only(output, ReadSet::default()))
    }

    fn prompts(&self) -> &'static [Prompt] {
        prompts::PROMPTS
    }

    async fn get_prompt(
        &self,
        _: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        Ok((prompts::prompt_messages(prompt.name, arguments)?, ReadSet::default()))
    }
}
