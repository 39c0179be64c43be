//! Legacy sessions over HTTP: stream, subscriptions, end.

use serde_json::json;

use crate::client::{Client, Events};
use crate::server::start;

async fn initialize(client: &Client) -> String {
    let opened = client.legacy(&[], "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    opened.header("mcp-session-id").unwrap().to_owned()
}

async fn stream(client: &Client, session: &str) -> Events {
    let events = client.open_stream("GET", &[("Mcp-Session-Id", session)], "").await;
    assert_eq!((events.status, events.header("content-type")), (200, Some("text/event-stream")));
    events
}

#[tokio::test]
async fn session_id_is_required_and_bound_to_its_caller() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(client.legacy(&[], "resources/subscribe", uri.clone()).await.status, 400);
    assert_eq!(client.send("GET", "/mcp", &[], b"").await.status, 400);
    assert_eq!(client.send("DELETE", "/mcp", &[], b"").await.status, 400);
    let unknown = [("Mcp-Session-Id", "no-such-session")];
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
async fn subscription_notifies_until_unsubscribed() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let mut events = stream(&client, &session).await;
    let uri = json!({"uri": "toy://items/one"});
    assert_eq!(client.legacy(&own, "resources/subscribe", uri.clone()).await.json()["result"], json!({}));
    running.state.set("one", "second");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(events.next().await, Some(updated.clone()));
    assert_eq!(client.legacy(&own, "resources/unsubscribe", uri.clone()).await.json()["result"], json!({}));
    running.state.set("one", "third");
    // A new item changes the list, of which this stream is always notified. The change before it was not notified.
    running.state.set("two", "new");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"});
    assert_eq!(events.next().await, Some(changed));
}

#[tokio::test]
async fn subscription_before_stream_open_is_delivered() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    client.legacy(&own, "resources/subscribe", json!({"uri": "toy://items/one"})).await;
    let mut events = stream(&client, &session).await;
    running.state.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}

#[tokio::test]
async fn subscribe_requires_a_readable_resource() {
    let running = start().await;
    let client = running.client_with("reader");
    let session = initialize(&client).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let subscribe = async |uri: &str| {
        client.legacy(&own, "resources/subscribe", json!({"uri": uri})).await.status_and_code()
    };
    assert_eq!(subscribe("toy://items/none").await, (200, -32002));
    assert_eq!(subscribe("toy://nope").await, (200, -32602));
    assert_eq!(subscribe("toy://secret").await, (403, -32602));
    assert_eq!(subscribe("toy://static").await, (200, 0));
}

#[tokio::test]
async fn second_stream_replaces_first_and_delete_closes_it() {
    let running = start().await;
    let client = running.client();
    let session = initialize(&client).await;
    let mut first = stream(&client, &session).await;
    let mut second = stream(&client, &session).await;
    assert_eq!(first.next().await, None);
    running.state.set("two", "new");
    assert_eq!(second.next().await.unwrap()["method"], "notifications/resources/list_changed");
    client.send("DELETE", "/mcp", &[("Mcp-Session-Id", session.as_str())], b"").await;
    assert_eq!(second.next().await, None);
}
