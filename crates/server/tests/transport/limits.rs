//! Rate limits, header limits and timeouts.

use std::time::Duration;

use quad_auth::RateLimit;
use quad_server::Timeouts;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::TEST_TIMEOUT;
use crate::server::{start, start_limited, start_with};

/// A timeout that a test can wait for.
const SHORT_TIMEOUT: Duration = Duration::from_millis(50);

/// A rate limit that allows three requests and, within the duration of a test, hardly any more.
const BURST_OF_THREE: RateLimit = RateLimit { per_second: 1, burst: 3 };

#[tokio::test]
async fn rate_limited_tenant_gets_retry_after_others_do_not() {
    let running = start_limited(Some(BURST_OF_THREE), Timeouts::default()).await;
    let (client, other) = (running.client_with("reader"), running.client_with("other"));
    let mut replies = Vec::new();
    // More than the burst and what is refilled during the test.
    while replies.len() < 60 {
        replies.push(client.modern("resources/read", json!({"uri": "toy://static"})).await);
    }
    assert!(replies[..3].iter().all(|reply| reply.status == 200));
    let refused = replies.iter().find(|reply| reply.status == 429).expect("no request was rate-limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let envelope = refused.json();
    assert_eq!((&envelope["code"], &envelope["kind"]), (&json!("rate_limited"), &json!("limit")));
    assert_eq!((&envelope["per_second"], &envelope["burst"]), (&json!(1), &json!(3)));
    assert_eq!(other.modern("resources/read", json!({"uri": "toy://static"})).await.status, 200);
    // The limit is per tenant, not per token, and holds on every path.
    let writer = running.client_with("writer");
    let mut statuses = Vec::new();
    while !statuses.contains(&429) {
        statuses.push(writer.send("GET", "/v1/resources?uri=toy://static", &[], b"").await.status);
    }
    let counted_refusals = running.tokens.counted_refusals.lock().unwrap().clone();
    assert!(counted_refusals.contains(&("reader".to_owned(), "rate_limited")), "{counted_refusals:?}");
    let metrics = String::from_utf8(client.send("GET", "/metrics", &[], b"").await.body).unwrap();
    assert!(!metrics.contains("quad_rate_limited_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn bad_credential_does_not_consume_rate_limit() {
    let running = start_limited(Some(BURST_OF_THREE), Timeouts::default()).await;
    for _ in 0..10 {
        assert_eq!(running.client_with("nonsense").modern("ping", json!({})).await.status, 401);
    }
    let reply = running.client().modern("resources/read", json!({"uri": "toy://static"})).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn no_auth_serves_empty_key_set() {
    let running = start_with(false, true).await;
    let keys = running.client().send("GET", "/.well-known/jwks.json", &[], b"").await;
    assert_eq!((keys.status, keys.json()), (200, json!({"keys": []})));
}

#[tokio::test]
async fn header_count_and_size_are_limited() {
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

/// Everything that the server sends until it closes the connection.
async fn read_until_closed(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    let read = stream.read_to_end(&mut received);
    let _ = timeout(TEST_TIMEOUT, read).await.expect("the connection was never closed");
    String::from_utf8_lossy(&received).into_owned()
}

#[tokio::test]
async fn idle_or_slow_header_connection_is_closed() {
    let running = start_limited(None, Timeouts { headers: SHORT_TIMEOUT, ..Timeouts::default() }).await;
    let whole = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", running.address);
    for sent in ["", "GET /healthz HTTP/1.1\r\nHost: ", &whole] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let received = read_until_closed(&mut stream).await;
        assert_eq!(received.starts_with("HTTP/1.1 200"), sent == whole, "{sent:?}: {received}");
    }
}

#[tokio::test]
async fn slow_body_times_out() {
    let running = start_limited(None, Timeouts { body: SHORT_TIMEOUT, ..Timeouts::default() }).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{",
        running.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let received = read_until_closed(&mut stream).await;
    assert!(received.starts_with("HTTP/1.1 408") && received.contains("BODY_TOO_SLOW"), "{received}");
}

#[tokio::test]
async fn slow_request_times_out() {
    let running = start_limited(None, Timeouts { request: SHORT_TIMEOUT, ..Timeouts::default() }).await;
    let reply = running.client().modern("tools/call", json!({"name": "toy_hang", "arguments": {}})).await;
    assert_eq!((reply.status, &reply.json()["code"]), (503, &json!("REQUEST_TIMEOUT")));
    assert!(reply.header("x-request-id").is_some());
}

#[tokio::test]
async fn stream_may_outlast_request_timeout() {
    let second = Duration::from_secs(1);
    let running = start_limited(None, Timeouts { request: second, ..Timeouts::default() }).await;
    let mut events = running.client().listen(1, json!({"resourceSubscriptions": ["toy://items/one"]})).await;
    events.next().await.unwrap();
    tokio::time::sleep(second).await;
    running.state.set("one", "second");
    assert_eq!(events.next().await.unwrap()["params"]["uri"], "toy://items/one");
}
