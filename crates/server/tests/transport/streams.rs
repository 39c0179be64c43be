//! `subscriptions/listen`, and the effect of a lost connection in each era.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quad_core::{Tag, Timestamp};
use serde_json::{Value, json};

use crate::client::{TEST_TIMEOUT, modern, request};
use crate::server::start;

async fn wait_for_count(counter: &AtomicUsize, value: usize) {
    let reached = async {
        while counter.load(Ordering::SeqCst) < value {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, reached).await.expect("the count was never reached");
}

#[tokio::test]
async fn acknowledgement_is_first_and_lists_accepted() {
    let running = start().await;
    let notifications = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourceSubscriptions": ["toy://items/one", "toy://items/none", "toy://nope", "toy://secret", "toy://items/one"],
    });
    let mut events = running.client_with("reader").listen("s1", notifications).await;
    assert_eq!(events.status, 200);
    let accepted = json!({"resourcesListChanged": true, "resourceSubscriptions": ["toy://items/one"]});
    let ack = events.next().await.unwrap();
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "s1"});
    assert_eq!(ack["params"], json!({"_meta": meta, "notifications": accepted}));
    running.state.set("one", "second");
    let updated = events.next().await.unwrap();
    assert_eq!(updated["params"], json!({"_meta": meta, "uri": "toy://items/one"}));
    running.state.set("two", "new");
    let changed = events.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    assert_eq!(changed["params"], json!({"_meta": meta}));
}

