//! How much, how fast and how long: what the door does not wait for.

use std::time::Duration;

use quad_gate::RateLimit;
use quad_server::TimeLimits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::HANGS;
use crate::server::{start, start_limited, start_with};

/// So short that a test can wait for it.
const SOON: Duration = Duration::from_millis(50);

/// A rate that lets a burst in and then, for all that a test lasts, nothing.
const BURST_OF_THREE: RateLimit = RateLimit { per_second: 1, burst: 3 };

#[tokio::test]
async fn a_tenant_beyond_its_rate_is_told_when_to_come_again_and_others_are_not() {
    let running = start_limited(Some(BURST_OF_THREE), TimeLimits::default()).await;
    let (client, other) = (running.client_with("reader"), running.client_with("other"));
    let mut replies = Vec::new();
    // More than the burst and what could be filled up meanwhile.
    while replies.len() < 60 {
        replies.push(client.modern("resources/read", json!({"uri": "toy://static"})).await);
    }
    assert!(replies[..3].iter().all(|reply| reply.status == 200));
    let refused = replies.iter().find(|reply| reply.status == 429).expect("nothing was refused");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let envelope = refused.json();
    assert_eq!((&envelope["code"], &envelope["kind"]), (&json!("rate_limited"), &json!("limit")));
    assert_eq!((&envelope["per_second"], &envelope["burst"]), (&json!(1), &json!(3)));
    assert_eq!(other.modern("resources/read", json!({"uri": "toy://static"})).await.status, 200);
    // The tenant is what counts, not the token; and every door asks.
    let writer = running.client_with("writer");
    let mut statuses = Vec::new();
    while !statuses.contains(&429) {
        statuses.push(writer.send("GET", "/v1/resources?uri=toy://static", &[], b"").await.status);
    }
    let noted = running.keeper.noted.lock().unwrap().clone();
    assert!(noted.contains(&("reader".to_owned(), "rate_limited")), "{noted:?}");
    let metrics = String::from_utf8(client.send("GET", "/metrics", &[], b"").await.body).unwrap();
    assert!(!metrics.contains("quad_rate_limited_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn a_bad_credential_takes_nothing_from_the_rate() {
    let running = start_limited(Some(BURST_OF_THREE), TimeLimits::default()).await;
    for _ in 0..10 {
        assert_eq!(running.client_with("nonsense").modern("ping", json!({})).await.status, 401);
    }
    let reply = running.client().modern("resources/read", json!({"uri": "toy://static"})).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn an_open_door_has_no_keys() {
    let running = start_with(false, true).await;
    let keys = running.client().send("GET", "/.well-known/jwks.json", &[], b"").await;
    assert_eq!((keys.status, keys.json()), (200, json!({"keys": []})));
}

#[tokio::test]
async fn heads_have_a_size_and_a_number_of_headers() {
    let running = start().await;
    let names: Vec<String> = (0..70).map(|number| format!("X-Header-{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let reply = running.client().send("GET", "/healthz", &many, b"").await;
    assert_eq!((reply.status, &reply.json()["code"]), (431, &json!("TOO_MANY_HEADERS")));
    assert_eq!(running.client().send("GET", "/healthz", &many[..40], b"").await.status, 200);
    let large = "x".repeat(70 << 10);
    let reply = running.client().send("GET", "/healthz", &[("X-Large", &large)], b"").await;
    assert_eq!(reply.status, 431);
    let fits = "x".repeat(40 << 10);
    assert_eq!(running.client().send("GET", "/healthz", &[("X-Large", &fits)], b"").await.status, 200);
}

/// What the server says on a connection until it closes it.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let read = stream.read_to_end(&mut said);
    let _ = timeout(HANGS, read).await.expect("the connection was never closed");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_connection_that_says_nothing_or_half_a_head_or_no_more_is_closed() {
    let running = start_limited(None, TimeLimits { headers: SOON, ..TimeLimits::default() }).await;
    let whole = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", running.address);
    for sent in ["", "GET /healthz HTTP/1.1\r\nHost: ", &whole] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let said = until_closed(&mut stream).await;
        assert_eq!(said.starts_with("HTTP/1.1 200"), sent == whole, "{sent:?}: {said}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let running = start_limited(None, TimeLimits { body: SOON, ..TimeLimits::default() }).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{",
        running.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = until_closed(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("BODY_TOO_SLOW"), "{said}");
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let running = start_limited(None, TimeLimits { request: SOON, ..TimeLimits::default() }).await;
    let reply = running.client().modern("tools/call", json!({"name": "toy_hang", "arguments": {}})).await;
    assert_eq!((reply.status, &reply.json()["code"]), (503, &json!("REQUEST_TIMEOUT")));
    assert!(reply.header("x-request-id").is_some());
}

#[tokio::test]
async fn a_stream_begins_at_once_and_may_last() {
    let second = Duration::from_secs(1);
    let running = start_limited(None, TimeLimits { request: second, ..TimeLimits::default() }).await;
    let mut events = running.client().listen(1, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    events.next().await.unwrap();
    tokio::time::sleep(second).await;
    running.world.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}
