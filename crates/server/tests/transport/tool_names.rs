//! The names of tools that an endpoint publishes, over HTTP and stdio, in both eras.

use std::sync::Arc;

use quad_core::resolver::View;
use quad_core::tool::{ToolEffect, ToolOutput, ToolResult};
use quad_core::{ReadSet, Resolver, Scheme, ScopeRequirement, Tool};
use quad_mcp::ToolNames;
use quad_server::stdio::{StdioOptions, serve};
use quad_testing::{MemoryAuditLog, ToyScheme};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::client::{Client, modern, request};
use crate::server::{local_principal, start_customized};

/// Two schemes, each with a tool that has two names. One is `brain`, which `/v1/agents/mcp` serves.
fn resolver() -> Arc<Resolver> {
    let schemes: Vec<Arc<dyn Scheme>> = vec![
        Arc::new(scheme("brain", "ledger_list", "ledger.list")),
        Arc::new(scheme("other", "plan_next", "plan.next")),
    ];
    Arc::new(Arc::<MemoryAuditLog>::default().resolver(schemes).unwrap())
}

fn scheme(name: &'static str, tool: &'static str, dotted: &'static str) -> ToyScheme {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let scope = ScopeRequirement(&["toy:read"]);
    let tool = Tool::new(tool, "A tool", "A tool", schema, scope, ToolEffect::Reads).dotted(dotted);
    ToyScheme {
        name,
        scopes: &["toy:read"],
        tools: vec![Arc::new(Tool { core: true, ..tool })],
        call_tool: Box::new(|call| {
            let output = ToolOutput::structured(json!({"called": call.tool.name}));
            Ok(ToolResult::read_only(output, ReadSet::default()))
        }),
        ..ToyScheme::default()
    }
}

/// The names in the reply of `tools/list` that are not those of built-in tools.
fn names(reply: &Value) -> Vec<&str> {
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.starts_with("ledger") || name.starts_with("plan")).collect()
}

/// Checks which names a path publishes in both eras, and that it accepts both names in calls.
async fn check_path(client: &Client, path: &str, expected: &[&str]) {
    let legacy = request(1, "tools/list", json!({})).to_string();
    let legacy = client.send("POST", path, &[], legacy.as_bytes()).await.json();
    assert_eq!(names(&legacy), expected, "{path}");
    let modern = client.modern_to(path, "tools/list", json!({})).await.json();
    assert_eq!(names(&modern), expected, "{path}");
    for name in ["ledger_list", "ledger.list"] {
        let reply = client.modern_to(path, "tools/call", json!({"name": name})).await.json();
        assert_eq!(reply["result"]["structuredContent"]["called"], "ledger_list", "{path} {name}: {reply}");
    }
}

#[tokio::test]
async fn http_publishes_portable_names_except_on_agents_path() {
    let running = start_customized(true, |options| options.resolver = resolver()).await;
    let client = running.client();
    check_path(&client, "/mcp", &["ledger_list", "plan_next"]).await;
    check_path(&client, "/mcp?tools=all", &["ledger_list", "plan_next"]).await;
    check_path(&client, "/mcp/brain", &["ledger_list"]).await;
    check_path(&client, "/v1/agents/mcp", &["ledger.list"]).await;
}

#[tokio::test]
async fn http_publishes_original_names_if_configured() {
    let customize = |options: &mut quad_server::http::HttpOptions| {
        options.resolver = resolver();
        options.tool_names = ToolNames::Original;
    };
    let running = start_customized(true, customize).await;
    let client = running.client();
    check_path(&client, "/mcp", &["ledger.list", "plan.next"]).await;
    check_path(&client, "/mcp?tools=all", &["ledger.list", "plan.next"]).await;
    check_path(&client, "/mcp/brain", &["ledger.list"]).await;
    check_path(&client, "/v1/agents/mcp", &["ledger.list"]).await;
}

#[tokio::test]
async fn stdio_publishes_configured_names_and_accepts_both() {
    for (tool_names, expected) in [
        (ToolNames::Portable, ["ledger_list", "plan_next"]),
        (ToolNames::Original, ["ledger.list", "plan.next"]),
    ] {
        let messages = [
            request(1, "tools/list", json!({})),
            request(2, "tools/list", modern(json!({}))),
            request(3, "tools/call", modern(json!({"name": "plan_next"}))),
            request(4, "tools/call", modern(json!({"name": "plan.next"}))),
        ];
        let replies = exchange(tool_names, &messages).await;
        let reply = |id: i64| replies.iter().find(|reply| reply["id"] == id).unwrap();
        assert_eq!(names(reply(1)), expected);
        assert_eq!(names(reply(2)), expected);
        for id in [3, 4] {
            let structured = &reply(id)["result"]["structuredContent"];
            assert_eq!(structured["called"], "plan_next", "{}", reply(id));
        }
    }
}

/// Sends messages over stdio, closes the input and returns the replies.
async fn exchange(tool_names: ToolNames, messages: &[Value]) -> Vec<Value> {
    let options = StdioOptions {
        resolver: resolver(),
        principal: local_principal(),
        view: View::All,
        all_tools: false,
        tool_names,
        name: "quadrivium",
        version: "0.0.1",
    };
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let (writer, mut output) = tokio::io::duplex(1 << 20);
    serve(options, input.as_bytes(), writer).await.unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
