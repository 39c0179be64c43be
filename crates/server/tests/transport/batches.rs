//! Batches: several messages in one array.

use serde_json::json;

use crate::client::{modern, request};
use crate::server::start;

#[tokio::test]
async fn batch_returns_one_array() {
    let running = start().await;
    let client = running.client();
    let batch = json!([
        request(1, "resources/list", json!({})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("b", "tools/list", json!({})),
        request(3, "nonsense", json!({})),
        {"jsonrpc": "2.0", "id": 4},
        request(5, "initialize", json!({})),
        request(6, "server/discover", modern(json!({}))),
    ]);
    for headers in
        [&[][..], &[("MCP-Protocol-Version", "2025-03-26")], &[("MCP-Protocol-Version", "2024-11-05")]]
    {
        let replies = client.post_raw(headers, &batch.to_string()).await.json();
        let ids: Vec<_> = replies.as_array().unwrap().iter().map(|reply| reply["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!("b"), json!(3), json!(4), json!(5), json!(6)]);
        assert!(replies[0]["result"]["resources"].is_array() && replies[1]["result"]["tools"].is_array());
        let codes: Vec<_> = (2..6).map(|index| replies[index]["error"]["code"].as_i64().unwrap()).collect();
        assert_eq!(codes, [-32601, -32600, -32600, -32600]);
    }
    let notifications_only = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(client.post_raw(&[], &notifications_only.to_string()).await.status, 202);
}

#[tokio::test]
async fn later_revisions_reject_batches() {
    let running = start().await;
    let client = running.client();
    let batch = json!([request(1, "ping", json!({}))]).to_string();
    for version in ["2025-06-18", "2025-11-25"] {
        assert_eq!(
            client.post_raw(&[("MCP-Protocol-Version", version)], &batch).await.status_and_code(),
            (400, -32600)
        );
    }
    let opened = client.legacy(&[], "initialize", json!({"protocolVersion": "2025-06-18"})).await;
    let session = [("Mcp-Session-Id", opened.header("mcp-session-id").unwrap())];
    assert_eq!(client.post_raw(&session, &batch).await.status_and_code(), (400, -32600));
}

#[tokio::test]
async fn batch_has_responses_but_no_progress() {
    let running = start().await;
    let with_progress = json!({"name": "toy_progress", "_meta": {"progressToken": 1}});
    let batch = json!([request(1, "tools/call", with_progress), request(2, "ping", json!({}))]);
    let reply = running.client().post_raw(&[], &batch.to_string()).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let replies = reply.json();
    let ids: Vec<_> = replies.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)]);
    assert_eq!(replies[0]["result"]["isError"], false);
}
