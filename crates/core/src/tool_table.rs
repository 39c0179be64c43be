//! The tools of a scheme, each with the function that runs it.
//!
//! A published tool always has a handler, and a call finds the handler by index instead of by name.

use std::sync::Arc;

use crate::tool::{ToolCall, ToolResult};
use crate::{BoxFuture, Error, Result, Tool};

/// Runs one tool of the scheme `S`.
pub type ToolHandler<S> = for<'a> fn(&'a S, ToolCall<'a>) -> BoxFuture<'a, Result<ToolResult>>;

/// A tool and its handler.
pub struct ToolEntry<S: 'static> {
    /// The tool as published.
    pub tool: Tool,
    /// The function that runs it.
    pub handler: ToolHandler<S>,
}

impl<S: 'static> ToolEntry<S> {
    /// Pairs a tool with its handler: `ToolEntry::new(tool, |scheme, call| Box::pin(add(scheme, call)))`.
    pub fn new(tool: Tool, handler: ToolHandler<S>) -> ToolEntry<S> {
        ToolEntry { tool, handler }
    }
}

/// All tools of a scheme, in the order in which they are published.
pub struct ToolTable<S: 'static> {
    tools: Vec<Arc<Tool>>,
    handlers: Vec<ToolHandler<S>>,
}

impl<S: 'static> ToolTable<S> {
    /// A table of these tools. `is_core` chooses the default profile, by name.
    pub fn new(
        entries: impl IntoIterator<Item = ToolEntry<S>>,
        is_core: impl Fn(&str) -> bool,
    ) -> ToolTable<S> {
        let (mut tools, mut handlers) = (Vec::new(), Vec::new());
        for ToolEntry { mut tool, handler } in entries {
            tool.core = is_core(tool.name);
            tools.push(Arc::new(tool));
            handlers.push(handler);
        }
        ToolTable { tools, handlers }
    }

    /// The tools as published.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools.clone()
    }

    /// The names of all tools.
    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name).collect()
    }

    /// Runs the tool of a call.
    pub async fn call(&self, scheme: &S, call: ToolCall<'_>) -> Result<ToolResult> {
        let handler = self.handlers.get(call.index).ok_or_else(|| {
            Error::internal(format!("no handler of tool {} at index {}", call.tool.name, call.index))
        })?;
        handler(scheme, call).await
    }
}
