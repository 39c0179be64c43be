//! Tools: the mirror of every resource, questions that no address puts well, and the two that write.

mod create;
mod pages;
mod reads;
mod schema;
mod update;

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Result, Tool, ToolOutput};
use serde_json::{Map, Value};

use super::Refrakt;

/// The tools that a client sees unless it asks for all.
const CORE: [&str; 12] = [
    "refrakt.detect",
    "refrakt.reference",
    "refrakt.inspect",
    "refrakt.render",
    "refrakt.validate_content",
    "plan.index",
    "plan.status",
    "plan.next",
    "plan.context",
    "plan.update",
    "plan.create",
    "plan.validate",
];

/// All tools, in the order in which they are published.
pub(crate) fn all() -> Vec<Tool> {
    let mut tools = reads::tools();
    tools.push(update::tool());
    tools.push(create::tool());
    for tool in &mut tools {
        tool.core = CORE.contains(&tool.name);
    }
    tools
}

/// Calls one.
pub(crate) async fn call(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    match call.tool.name {
        "plan.update" => update::call(refrakt, call).await,
        "plan.create" => create::call(refrakt, call).await,
        _ => reads::call(refrakt, call).await,
    }
}

/// A result as data, and so as text.
fn output(value: Value) -> ToolOutput {
    ToolOutput::structured(value)
}

/// A text argument that is not empty.
fn non_empty_text(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The date of a moment, as a plan writes it.
fn today() -> String {
    quad_core::Timestamp::now().to_string().chars().take(10).collect()
}
