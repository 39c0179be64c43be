//! Rejected HTTP requests: status and error code, in the order in which the checks run.

use serde_json::{Value, json};

use crate::client::{Client, modern, request};
use crate::server::{start, start_with};

const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

#[tokio::test]
async fn foreign_host_or_origin_is_rejected_first() {
    let running = start().await;
    let client = running.client_with("");
    for (host, origin, status) in [
        ("evil.example", "", 403),
        ("", "https://evil.example", 403),
        ("", "null", 403),
        ("", "http://localhost:1234", 401),
        ("quad.example.com", "https://quad.example.com", 401),
        ("", "", 401),
    ] {
        let mut headers = vec![("Origin", origin), ("Authorization", "")];
        if !host.is_empty() {
            headers.push(("Host", host));
        }
        let reply = client.post_raw(&headers, "{").await;
        assert_eq!(reply.status, status, "{host} {origin}");
        assert!(reply.json()["code"].is_string());
        let page_may_read = reply.header("access-control-allow-origin");
        assert_eq!(page_may_read.is_some(), status == 401 && !origin.is_empty(), "{origin}");
    }
}

#[tokio::test]
async fn missing_or_bad_token_is_challenged_before_body_read() {
    let running = start().await;
    let client = running.client();
    let missing = client.post_raw(&[("Authorization", ""), ("Content-Type", "text/plain")], "{").await;
    assert_eq!(missing.status, 401);
    let challenge = missing.header("www-authenticate").unwrap();
    let metadata =
        format!("resource_metadata=\"http://{}/.well-known/oauth-protected-resource/mcp\"", running.address);
    assert!(challenge.starts_with("Bearer ") && challenge.contains(&metadata), "{challenge}");
    assert!(challenge.contains("scope=\"toy:read\"") && !challenge.contains("error="), "{challenge}");
    let bad = running.client_with("nonsense").post_raw(&[], "{").await;
    assert_eq!(bad.status, 401);
    assert!(bad.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    // All rejected credentials have the same envelope. Only the reason differs.
    for (reply, reason) in [(&missing, "missing"), (&bad, "malformed")] {
        let envelope = reply.json();
        let names: Vec<&String> = envelope.as_object().unwrap().keys().collect();
        assert_eq!(names, ["code", "kind", "message", "hint", "reason"]);
        assert_eq!(envelope["reason"], reason);
    }
    let basic = client.post_raw(&[("Authorization", "Basic eDp5")], "{").await;
    assert_eq!(basic.status, 401);
    let repeated_header =
        client.post_raw(&[("Authorization", "Bearer all"), ("Authorization", "Bearer all")], "{").await;
    assert_eq!(repeated_header.status, 400);
    for method in ["GET", "DELETE"] {
        assert_eq!(client.send(method, "/mcp", &[("Authorization", "")], b"").await.status, 401, "{method}");
    }
}

#[tokio::test]
async fn rejects_other_methods_media_types_and_large_bodies() {
    let running = start().await;
    let client = running.client();
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let reply = client.send(method, "/mcp", &[], b"").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, GET, DELETE")), "{method}");
    }
    for method in ["GET", "DELETE"] {
        let reply = client.send(method, "/mcp", &[MODERN], b"").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
    }
    assert_eq!(client.post_raw(&[("Content-Type", "text/plain")], "{}").await.status, 415);
    assert_eq!(client.post_raw(&[("Content-Type", "")], "{}").await.status, 415);
    let ping = request(1, "ping", json!({})).to_string();
    assert_eq!(
        client.post_raw(&[("Content-Type", "Application/JSON; charset=utf-8")], &ping).await.status,
        200
    );
    for accept in ["*/*", "application/json", ""] {
        assert_eq!(client.post_raw(&[("Accept", accept)], &ping).await.status, 200, "{accept}");
    }
    // More than the socket buffers of both sides hold: the server must read it before the client gets the error.
    let huge = vec![b' '; 12 << 20];
    assert_eq!(client.send("POST", "/mcp", &[], &huge).await.status, 413);
    let chunked = format!("{:x}\r\n", huge.len()).into_bytes();
    let chunked = [chunked, huge, b"\r\n0\r\n\r\n".to_vec()].concat();
    let headers = [("Transfer-Encoding", "chunked"), ("Content-Length", "")];
    assert_eq!(client.send("POST", "/mcp", &headers, &chunked).await.status, 413);
    assert_eq!(client.send("GET", "/nowhere", &[], b"").await.status, 404);
    assert_eq!(client.send("POST", "/healthz", &[], b"").await.status, 405);
}

