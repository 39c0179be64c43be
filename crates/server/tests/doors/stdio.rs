//! The same server over a pair of pipes.

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

use crate::client::{HANGS, modern, request};
use crate::server::local;
use crate::toy::World;

struct Piped {
    world: Arc<World>,
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    done: JoinHandle<std::io::Result<()>>,
}

fn start() -> Piped {
    start_as(local())
}

fn start_as(principal: Principal) -> Piped {
    let world = World::new();
    let (input, reader) = duplex(1 << 16);
    let (writer, output) = duplex(1 << 16);
    let options = StdioOptions {
        resolver: world.resolver(),
        principal,
        view: View::All,
        all_tools: false,
        name: "quadrivium",
        version: "0.0.1",
    };
    let done = tokio::spawn(serve(options, reader, writer));
    Piped { world, input: Some(input), output: BufReader::new(output), done }
}

impl Piped {
    async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(HANGS, self.output.read_line(&mut line)).await.expect("silence").unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string()).await;
        self.next().await.expect("the pipe has closed")
    }

    async fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        timeout(HANGS, self.done).await.unwrap().unwrap().unwrap();
        rest
    }
}

#[tokio::test]
async fn both_eras_are_served_side_by_side() {
    let mut pipe = start();
    // A request that says nothing about itself is served.
    let early = pipe.ask(request(0, "resources/list", json!({}))).await;
    assert_eq!(early["result"]["resources"].as_array().unwrap().len(), 2);
    assert!(early["result"].get("resultType").is_none());
    let opened = pipe.ask(request(1, "initialize", json!({"protocolVersion": "2025-06-18"}))).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        opened["result"]["capabilities"]["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let called = pipe
        .ask(request(2, "tools/call", json!({"name": "resource_read", "arguments": {"uri": "toy://static"}})))
        .await;
    assert!(called["result"]["structuredContent"].is_object());
    let legacy = pipe.ask(request(3, "resources/read", json!({"uri": "toy://items/none"}))).await;
    assert_eq!(legacy["error"]["code"], -32002);
    let now = pipe.ask(request("4", "resources/read", modern(json!({"uri": "toy://items/none"})))).await;
    assert_eq!((&now["id"], &now["error"]["code"]), (&json!("4"), &json!(-32602)));
    let found = pipe.ask(request(5, "server/discover", modern(json!({})))).await;
    assert_eq!(found["result"]["resultType"], "complete");
    let removed = pipe.ask(request(6, "initialize", modern(json!({})))).await;
    assert_eq!(removed["error"]["code"], -32601);
    let mut old = modern(json!({}));
    old["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    assert_eq!(pipe.ask(request(7, "server/discover", old)).await["error"]["code"], -32022);
    assert!(pipe.end().await.is_empty());
}

#[tokio::test]
async fn bad_lines_are_answered_and_the_next_one_is_read() {
    let mut pipe = start();
    pipe.send("{").await;
    let reply = pipe.next().await.unwrap();
    assert_eq!(reply["error"]["code"], -32700);
    assert!(reply.get("id").is_none());
    pipe.send("").await;
    let huge = "x".repeat(quad_wire::limits::LINE_BYTES + 1);
    pipe.send(&huge).await;
    let reply = pipe.next().await.unwrap();
    assert_eq!(reply["error"]["code"], -32600);
    assert!(reply.get("id").is_none());
    assert_eq!(
        pipe.ask(json!({"jsonrpc": "2.0", "id": null, "method": "ping"})).await["error"]["code"],
        -32600
    );
    assert_eq!(pipe.ask(request(1, "nonsense", json!({}))).await["error"]["code"], -32601);
    assert_eq!(pipe.ask(request(1, "ping", json!({}))).await["result"], json!({}));
    assert!(pipe.end().await.is_empty());
}

#[tokio::test]
async fn a_missing_scope_is_an_error_of_a_read_and_a_result_of_a_tool() {
    let mut pipe = start_as(Principal::local_agent(TenantId::new("t"), ["toy:read"]));
    let read = pipe.ask(request(1, "resources/read", modern(json!({"uri": "toy://secret"})))).await;
    assert_eq!((&read["error"]["code"], &read["error"]["data"]["kind"]), (&json!(-32602), &json!("scope")));
    let called = pipe.ask(request(2, "tools/call", modern(json!({"name": "toy_secret"})))).await;
    assert_eq!(called["result"]["isError"], true);
    assert_eq!(called["result"]["structuredContent"]["error"]["code"], "SCOPE_INSUFFICIENT");
}

#[tokio::test]
async fn requests_run_side_by_side_and_can_be_cancelled() {
    let mut pipe = start();
    pipe.send(&request("h", "tools/call", json!({"name": "toy_hang"})).to_string()).await;
    while pipe.world.begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(pipe.ask(request(2, "ping", json!({}))).await["id"], 2);
    // The same id, however it is written, is taken.
    pipe.send(r#"{"jsonrpc":"2.0","id":"\u0068","method":"ping"}"#).await;
    assert_eq!(pipe.next().await.unwrap()["error"]["code"], -32600);
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}"#).await;
    assert_eq!(pipe.ask(request("h", "ping", json!({}))).await["result"], json!({}));
    while pipe.world.dropped.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(pipe.end().await.is_empty());
}

#[tokio::test]
async fn the_end_waits_for_what_is_running() {
    let mut pipe = start();
    pipe.send(&request(1, "tools/call", json!({"name": "toy_slow"})).to_string()).await;
    while pipe.world.begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let world = pipe.world.clone();
    let (rest, ()) = tokio::join!(pipe.end(), async { world.go.add_permits(1) });
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], 1);
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let mut pipe = start();
    let params = modern(json!({"name": "toy_progress", "_meta": {"progressToken": 9}}));
    let mut message = pipe.ask(request(1, "tools/call", params)).await;
    let mut done = Vec::new();
    while message.get("id").is_none() {
        assert_eq!(message["params"]["progressToken"], 9);
        done.push(message["params"]["progress"].as_i64().unwrap());
        message = pipe.next().await.unwrap();
    }
    assert_eq!(done, [0, 50, 100]);
    assert_eq!(message["result"]["isError"], false);
}

