//! Legacy sessions over HTTP: their stream, their subscriptions, their end.

use serde_json::json;

use crate::client::{Client, Events};
use crate::server::start;

async fn initialize(client: &Client) -> String {
    let opened = client.legacy(&[], "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    opened.header("mcp-session-id").unwrap().to_owned()
}

async fn stream(client: &Client, session: &str) -> Events {
    let events = client.open("GET", &[("Mcp-Session-Id", session)], "").await;
    assert_eq!((events.status, events.header("content-type")), (200, Some("text/event-stream")));
    events
}

#[tokio::test]
async fn a_session_is_named_known_and_the_callers_own() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(client.legacy(&[], "resources/subscribe", uri.clone()).await.status, 400);
    assert_eq!(client.send("GET", "/mcp", &[], b"").await.status, 400);
    assert_eq!(client.send("DELETE", "/mcp", &[], b"").await.status, 400);
    let unknown = [("Mcp-Session-Id", "nobody")];
    for method in ["ping", "resources/list", "resources/subscribe", "tools/call"] {
        assert_eq!(client.legacy(&unknown, method, uri.clone()).await.status, 404, "{method}");
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(client.post_raw(&unknown, notification).await.status, 404);
    assert_eq!(client.send("GET", "/mcp", &unknown, b"").await.status, 404);
    let own = [("Mcp-Session-Id", session.as_str())];
    assert_eq!(running.client_with("reader").legacy(&own, "ping", json!({})).await.status, 404);
    assert_eq!(client.legacy(&own, "ping", json!({})).await.status, 200);
    // The modern era has no sessions and ignores the header.
    assert_eq!(client.send("DELETE", "/mcp", &own, b"").await.status, 204);
    assert_eq!(client.legacy(&own, "ping", json!({})).await.status, 404);
    assert_eq!(client.send("DELETE", "/mcp", &own, b"").await.status, 404);
}

#[tokio::test]
async fn a_subscription_is_heard_until_it_is_taken_back() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let mut events = stream(&client, &session).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(client.legacy(&own, "resources/subscribe", uri.clone()).await.json()["result"], json!({}));
    running.world.set("one", "second");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(events.next().await, Some(updated.clone()));
    assert_eq!(client.legacy(&own, "resources/unsubscribe", uri.clone()).await.json()["result"], json!({}));
    running.world.set("one", "third");
    // A new item alters the list, which this stream always says; the change before it was not said.
    running.world.set("two", "new");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"});
    assert_eq!(events.next().await, Some(changed));
}

#[tokio::test]
async fn what_was_subscribed_to_before_the_stream_opened_is_heard() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    client.legacy(&own, "resources/subscribe", json!({"uri": "toy://items/one"})).await;
    let mut events = stream(&client, &session).await;
    running.world.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}

#[tokio::test]
async fn only_what_can_be_read_can_be_subscribed_to() {
    let running = start().await;
    let client = running.client_with("reader");
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let subscribe =
        async |uri: &str| client.legacy(&own, "resources/subscribe", json!({"uri": uri})).await.fault();
    assert_eq!(subscribe("toy://items/none").await, (200, -32002));
    assert_eq!(subscribe("toy://nope").await, (200, -32602));
    assert_eq!(subscribe("toy://secret").await, (403, -32602));
    assert_eq!(subscribe("toy://static").await, (200, 0));
}

#[tokio::test]
async fn a_second_stream_replaces_the_first_and_the_end_ends_it() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let mut first = stream(&client, &session).await;
    let mut second = stream(&client, &session).await;
    assert_eq!(first.next().await, None);
    running.world.set("two", "new");
    assert_eq!(second.next().await.unwrap()["method"], "notifications/resources/list_changed");
    client.send("DELETE", "/mcp", &[("Mcp-Session-Id", session.as_str())], b"").await;
    assert_eq!(second.next().await, None);
}