#[tokio::test]
async fn unsupported_content_encoding_is_rejected_and_audited() {
    let running = start().await;
    let client = running.client();
    let ping = request(1, "ping", json!({})).to_string();
    for encoding in ["", "identity", "Identity, identity"] {
        assert_eq!(status_in_both_eras(&client, &[("Content-Encoding", encoding)]).await, 200, "{encoding}");
    }
    assert_eq!(status_in_both_eras(&client, &[("Content-Encoding", "gzip")]).await, 415);
    let before = running.state.events().len();
    let long = "x".repeat(100);
    for encoding in ["gzip", "br", "identity, gzip", "chunked", &long] {
        let reply = client.post_raw(&[("Content-Encoding", encoding)], &ping).await;
        assert_eq!((reply.status, reply.header("accept-encoding")), (415, Some("identity")), "{encoding}");
        let error = reply.json();
        assert_eq!(error["code"], "UNSUPPORTED_CONTENT_ENCODING");
        assert!(error["message"].as_str().unwrap().len() < 100 && error["hint"].is_string(), "{error}");
    }
    assert_eq!(running.state.events().len(), before + 5);
    // For a media type, the encoding is not the reason.
    let reply = client.post_raw(&[("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], &ping).await;
    assert_eq!((reply.status, reply.header("accept-encoding")), (415, None));
}

#[tokio::test]
async fn no_auth_rejects_pages_of_other_origins() {
    let running = start_with(false, true).await;
    let client = running.client_with("");
    let status = async |headers: &[(&str, &str)]| status_in_both_eras(&client, headers).await;
    assert_eq!(status(&[]).await, 200);
    for site in ["same-origin", "none"] {
        assert_eq!(status(&[("Sec-Fetch-Site", site)]).await, 200, "{site}");
    }
    // An allowed origin does not help: `localhost` and `127.0.0.1` are different sites.
    let cross_site = [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://localhost:3000")];
    assert_eq!(status(&cross_site).await, 403);
    // Another port of this machine is the same site and an allowed origin, but another page.
    let same_site = [("Sec-Fetch-Site", "same-site"), ("Origin", "http://localhost:3000")];
    assert_eq!(status(&same_site).await, 403);
    let reply =
        client.send("GET", "/v1/resources?uri=toy://static", &[("Sec-Fetch-Site", "cross-site")], b"");
    let reply = reply.await;
    assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("CROSS_SITE_NOT_ALLOWED")));
    assert!(reply.json()["hint"].as_str().unwrap().contains("--no-auth"));
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let refusals = running.tokens.counted_refusals.lock().unwrap().clone();
    assert_eq!(refusals, vec![("cross_site".to_owned(), "CROSS_SITE_NOT_ALLOWED"); 5]);
    // Public metadata is open to any page. With tokens, a page needs one, so it may call.
    let metadata = "/.well-known/oauth-protected-resource";
    assert_eq!(client.send("GET", metadata, &[("Sec-Fetch-Site", "cross-site")], b"").await.status, 200);
    let with_tokens = start().await;
    for site in ["cross-site", "same-site"] {
        assert_eq!(
            status_in_both_eras(&with_tokens.client(), &[("Sec-Fetch-Site", site)]).await,
            200,
            "{site}"
        );
    }
}

/// The status of a request with these headers, which must be the same for a legacy and a modern one.
async fn status_in_both_eras(client: &Client, headers: &[(&str, &str)]) -> u16 {
    let legacy = client.legacy(headers, "tools/list", json!({})).await;
    let modern_headers = [headers, &[MODERN, ("Mcp-Method", "tools/list")]].concat();
    let body = request(1, "tools/list", modern(json!({}))).to_string();
    let modern = client.post_raw(&modern_headers, &body).await;
    assert_eq!(legacy.status, modern.status, "{headers:?}");
    legacy.status
}

#[tokio::test]
async fn invalid_messages_return_rpc_errors() {
    let running = start().await;
    let client = running.client();
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("null", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
    ] {
        let reply = client.post_raw(&[], body).await;
        assert_eq!(reply.status_and_code(), (400, code), "{body}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    let modern_batch =
        client.post_raw(&[MODERN], r#"[{"jsonrpc":"2.0","id":1,"method":"server/discover"}]"#).await;
    assert_eq!(modern_batch.status_and_code(), (400, -32600));
}

async fn post(client: &Client, headers: &[(&str, &str)], body: &Value) -> (u16, i64) {
    client.post_raw(headers, &body.to_string()).await.status_and_code()
}

#[tokio::test]
async fn modern_request_must_be_complete_and_match_headers() {
    let running = start().await;
    let client = running.client();
    let read = |params: Value| request(1, "resources/read", params);
    let full = read(modern(json!({"uri": "toy://static"})));
    let method = ("Mcp-Method", "resources/read");
    let name = ("Mcp-Name", "toy://static");
    let with_version = |version: &str| {
        let mut params = modern(json!({"uri": "toy://static"}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        read(params)
    };
    let without = |key: &str| {
        let mut params = modern(json!({"uri": "toy://static"}));
        params["_meta"].as_object_mut().unwrap().remove(key);
        read(params)
    };

    assert_eq!(post(&client, &[MODERN, method, name], &full).await, (200, 0));
    // No `_meta`, or half of it, with a modern header.
    assert_eq!(
        post(&client, &[MODERN, method, name], &read(json!({"uri": "toy://static"}))).await,
        (400, -32602)
    );
    let half = without("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(post(&client, &[MODERN, method, name], &half).await, (400, -32602));
    let other_half = without("io.modelcontextprotocol/protocolVersion");
    assert_eq!(post(&client, &[MODERN, method, name], &other_half).await, (400, -32602));
    assert_eq!(
        post(&client, &[MODERN, method, name], &request(1, "resources/read", json!([]))).await,
        (400, -32602)
    );
    // The version header.
    assert_eq!(post(&client, &[method, name], &full).await, (400, -32020));
    assert_eq!(
        post(&client, &[("MCP-Protocol-Version", "2025-11-25"), method, name], &full).await,
        (400, -32020)
    );
    assert_eq!(post(&client, &[MODERN, MODERN, method, name], &full).await, (400, -32020));
    // A mismatch is reported before an unsupported version.
    assert_eq!(post(&client, &[MODERN, method, name], &with_version("1900-01-01")).await, (400, -32020));
    let old = ("MCP-Protocol-Version", "1900-01-01");
    assert_eq!(post(&client, &[old, method, name], &with_version("1900-01-01")).await, (400, -32022));
    // The method header.
    assert_eq!(post(&client, &[MODERN, name], &full).await, (400, -32020));
    assert_eq!(post(&client, &[MODERN, method, method, name], &full).await, (400, -32020));
    assert_eq!(post(&client, &[MODERN, ("Mcp-Method", "Resources/Read"), name], &full).await, (400, -32020));
    // The name header.
    assert_eq!(post(&client, &[MODERN, method], &full).await, (400, -32020));
    assert_eq!(post(&client, &[MODERN, method, ("Mcp-Name", "toy://other")], &full).await, (400, -32020));
    let encoded = ("Mcp-Name", "=?base64?dG95Oi8vc3RhdGlj?=");
    assert_eq!(post(&client, &[MODERN, method, encoded], &full).await, (200, 0));
    assert_eq!(post(&client, &[MODERN, method, ("Mcp-Name", "=?base64?!?=")], &full).await, (400, -32020));
}

#[tokio::test]
async fn unsupported_version_error_lists_supported_versions() {
    let running = start().await;
    let mut params = modern(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let body = request(1, "server/discover", params).to_string();
    let headers = [("MCP-Protocol-Version", "1900-01-01"), ("Mcp-Method", "server/discover")];
    let reply = running.client().post_raw(&headers, &body).await.json();
    assert_eq!(reply["error"]["data"]["requested"], "1900-01-01");
    let supported = &reply["error"]["data"]["supported"];
    let discovered = running.client().modern("server/discover", json!({})).await.json();
    assert_eq!(*supported, discovered["result"]["supportedVersions"]);
    // A legacy request names its version in the header only.
    let legacy = running.client().legacy(&[("MCP-Protocol-Version", "1900-01-01")], "ping", json!({})).await;
    assert_eq!(legacy.status_and_code(), (400, -32022));
}

#[tokio::test]
async fn validates_methods_and_parameters_in_both_eras() {
    let running = start().await;
    let client = running.client();
    for (method, params, modern_error, legacy_error) in [
        ("nonsense", json!({}), (404, -32601), (200, -32601)),
        ("resources/raed", json!({}), (404, -32601), (200, -32601)),
        ("logging/setLevel", json!({}), (404, -32601), (200, -32601)),
        ("initialize", json!({}), (404, -32601), (200, 0)),
        ("ping", json!({}), (404, -32601), (200, 0)),
        ("resources/subscribe", json!({}), (404, -32601), (400, -32600)),
        ("server/discover", json!({}), (200, 0), (200, -32601)),
        ("resources/read", json!({}), (200, -32602), (200, -32602)),
        ("resources/read", json!({"uri": 5}), (200, -32602), (200, -32602)),
        ("resources/read", json!({"uri": "toy://items/none"}), (200, -32602), (200, -32002)),
        ("resources/read", json!({"uri": "toy://nope"}), (200, -32602), (200, -32602)),
        ("resources/read", json!({"uri": "http://x"}), (200, -32602), (200, -32602)),
        ("resources/read", json!({"uri": "toy://items/..%2f"}), (200, -32602), (200, -32602)),
        ("resources/read", json!({"uri": "toy://broken"}), (200, -32603), (200, -32603)),
        ("resources/list", json!({"cursor": "garbage"}), (200, -32602), (200, -32602)),
        ("resources/list", json!({"cursor": 5}), (200, -32602), (200, -32602)),
        ("tools/list", json!({"cursor": "garbage"}), (200, -32602), (200, -32602)),
        ("resources/templates/list", json!({"cursor": ""}), (200, -32602), (200, -32602)),
        ("prompts/get", json!({"name": "unknown"}), (200, -32602), (200, -32602)),
        ("prompts/get", json!({"name": "toy_greet"}), (200, -32602), (200, -32602)),
        ("prompts/get", json!({"name": "toy_greet", "arguments": {"who": 5}}), (200, -32602), (200, -32602)),
        ("tools/call", json!({"name": "unknown"}), (200, -32602), (200, -32602)),
        ("tools/call", json!({}), (200, -32602), (200, -32602)),
        ("tools/call", json!({"name": "toy_set", "arguments": []}), (200, -32602), (200, -32602)),
        ("completion/complete", json!({}), (200, -32602), (200, -32602)),
        ("subscriptions/listen", json!({}), (200, -32602), (200, -32601)),
    ] {
        assert_eq!(
            client.modern(method, params.clone()).await.status_and_code(),
            modern_error,
            "modern {method} {params}"
        );
        assert_eq!(
            client.legacy(&[], method, params.clone()).await.status_and_code(),
            legacy_error,
            "legacy {method} {params}"
        );
    }
}

#[tokio::test]
async fn not_found_names_uri_and_internal_error_hides_cause() {
    let running = start().await;
    let client = running.client();
    let missing = client.modern("resources/read", json!({"uri": "toy://items/none"})).await.json();
    assert_eq!(missing["error"]["data"]["uri"], "toy://items/none");
    assert_eq!(missing["error"]["data"]["kind"], "not_found");
    let broken = client.modern("resources/read", json!({"uri": "toy://broken"})).await;
    assert!(!String::from_utf8_lossy(&broken.body).contains("fire"));
    assert_eq!(
        client.modern("resources/raed", json!({})).await.json()["error"]["data"]["hint"],
        "Did you mean resources/read?"
    );
}

#[tokio::test]
async fn missing_scope_returns_403_with_challenge_in_both_eras() {
    let running = start().await;
    let client = running.client_with("reader");
    for (method, params) in [
        ("resources/read", json!({"uri": "toy://secret"})),
        ("tools/call", json!({"name": "toy_set", "arguments": {"id": "a", "value": "b"}})),
        ("tools/call", json!({"name": "toy_secret"})),
    ] {
        for reply in
            [client.modern(method, params.clone()).await, client.legacy(&[], method, params.clone()).await]
        {
            assert_eq!(reply.status_and_code(), (403, -32602), "{method}");
            assert_eq!(reply.json()["error"]["data"]["code"], "SCOPE_INSUFFICIENT");
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(
                challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"toy:"),
                "{challenge}"
            );
            assert!(
                challenge.contains("resource_metadata=") && challenge.contains("error_description="),
                "{challenge}"
            );
        }
    }
}

#[tokio::test]
async fn changed_token_is_reauthenticated_within_the_request() {
    let running = start().await;
    let client = running.client();
    let read = || client.modern("resources/read", json!({"uri": "toy://static"}));
    assert_eq!(read().await.status, 200);
    // The verifier has the old verdict in its cache. The audit commit finds it outdated.
    running.state.invalidate(quad_core::Tag::new("token:all"));
    assert_eq!(read().await.status, 200);
    running.state.invalidate(quad_core::Tag::new("token:all"));
    let get_reply = client.send("GET", "/v1/resources?uri=toy://static", &[], b"").await;
    assert_eq!(get_reply.status, 200);
}

#[tokio::test]
async fn no_auth_accepts_all_and_no_session_store_disables_streams() {
    let running = start_with(false, false).await;
    let client = running.client_with("whatever");
    let reply = client.post_raw(&[("Authorization", "")], &request(1, "ping", json!({})).to_string()).await;
    assert_eq!(reply.json(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    for method in ["GET", "DELETE"] {
        let reply = client.send(method, "/mcp", &[], b"").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    }
    let opened = client.legacy(&[], "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!(opened.header("mcp-session-id"), None);
    assert_eq!(opened.json()["result"]["capabilities"]["resources"], json!({}));
}

#[tokio::test]
async fn every_call_appends_one_audit_event() {
    let running = start().await;
    let client = running.client_with("reader");
    let calls = [
        ("resources/read", json!({"uri": "toy://static"})),
        ("resources/read", json!({"uri": "toy://secret"})),
        ("resources/read", json!({"uri": "http://x"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "toy_show"})),
        ("tools/call", json!({"name": "toy_media"})),
        ("tools/call", json!({"name": "unknown"})),
    ];
    for (count, (method, params)) in calls.iter().enumerate() {
        client.modern(method, params.clone()).await;
        let events = running.state.events();
        assert_eq!(events.len(), count + 1, "{method}");
        assert_eq!(
            events[count].inputs.get("method"),
            Some(&quad_core::audit_fields::AuditValue::Static(method))
        );
    }
}