#[tokio::test]
async fn legacy_subscriptions_are_heard_until_they_are_taken_back() {
    let mut pipe = start();
    pipe.ask(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(pipe.ask(request(2, "resources/subscribe", uri.clone())).await["result"], json!({}));
    pipe.world.set("one", "second");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(pipe.next().await, Some(updated));
    assert_eq!(pipe.ask(request(3, "resources/unsubscribe", uri)).await["result"], json!({}));
    pipe.world.set("one", "third");
    pipe.world.set("two", "new");
    assert_eq!(pipe.next().await.unwrap()["method"], "notifications/resources/list_changed");
    let missing = pipe.ask(request(4, "resources/subscribe", json!({"uri": "toy://items/none"}))).await;
    assert_eq!(missing["error"]["code"], -32002);
    assert!(pipe.end().await.is_empty());
}

#[tokio::test]
async fn a_modern_subscription_interleaves_and_can_be_cancelled() {
    let mut pipe = start();
    let wanted = modern(json!({"notifications": {"resourceSubscriptions": ["toy://items/one"]}}));
    let ack = pipe.ask(request("s", "subscriptions/listen", wanted)).await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    pipe.world.set("one", "second");
    let updated = pipe.next().await.unwrap();
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(pipe.ask(request(1, "ping", json!({}))).await["id"], 1);
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#).await;
    assert_eq!(pipe.ask(request(2, "ping", json!({}))).await["id"], 2);
    pipe.world.set("one", "third");
    assert!(pipe.end().await.is_empty());
}

#[tokio::test]
async fn batches_belong_to_the_two_oldest_revisions() {
    let mut pipe = start();
    let batch = json!([request(1, "ping", json!({})), request(2, "tools/list", json!({}))]);
    assert_eq!(pipe.ask(batch.clone()).await.as_array().unwrap().len(), 2);
    pipe.ask(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    assert_eq!(pipe.ask(batch).await["error"]["code"], -32600);
}
