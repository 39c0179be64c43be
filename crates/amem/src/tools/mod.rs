//! The tools. One file per family; this one has the table and what the families share.

mod arguments;
mod query;
mod reports;
#[cfg(test)]
pub(crate) mod result_tests;
mod schema;
mod search;
mod sessions;
mod write;
#[cfg(test)]
mod wrong_call_tests;

use std::sync::Arc;

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{JsonText, ReadSet, Result, ToolOutput, ToolTable};
use quad_store::{Sql, Tx, WriteContext};
use serde_json::{Map, Value};

use crate::graph_cache::GraphCache;
use crate::search::Engine;
use crate::{Amem, tags};
use arguments::Arguments;

/// The tools of the default profile: what an agent needs to store, find and correct memories.
const CORE_TOOLS: [&str; 10] = [
    "memory_session_resume",
    "memory_add",
    "memory_correct",
    "memory_search",
    "memory_ground",
    "memory_query",
    "memory_context",
    "memory_forget",
    "session_start",
    "session_end",
];

/// All tools, in the order in which they are published.
pub(crate) fn table() -> ToolTable<Amem> {
    let entries =
        [write::entries(), search::entries(), query::entries(), reports::entries(), sessions::entries()];
    ToolTable::new(entries.into_iter().flatten(), |name| CORE_TOOLS.contains(&name))
}

/// A call of a tool that only reads, owned so that a closure can move it.
struct ReadCall {
    subject: Arc<str>,
    arguments: Map<String, Value>,
    engine: Arc<Engine>,
    graph_cache: Arc<GraphCache>,
}

impl ReadCall {
    fn new(amem: &Amem, call: ToolCall<'_>) -> ReadCall {
        ReadCall {
            subject: call.caller.subject.clone(),
            arguments: call.arguments,
            engine: amem.engine.clone(),
            graph_cache: amem.graph_cache.clone(),
        }
    }

    fn arguments(&self) -> Arguments<'_> {
        Arguments(&self.arguments)
    }
}

/// Runs such a call in a snapshot; returns the output and what it depends on.
type RunRead = fn(&mut dyn Sql, &ReadCall) -> Result<(ToolOutput, ReadSet)>;

/// Runs a tool that reads and may take long: on a thread where blocking is allowed.
async fn read(amem: &Amem, call: ToolCall<'_>, run: RunRead) -> Result<ToolResult> {
    let tenant = &call.caller.tenant;
    let call = ReadCall::new(amem, call);
    let (output, read_set) = amem.store.read(tenant, move |sql| run(sql, &call)).await?;
    Ok(ToolResult::read_only(output, read_set))
}

/// Runs a tool that reads few rows, on the calling thread.
async fn read_inline(amem: &Amem, call: ToolCall<'_>, run: RunRead) -> Result<ToolResult> {
    let tenant = &call.caller.tenant;
    let call = ReadCall::new(amem, call);
    let (output, read_set) = amem.store.read_inline(tenant, move |sql| run(sql, &call)).await?;
    Ok(ToolResult::read_only(output, read_set))
}

/// Runs a tool that writes, in one transaction with its audit event.
async fn run_write(
    amem: &Amem,
    call: ToolCall<'_>,
    work: impl FnMut(&mut Tx<'_>) -> Result<ToolOutput> + Send + 'static,
) -> Result<ToolResult> {
    let (output, receipt) =
        amem.store.write(&WriteContext::from(call.caller), call.event.succeeded(), work).await?;
    Ok(ToolResult::committed(output, receipt))
}

/// A structured result.
fn structured(value: impl Into<JsonText>) -> ToolOutput {
    ToolOutput::structured(value)
}

/// The read set of a result that may show any node.
fn node_read_set(sql: &mut dyn Sql) -> ReadSet {
    ReadSet::at_version(sql.version()).with_tag(tags::nodes())
}

#[cfg(test)]
mod tests {
    use quad_core::tool::ToolEffect;
    use quad_core::{Kind, Tool};
    use quad_store::testing::agent;
    use serde_json::json;

    use super::*;
    use crate::testing::test_envs_with_data;

    #[test]
    fn tool_scope_matches_its_effect() {
        let tools = table().tools();
        assert_eq!(tools.iter().filter(|tool| tool.core).count(), CORE_TOOLS.len());
        for tool in tools {
            let expected = if tool.effect == ToolEffect::Reads { "memory:read" } else { "memory:write" };
            assert_eq!(tool.required_scope.0, [expected], "{}", tool.name);
        }
    }

    #[test]
    fn core_tool_list_under_10_kib() {
        let core: Vec<Value> =
            table().tools().iter().filter(|tool| tool.core).map(|tool| tool.to_json()).collect();
        let resource_tools = quad_core::resource_tools::tools();
        let mut listed: Vec<Value> =
            core.into_iter().chain(resource_tools.iter().map(Tool::to_json)).collect();
        // Hosts do not send output schemas to the model.
        listed.iter_mut().filter_map(Value::as_object_mut).for_each(|tool| drop(tool.remove("outputSchema")));
        let bytes = json!({"tools": listed}).to_string().len();
        assert!(bytes <= 10_240, "{bytes} bytes");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_tool_handles_invalid_arguments() {
        for env in test_envs_with_data().await {
            for tool in table().tools() {
                for arguments in [
                    json!({}),
                    json!({"node_id": u64::MAX}),
                    json!({"start_id": 0, "cursor": "garbage"}),
                    json!({"node_id": 0, "reason": "x", "cursor": ""}),
                    json!({"event_type": "fact", "content": "\u{0}"}),
                    json!({"nodes": []}),
                    json!({"session_id": 99}),
                    json!({"range_a": {"type": "session", "session_id": 1}, "range_b": {"type": "time_window", "start": 5, "end": 1}}),
                    json!({"source_id": 0, "target_id": 0, "edge_type": "supports"}),
                    json!({"from_id": 0, "to_id": 0}),
                    json!({"user_message": "日本語"}),
                    json!({"query": "\"(*&^% ** \u{0}"}),
                    json!({"query": "x".repeat(10_000)}),
                    json!({"claim": "é日本語".repeat(9_000)}),
                    json!({"query_text": "日本語", "query_vec": [1]}),
                    json!({"query_vec": [0, 0, 0]}),
                ] {
                    if let Err(error) = env.call(tool.name, arguments.clone()).await {
                        assert_ne!(
                            error.kind(),
                            Kind::Internal,
                            "{} {arguments}: {}",
                            tool.name,
                            error.cause_chain()
                        );
                    }
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn read_scope_cannot_call_write_tools() {
        let mut env = test_envs_with_data().await.remove(0);
        env.caller = agent(&env.test_store.tenant, "agent_1", "memory:read");
        let result = env.call("memory_add", json!({"event_type": "fact", "content": "x"})).await;
        assert_eq!(result.unwrap_err().code(), "SCOPE_INSUFFICIENT");
        assert!(env.call("memory_stats", json!({})).await.is_ok());
    }
}