#[tokio::test]
async fn sends_only_requested_notifications() {
    let running = start().await;
    let mut events = running.client().listen(7, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    let ack = events.next().await.unwrap();
    assert_eq!(ack["params"]["notifications"], json!({"resourceSubscriptions": ["toy://items/one"]}));
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    running.state.set("two", "new");
    running.state.set("three", "new");
    running.state.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}

#[tokio::test]
async fn subscription_follows_changes_of_its_read_set() {
    let running = start().await;
    running.state.set("pointer", "one");
    let mut events = running.client().listen(1, json!({"resourceSubscriptions": ["toy://pointed"]})).await;
    events.next().await.unwrap();
    running.state.set("pointer", "two");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://pointed");
    running.state.set("two", "new");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://pointed");
}

#[tokio::test]
async fn burst_is_coalesced_and_last_change_is_delivered() {
    let running = start().await;
    let client = running.client();
    let mut events = client.listen(1, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    events.next().await.unwrap();
    // More changes than the feed buffers for a receiver.
    for round in 0..500 {
        running.state.set("one", &round.to_string());
    }
    let mut notification_count = 0;
    loop {
        assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
        notification_count += 1;
        let read = client.modern("resources/read", json!({"uri": "toy://items/one"})).await.json();
        if read["result"]["contents"][0]["text"].as_str().unwrap().contains("\"499\"") {
            break;
        }
    }
    assert!(notification_count < 100, "{notification_count}");
    // Later changes are notified as well.
    running.state.set("one", "last");
    while
        !client.modern("resources/read", json!({"uri": "toy://items/one"})).await.json()["result"]["contents"]
            [0]["text"]
            .as_str()
            .unwrap()
            .contains("last")
    {
        events.next().await.unwrap();
    }
}

#[tokio::test]
async fn lagged_stream_sends_one_list_changed_notification() {
    let running = start().await;
    let uris: Vec<String> = (0..300).map(|number| format!("toy://items/n{number}")).collect();
    for number in 0..300 {
        running.state.set(&format!("n{number}"), "x");
    }
    let client = running.client();
    let notifications = json!({"resourcesListChanged": true, "resourceSubscriptions": uris});
    let mut events = client.listen(1, notifications).await;
    let ack = events.next().await.unwrap();
    assert_eq!(ack["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap().len(), 300);
    // These changes affect no listed resource, but the receiver lags: every resource may have changed.
    for _ in 0..200 {
        running.state.invalidate(Tag::new("toy:nothing"));
    }
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/list_changed");
    // The 300 single notifications were dropped.
    running.state.set("another", "new");
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn stream_ends_with_result_when_token_expires() {
    let running = start().await;
    *running.tokens.expires_at.lock().unwrap() = Some(Timestamp::now().plus_ms(300));
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    let end = events.next().await.unwrap();
    assert_eq!(end["id"], "s");
    assert_eq!(end["result"]["resultType"], "complete");
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn stream_ends_when_token_changes() {
    let running = start().await;
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    running.state.invalidate(Tag::new("token:all"));
    assert_eq!(events.next().await.unwrap()["result"]["resultType"], "complete");
}

#[tokio::test]
async fn lagged_stream_still_ends_on_missed_token_change() {
    for withdrawn in [true, false] {
        let running = start().await;
        let mut events =
            running.client().listen("s", json!({"resourceSubscriptions": ["toy://items/one"]})).await;
        events.next().await.unwrap();
        if withdrawn {
            running.state.invalidate(Tag::new("token:all"));
        }
        // No other task runs meanwhile, so the receiver misses the first of these changes.
        for _ in 0..200 {
            running.state.invalidate(Tag::new("toy:nothing"));
        }
        running.state.set("one", "second");
        let next = events.next().await.unwrap();
        assert_eq!(next["result"].is_object(), withdrawn, "{next:#}");
        assert_eq!(next["params"]["uri"] == "toy://items/one", !withdrawn, "{next:#}");
    }
}

#[tokio::test]
async fn shutdown_ends_streams_and_waits_for_requests() {
    let mut running = start().await;
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    let client = running.client();
    let slow = tokio::spawn(async move { client.modern("tools/call", json!({"name": "toy_slow"})).await });
    wait_for_count(&running.state.started, 1).await;
    running.stop.take().unwrap().send(()).unwrap();
    assert_eq!(events.next().await.unwrap()["id"], "s");
    assert_eq!(events.next().await, None);
    running.state.slow_tool_permits.add_permits(1);
    assert_eq!(slow.await.unwrap().json()["result"]["structuredContent"], json!({"slow": true}));
    tokio::time::timeout(TEST_TIMEOUT, running.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn open_streams_per_principal_are_limited() {
    let running = start().await;
    let client = running.client();
    let mut open = Vec::new();
    for number in 0..64 {
        let mut events = client.listen(number, json!({})).await;
        events.next().await.unwrap();
        open.push(events);
    }
    let refused = client.modern("subscriptions/listen", json!({"notifications": {}})).await;
    assert_eq!(refused.json()["error"]["data"]["code"], "TOO_MANY_STREAMS");
    assert_eq!(running.client_with("reader").listen(1, json!({})).await.status, 200);
    drop(open);
    let freed = async {
        while client.listen(1, json!({})).await.header("content-type") != Some("text/event-stream") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, freed).await.expect("the permits were not released");
}

#[tokio::test]
async fn lost_connection_cancels_modern_but_not_legacy_call() {
    let running = start().await;
    let client = running.client();
    let send_and_disconnect = async |headers: &[(&str, &str)], body: Value| {
        let body = body.to_string();
        let call = client.post_raw(headers, &body);
        // Drops the connection when the call has begun.
        let begun = running.state.started.load(Ordering::SeqCst);
        tokio::select! {
            _ = call => panic!("the call was answered"),
            () = wait_for_count(&running.state.started, begun + 1) => {}
        }
    };
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "toy_hang")];
    let slow = request(1, "tools/call", json!({"name": "toy_slow"}));
    send_and_disconnect(&[], slow.clone()).await;
    send_and_disconnect(&[], json!([slow])).await;
    // When the server has noticed this lost connection, it has noticed the first two as well.
    send_and_disconnect(&headers, request(1, "tools/call", modern(json!({"name": "toy_hang"})))).await;
    wait_for_count(&running.state.dropped, 1).await;
    running.state.slow_tool_permits.add_permits(2);
    wait_for_count(&running.state.finished, 2).await;
}
