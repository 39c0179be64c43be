//! The scheme `test`: the fixtures as an address space like any other.

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, Listing, Subject};
use quad_core::tool::{Call, Called};
use quad_core::{Address, Basis, BoxFuture, Principal, Reading, Result, Route, RouteSpec, Scheme, Tool};
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
    ) -> BoxFuture<'a, Result<Reading>> {
        Box::pin(async move { resources::read(route, address) })
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async { Ok(resources::list()) })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        let known: &[&str] = match query.subject {
            Subject::Prompt(_) => &prompts::KNOWN_VALUES,
            // Every id is as good as another, so none is suggested.
            Subject::Template(_) => &[],
        };
        let fitting = known.iter().filter(|value| value.starts_with(query.prefix));
        let values: Vec<String> = fitting.map(|value| (*value).to_owned()).collect();
        let completion = Completion { total: values.len(), values, basis: Basis::default() };
        Box::pin(async { Ok(completion) })
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn client_capabilities(&self, tool: &str) -> &'static [&'static str] {
        tools::client_capabilities(tool)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Called>> {
        Box::pin(async move {
            let output = tools::call(call.tool.name, call.progress).await?;
            Ok(Called::read(output, Basis::default()))
        })
    }

    fn prompts(&self) -> &'static [Prompt] {
        prompts::PROMPTS
    }

    fn prompt<'a>(
        &'a self,
        _: &'a Principal,
        prompt: &'static Prompt,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<(Vec<Message>, Basis)>> {
        Box::pin(async move { Ok((prompts::messages(prompt.name, arguments)?, Basis::default())) })
    }
}
