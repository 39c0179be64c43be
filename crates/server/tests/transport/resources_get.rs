//! `GET /v1/resources`: `ETag`, `Range` and error statuses.

use serde_json::json;

use crate::client::Reply;
use crate::server::{TestServer, start};

async fn get(running: &TestServer, uri: &str, headers: &[(&str, &str)]) -> Reply {
    running.client_with("writer").send("GET", &format!("/v1/resources?uri={uri}"), headers, b"").await
}

#[tokio::test]
async fn bytes_are_served_with_strong_etag() {
    let running = start().await;
    let text = get(&running, "toy://static", &[]).await;
    assert_eq!((text.status, text.body.as_slice()), (200, b"never \"changes\"\n".as_slice()));
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    let tag = format!("\"{}\"", quad_core::canonical::sha256_hex(&text.body));
    assert_eq!(text.header("etag"), Some(tag.as_str()));
    assert_eq!(text.header("cache-control"), Some("private, no-cache"));
    assert_eq!(text.header("quad-event"), Some("evt_1"));
    let same = get(&running, "toy%3A%2F%2Fstatic", &[("If-None-Match", &tag)]).await;
    assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(tag.as_str())));
    // A 304 is a read as well and has an audit event.
    assert_eq!(running.state.events().len(), 2);
    assert_eq!(get(&running, "toy://static", &[("If-None-Match", "\"other\"")]).await.status, 200);
    let picture = get(&running, "toy://picture", &[]).await;
    assert_eq!((picture.header("content-type"), picture.body.len()), (Some("image/png"), 6));
    let several = get(&running, "toy://pair", &[]).await;
    assert_eq!(several.json()["contents"][1]["text"], "right");
    let tag = format!("\"{}\"", quad_core::canonical::sha256_hex(&several.body));
    assert_eq!(several.header("etag"), Some(tag.as_str()));
    let once = get(&running, "toy://volatile", &[]).await;
    assert_eq!((once.header("etag"), once.header("cache-control")), (None, Some("no-store")));
    let forever = get(&running, "toy://forever", &[]).await;
    assert!(forever.header("cache-control").unwrap().contains("immutable"));
    let head = running.client().send("HEAD", "/v1/resources?uri=toy://static", &[], b"").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[tokio::test]
async fn single_range_returns_partial_content() {
    let running = start().await;
    let range = async |range: &str, more: &[(&str, &str)]| {
        let reply = get(&running, "toy://static", &[&[("Range", range)], more].concat()).await;
        (
            reply.status,
            String::from_utf8(reply.body.clone()).unwrap(),
            reply.header("content-range").map(str::to_owned),
        )
    };
    assert_eq!(range("bytes=0-4", &[]).await, (206, "never".to_owned(), Some("bytes 0-4/16".to_owned())));
    assert_eq!(range("bytes=-3", &[]).await, (206, "s\"\n".to_owned(), Some("bytes 13-15/16".to_owned())));
    let (status, _, length) = range("bytes=16-", &[]).await;
    assert_eq!((status, length.as_deref()), (416, Some("bytes */16")));
    assert_eq!(range("bytes=0-1,3-4", &[]).await.0, 200);
    assert_eq!(range("bytes=0-4", &[("If-Range", "\"other\"")]).await.0, 200);
    let tag = get(&running, "toy://static", &[]).await.header("etag").unwrap().to_owned();
    assert_eq!(range("bytes=0-4", &[("If-Range", &tag)]).await.0, 206);
}

#[tokio::test]
async fn errors_map_to_status_with_json_envelope() {
    let running = start().await;
    for (uri, status, code) in [
        ("toy://items/none", 404, "NOT_FOUND"),
        ("toy://nope", 400, "INVALID_URI"),
        ("toy://secret", 403, "SCOPE_INSUFFICIENT"),
        ("toy://broken", 500, "INTERNAL"),
        ("", 400, "INVALID_URI"),
        ("%zz", 400, "VALIDATION_ERROR"),
    ] {
        let reply = get(&running, uri, &[]).await;
        assert_eq!((reply.status, &reply.json()["code"]), (status, &json!(code)), "{uri}");
        assert_eq!(reply.header("www-authenticate").is_some(), status == 403, "{uri}");
    }
    assert_eq!(running.client().send("GET", "/v1/resources", &[], b"").await.status, 400);
    let unauthenticated = get(&running, "toy://static", &[("Authorization", "")]).await;
    assert_eq!(
        (unauthenticated.status, &unauthenticated.json()["code"]),
        (401, &json!("auth_token_missing"))
    );
    assert!(unauthenticated.header("www-authenticate").unwrap().contains("resource_metadata="));
    assert_eq!(running.client().send("POST", "/v1/resources?uri=x", &[], b"").await.status, 405);
}
