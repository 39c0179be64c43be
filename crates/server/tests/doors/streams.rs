//! `subscriptions/listen`, and what a lost connection means in each era.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quad_core::{Tag, Timestamp};
use serde_json::{Value, json};

use crate::client::{HANGS, modern, request};
use crate::server::start;

async fn until(counter: &AtomicUsize, value: usize) {
    let reached = async {
        while counter.load(Ordering::SeqCst) < value {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(HANGS, reached).await.expect("it never happened");
}

#[tokio::test]
async fn the_acknowledgement_comes_first_and_names_what_was_accepted() {
    let running = start().await;
    let wanted = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourceSubscriptions": ["toy://items/one", "toy://items/none", "toy://nope", "toy://secret", "toy://items/one"],
    });
    let mut events = running.client_with("reader").listen("s1", wanted).await;
    assert_eq!(events.status, 200);
    let accepted = json!({"resourcesListChanged": true, "resourceSubscriptions": ["toy://items/one"]});
    let ack = events.next().await.unwrap();
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "s1"});
    assert_eq!(ack["params"], json!({"_meta": meta, "notifications": accepted}));
    running.world.set("one", "second");
    let updated = events.next().await.unwrap();
    assert_eq!(updated["params"], json!({"_meta": meta, "uri": "toy://items/one"}));
    running.world.set("two", "new");
    let changed = events.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    assert_eq!(changed["params"], json!({"_meta": meta}));
}

#[tokio::test]
async fn only_what_was_asked_for_is_sent() {
    let running = start().await;
    let mut events = running.client().listen(7, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    let ack = events.next().await.unwrap();
    assert_eq!(ack["params"]["notifications"], json!({"resourceSubscriptions": ["toy://items/one"]}));
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    running.world.set("two", "new");
    running.world.set("three", "new");
    running.world.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}

#[tokio::test]
async fn a_subscription_follows_what_its_address_rests_on() {
    let running = start().await;
    running.world.set("pointer", "one");
    let mut events = running.client().listen(1, json!({"resourceSubscriptions": ["toy://pointed"]})).await;
    events.next().await.unwrap();
    running.world.set("pointer", "two");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://pointed");
    running.world.set("two", "new");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://pointed");
}

#[tokio::test]
async fn a_burst_collapses_and_its_last_change_is_never_lost() {
    let running = start().await;
    let client = running.client();
    let mut events = client.listen(1, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    events.next().await.unwrap();
    // More changes than the feed holds for a listener.
    for round in 0..500 {
        running.world.set("one", &round.to_string());
    }
    let mut heard = 0;
    loop {
        assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
        heard += 1;
        let read = client.modern("resources/read", json!({"uri": "toy://items/one"})).await.json();
        if read["result"]["contents"][0]["text"].as_str().unwrap().contains("\"499\"") {
            break;
        }
    }
    assert!(heard < 100, "{heard}");
    // What comes after is heard as well.
    running.world.set("one", "last");
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
async fn too_many_at_once_become_one() {
    let running = start().await;
    let uris: Vec<String> = (0..300).map(|number| format!("toy://items/n{number}")).collect();
    for number in 0..300 {
        running.world.set(&format!("n{number}"), "x");
    }
    let client = running.client();
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": uris});
    let mut events = client.listen(1, wanted).await;
    let ack = events.next().await.unwrap();
    assert_eq!(ack["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap().len(), 300);
    // One commit that touches nothing listed, but lags the listener: everything is suspect.
    for _ in 0..200 {
        running.world.touch(Tag::new("toy:nothing"));
    }
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/list_changed");
    // None of the three hundred waits behind it.
    running.world.set("another", "new");
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn a_stream_ends_with_its_result_when_the_token_does() {
    let running = start().await;
    *running.keeper.until.lock().unwrap() = Some(Timestamp::now().plus_ms(300));
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    let end = events.next().await.unwrap();
    assert_eq!(end["id"], "s");
    assert_eq!(end["result"]["resultType"], "complete");
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_ends_when_the_token_is_withdrawn() {
    let running = start().await;
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    running.world.touch(Tag::new("token:all"));
    assert_eq!(events.next().await.unwrap()["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_withdrawal_that_a_slow_stream_has_missed_ends_it_all_the_same() {
    for withdrawn in [true, false] {
        let running = start().await;
        let mut events =
            running.client().listen("s", json!({"resourceSubscriptions": ["toy://items/one"]})).await;
        events.next().await.unwrap();
        if withdrawn {
            running.world.touch(Tag::new("token:all"));
        }
        // Nothing else runs meanwhile, so the stream hears only of the last of these.
        for _ in 0..200 {
            running.world.touch(Tag::new("toy:nothing"));
        }
        running.world.set("one", "second");
        let next = events.next().await.unwrap();
        assert_eq!(next["result"].is_object(), withdrawn, "{next:#}");
        assert_eq!(next["params"]["uri"] == "toy://items/one", !withdrawn, "{next:#}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_streams_and_lets_requests_finish() {
    let mut running = start().await;
    let mut events = running.client().listen("s", json!({"resourcesListChanged": true})).await;
    events.next().await.unwrap();
    let client = running.client();
    let slow = tokio::spawn(async move { client.modern("tools/call", json!({"name": "toy_slow"})).await });
    until(&running.world.begun, 1).await;
    running.stop.take().unwrap().send(()).unwrap();
    assert_eq!(events.next().await.unwrap()["id"], "s");
    assert_eq!(events.next().await, None);
    running.world.go.add_permits(1);
    assert_eq!(slow.await.unwrap().json()["result"]["structuredContent"], json!({"slow": true}));
    tokio::time::timeout(HANGS, running.done).await.unwrap().unwrap();
}

#[tokio::test]
async fn streams_of_one_principal_are_limited_and_counted() {
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
    tokio::time::timeout(HANGS, freed).await.expect("streams were not given back");
}

#[tokio::test]
async fn a_lost_connection_cancels_a_modern_call_and_no_legacy_one() {
    let running = start().await;
    let client = running.client();
    let lose = async |headers: &[(&str, &str)], body: Value| {
        let body = body.to_string();
        let call = client.post_raw(headers, &body);
        // The connection is lost once the call has begun.
        let begun = running.world.begun.load(Ordering::SeqCst);
        tokio::select! {
            _ = call => panic!("it was answered"),
            () = until(&running.world.begun, begun + 1) => {}
        }
    };
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "toy_hang")];
    lose(&[], request(1, "tools/call", json!({"name": "toy_slow"}))).await;
    // Once the server has noticed this loss, it has noticed the one before as well.
    lose(&headers, request(1, "tools/call", modern(json!({"name": "toy_hang"})))).await;
    until(&running.world.dropped, 1).await;
    running.world.go.add_permits(1);
    until(&running.world.finished, 1).await;
}
