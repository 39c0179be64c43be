//! Stdio: both eras, errors, concurrency, cancellation, progress, subscriptions, batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quad_core::resolver::View;
use quad_core::{Principal, TenantId};
use quad_server::stdio::{StdioOptions, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::{TEST_TIMEOUT, modern, request};
use crate::fixture::TestServerState;
use crate::server::local_principal;

struct StdioClient {
    state: Arc<TestServerState>,
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    task: JoinHandle<std::io::Result<()>>,
}

fn start() -> StdioClient {
    start_as(local_principal())
}

fn start_as(principal: Principal) -> StdioClient {
    let state = TestServerState::new();
    let (input, reader) = duplex(1 << 16);
    let (writer, output) = duplex(1 << 16);
    let options = StdioOptions {
        resolver: state.resolver(),
        principal,
        view: View::All,
        all_tools: false,
        tool_names: quad_mcp::ToolNames::Portable,
        name: "quadrivium",
        version: "0.0.1",
    };
    let task = tokio::spawn(serve(options, reader, writer));
    StdioClient { state, input: Some(input), output: BufReader::new(output), task }
}

impl StdioClient {
    async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(TEST_TIMEOUT, self.output.read_line(&mut line)).await.expect("no reply").unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    async fn call(&mut self, message: Value) -> Value {
        self.send(&message.to_string()).await;
        self.next().await.expect("the server closed its output")
    }

    async fn close(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut remaining = Vec::new();
        while let Some(message) = self.next().await {
            remaining.push(message);
        }
        timeout(TEST_TIMEOUT, self.task).await.unwrap().unwrap().unwrap();
        remaining
    }
}

#[tokio::test]
async fn serves_both_eras_in_one_session() {
    let mut client = start();
    // A request without a revision is served.
    let early = client.call(request(0, "resources/list", json!({}))).await;
    assert_eq!(early["result"]["resources"].as_array().unwrap().len(), 2);
    assert!(early["result"].get("resultType").is_none());
    let opened = client.call(request(1, "initialize", json!({"protocolVersion": "2025-06-18"}))).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        opened["result"]["capabilities"]["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let called = client
        .call(request(
            2,
            "tools/call",
            json!({"name": "resource_read", "arguments": {"uri": "toy://static"}}),
        ))
        .await;
    assert!(called["result"]["structuredContent"].is_object());
    let legacy = client.call(request(3, "resources/read", json!({"uri": "toy://items/none"}))).await;
    assert_eq!(legacy["error"]["code"], -32002);
    let now = client.call(request("4", "resources/read", modern(json!({"uri": "toy://items/none"})))).await;
    assert_eq!((&now["id"], &now["error"]["code"]), (&json!("4"), &json!(-32602)));
    let found = client.call(request(5, "server/discover", modern(json!({})))).await;
    assert_eq!(found["result"]["resultType"], "complete");
    let removed = client.call(request(6, "initialize", modern(json!({})))).await;
    assert_eq!(removed["error"]["code"], -32601);
    let mut old = modern(json!({}));
    old["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    assert_eq!(client.call(request(7, "server/discover", old)).await["error"]["code"], -32022);
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn bad_lines_return_errors_and_reading_continues() {
    let mut client = start();
    client.send("{").await;
    let reply = client.next().await.unwrap();
    assert_eq!(reply["error"]["code"], -32700);
    assert!(reply.get("id").is_none());
    client.send("").await;
    let huge = "x".repeat(quad_mcp::limits::LINE_BYTES + 1);
    client.send(&huge).await;
    let reply = client.next().await.unwrap();
    assert_eq!(reply["error"]["code"], -32600);
    assert!(reply.get("id").is_none());
    assert_eq!(
        client.call(json!({"jsonrpc": "2.0", "id": null, "method": "ping"})).await["error"]["code"],
        -32600
    );
    assert_eq!(client.call(request(1, "nonsense", json!({}))).await["error"]["code"], -32601);
    assert_eq!(client.call(request(1, "ping", json!({}))).await["result"], json!({}));
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn missing_scope_is_read_error_and_tool_result() {
    let mut client = start_as(Principal::local_agent(TenantId::new("t"), ["toy:read"]));
    let read = client.call(request(1, "resources/read", modern(json!({"uri": "toy://secret"})))).await;
    assert_eq!((&read["error"]["code"], &read["error"]["data"]["kind"]), (&json!(-32602), &json!("scope")));
    let called = client.call(request(2, "tools/call", modern(json!({"name": "toy_secret"})))).await;
    assert_eq!(called["result"]["isError"], true);
    assert_eq!(called["result"]["structuredContent"]["error"]["code"], "SCOPE_INSUFFICIENT");
}

#[tokio::test]
async fn requests_run_concurrently_and_can_be_cancelled() {
    let mut client = start();
    client.send(&request("h", "tools/call", json!({"name": "toy_hang"})).to_string()).await;
    while client.state.started.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(client.call(request(2, "ping", json!({}))).await["id"], 2);
    // The same id in another spelling is in use as well.
    client.send(r#"{"jsonrpc":"2.0","id":"\u0068","method":"ping"}"#).await;
    assert_eq!(client.next().await.unwrap()["error"]["code"], -32600);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}"#).await;
    assert_eq!(client.call(request("h", "ping", json!({}))).await["result"], json!({}));
    while client.state.dropped.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn end_of_input_waits_for_running_requests() {
    let mut client = start();
    client.send(&request(1, "tools/call", json!({"name": "toy_slow"})).to_string()).await;
    while client.state.started.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let state = client.state.clone();
    let (remaining, ()) = tokio::join!(client.close(), async { state.slow_tool_permits.add_permits(1) });
    assert_eq!(remaining.len(), 1);
    assert_eq!(remaining[0]["id"], 1);
}

#[tokio::test]
async fn progress_is_sent_before_the_result() {
    let mut client = start();
    let params = modern(json!({"name": "toy_progress", "_meta": {"progressToken": 9}}));
    let mut message = client.call(request(1, "tools/call", params)).await;
    let mut done = Vec::new();
    while message.get("id").is_none() {
        assert_eq!(message["params"]["progressToken"], 9);
        done.push(message["params"]["progress"].as_i64().unwrap());
        message = client.next().await.unwrap();
    }
    assert_eq!(done, [0, 50, 100]);
    assert_eq!(message["result"]["isError"], false);
}

#[tokio::test]
async fn legacy_subscription_notifies_until_unsubscribed() {
    let mut client = start();
    client.call(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(client.call(request(2, "resources/subscribe", uri.clone())).await["result"], json!({}));
    client.state.set("one", "second");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(client.next().await, Some(updated));
    assert_eq!(client.call(request(3, "resources/unsubscribe", uri)).await["result"], json!({}));
    client.state.set("one", "third");
    client.state.set("two", "new");
    assert_eq!(client.next().await.unwrap()["method"], "notifications/resources/list_changed");
    let missing = client.call(request(4, "resources/subscribe", json!({"uri": "toy://items/none"}))).await;
    assert_eq!(missing["error"]["code"], -32002);
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn modern_subscription_runs_concurrently_and_is_cancellable() {
    let mut client = start();
    let params = modern(json!({"notifications": {"resourceSubscriptions": ["toy://items/one"]}}));
    let ack = client.call(request("s", "subscriptions/listen", params)).await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    client.state.set("one", "second");
    let updated = client.next().await.unwrap();
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(client.call(request(1, "ping", json!({}))).await["id"], 1);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#).await;
    assert_eq!(client.call(request(2, "ping", json!({}))).await["id"], 2);
    client.state.set("one", "third");
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn batches_are_accepted_only_before_negotiating_new_revision() {
    let mut client = start();
    let batch = json!([request(1, "ping", json!({})), request(2, "tools/list", json!({}))]);
    assert_eq!(client.call(batch.clone()).await.as_array().unwrap().len(), 2);
    client.call(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    assert_eq!(client.call(batch).await["error"]["code"], -32600);
}

#[tokio::test]
async fn progress_of_a_batch_is_sent_before_its_array() {
    let mut client = start();
    let params = json!({"name": "toy_progress", "_meta": {"progressToken": 9}});
    let mut message = client.call(json!([request(1, "tools/call", params)])).await;
    let mut done = Vec::new();
    while message.is_object() {
        done.push(message["params"]["progress"].as_i64().unwrap());
        message = client.next().await.unwrap();
    }
    assert_eq!(done, [0, 50, 100]);
    assert_eq!(message[0]["result"]["isError"], false);
}
