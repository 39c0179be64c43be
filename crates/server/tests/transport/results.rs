//! What a good answer looks like, in both eras.

use serde_json::{Value, json};

use crate::client::{Reply, events, modern, request};
use crate::server::{start, start_without_issuer};

/// The result of a modern reply, after checking what every one of them must carry.
fn modern_result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200);
    let result = reply.json()["result"].clone();
    assert_eq!(result["resultType"], "complete");
    let info = json!({"name": "quadrivium", "version": "0.0.1"});
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], info);
    result
}

/// The result of a legacy reply, which must carry nothing of the modern era.
fn legacy_result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200);
    let result = reply.json()["result"].clone();
    assert!(result.is_object(), "{}", reply.json());
    for key in ["resultType", "ttlMs", "cacheScope"] {
        assert!(result.get(key).is_none(), "{key}");
    }
    assert!(result["_meta"].get("io.modelcontextprotocol/serverInfo").is_none());
    result
}

#[tokio::test]
async fn every_modern_result_has_cache_hints() {
    let running = start().await;
    let client = running.client();
    for (method, params, ttl_ms, scope) in [
        ("server/discover", json!({}), json!(3_600_000), json!("public")),
        ("resources/list", json!({}), json!(0), json!("private")),
        ("resources/templates/list", json!({}), json!(300_000), json!("public")),
        ("resources/read", json!({"uri": "toy://static"}), json!(0), json!("private")),
        ("resources/read", json!({"uri": "toy://forever"}), json!(86_400_000), json!("private")),
        ("tools/list", json!({}), json!(0), json!("private")),
        ("prompts/list", json!({}), json!(0), json!("private")),
        ("prompts/get", json!({"name": "toy_show"}), Value::Null, Value::Null),
        ("tools/call", json!({"name": "toy_media"}), Value::Null, Value::Null),
    ] {
        let result = modern_result(&client.modern(method, params.clone()).await);
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&ttl_ms, &scope), "{method} {params}");
        if method != "server/discover" {
            legacy_result(&client.legacy(&[], method, params).await);
        }
    }
}

#[tokio::test]
async fn read_returns_contents_and_receipt() {
    let running = start().await;
    let client = running.client();
    let result = modern_result(&client.modern("resources/read", json!({"uri": "toy://static"})).await);
    let text = "never \"changes\"\n";
    assert_eq!(result["contents"], json!([{"uri": "toy://static", "mimeType": "text/plain", "text": text}]));
    let receipt = &result["_meta"]["dev.quadrivium/receipt"];
    assert_eq!(receipt["contentHash"], quad_core::canonical::sha256_hex(text.as_bytes()));
    assert_eq!(
        *receipt,
        json!({"contentHash": receipt["contentHash"], "version": 1, "sequence": 1, "event": "evt_1"})
    );
    // A second read comes from the cache and has an audit event as well.
    let again = modern_result(&client.modern("resources/read", json!({"uri": "toy://static"})).await);
    assert_eq!(again["_meta"]["dev.quadrivium/receipt"]["sequence"], 2);
    assert_eq!(again["contents"], result["contents"]);
    let legacy = legacy_result(&client.legacy(&[], "resources/read", json!({"uri": "toy://picture"})).await);
    assert_eq!(legacy["contents"][0]["blob"], "iVBORwD/");
    let pair = legacy_result(&client.legacy(&[], "resources/read", json!({"uri": "toy://pair"})).await);
    assert_eq!(pair["contents"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn reply_keeps_requested_uri_text_and_id() {
    let running = start().await;
    for id in ["7", "\"\\u0041b\"", "-1", "123456789012345678901234567890"] {
        let body = format!(
            r#"{{"id":{id},"jsonrpc":"2.0","method":"resources/read","params":{{"uri":"TOY:\/\/items\/%6fne"}}}}"#
        );
        let reply = running.client().post_raw(&[], &body).await;
        let text = String::from_utf8(reply.body).unwrap();
        assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{text}");
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["result"]["contents"][0]["uri"], "TOY://items/%6fne");
    }
}

#[tokio::test]
async fn read_after_write_is_never_stale() {
    let running = start().await;
    let client = running.client();
    for round in 0..50 {
        let value = round.to_string();
        let call = json!({"name": "toy_set", "arguments": {"id": "one", "value": value}});
        modern_result(&client.modern("tools/call", call).await);
        let read = modern_result(&client.modern("resources/read", json!({"uri": "toy://items/one"})).await);
        assert_eq!(read["contents"][0]["text"], json!({"id": "one", "value": value}).to_string());
    }
}

#[tokio::test]
async fn list_pages_have_no_gaps_or_duplicates() {
    let running = start().await;
    for number in 0..450 {
        running.state.set(&format!("n{number:04}"), "x");
    }
    let client = running.client();
    let mut uris = Vec::new();
    let mut cursor: Option<String> = None;
    let mut pages = 0;
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let result = modern_result(&client.modern("resources/list", params).await);
        pages += 1;
        for entry in result["resources"].as_array().unwrap() {
            assert!(entry["name"].is_string() && entry["mimeType"].is_string());
            uris.push(entry["uri"].as_str().unwrap().to_owned());
        }
        match result.get("nextCursor").and_then(Value::as_str) {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let count = uris.len();
    uris.dedup();
    assert_eq!((pages, count, uris.len()), (3, 452, 452));
}

#[tokio::test]
async fn tools_list_is_filtered_by_scope_and_profile() {
    let running = start().await;
    let names = |result: Value| -> Vec<String> {
        result["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let list = async |token: &str, path: &str| {
        names(modern_result(&running.client_with(token).modern_to(path, "tools/list", json!({})).await))
    };
    let core = list("all", "/mcp").await;
    assert!(core.contains(&"toy_set".to_owned()) && core.contains(&"resource_read".to_owned()));
    assert!(!core.contains(&"toy_hang".to_owned()));
    assert!(list("all", "/mcp?tools=all").await.contains(&"toy_hang".to_owned()));
    assert!(list("all", "/mcp/toy?tools=all").await.contains(&"toy_hang".to_owned()));
    assert!(!list("reader", "/mcp").await.contains(&"toy_set".to_owned()));
    for (path, status) in [("/mcp/toy", 200), ("/mcp/tyo", 404), ("/v1/agents/mcp", 404)] {
        let reply = running.client().modern_to(path, "tools/list", json!({})).await;
        assert_eq!(reply.status, status, "{path}");
        if status == 404 {
            assert_eq!(reply.json()["code"], "NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn tool_result_fields_depend_on_revision() {
    let running = start().await;
    let client = running.client();
    let params = json!({"name": "toy_set", "arguments": {"id": "a", "value": "b"}});
    let structured = json!({"id": "a", "value": "b"});
    let newest = modern_result(&client.modern("tools/call", params.clone()).await);
    assert_eq!(newest["structuredContent"], structured);
    assert_eq!(newest["content"][0], json!({"type": "text", "text": structured.to_string()}));
    let link = json!({"type": "resource_link", "uri": "toy://items/a", "name": "the item", "mimeType": "application/json"});
    assert_eq!(newest["content"][1], link);
    assert_eq!(newest["isError"], false);
    for (version, has_structured) in
        [("2025-06-18", true), ("2025-11-25", true), ("2025-03-26", false), ("2024-11-05", false)]
    {
        let headers = [("MCP-Protocol-Version", version)];
        let result = legacy_result(&client.legacy(&headers, "tools/call", params.clone()).await);
        assert_eq!(result.get("structuredContent").is_some(), has_structured, "{version}");
        assert_eq!(result["content"][1]["type"] == "resource_link", has_structured, "{version}");
        let media = legacy_result(&client.legacy(&headers, "tools/call", json!({"name": "toy_media"})).await);
        let kinds: Vec<&str> = media["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        let sound = if version == "2024-11-05" { "text" } else { "audio" };
        assert_eq!(kinds, ["image", sound, "resource"], "{version}");
        let listed = legacy_result(&client.legacy(&headers, "tools/list", json!({})).await);
        assert_eq!(listed["tools"][0].get("outputSchema").is_some(), has_structured, "{version}");
    }
}

#[tokio::test]
async fn failed_tool_returns_error_result() {
    let running = start().await;
    let client = running.client();
    for (params, code) in [
        (json!({"name": "toy_fail"}), "VALIDATION_ERROR"),
        (json!({"name": "toy_set", "arguments": {"id": 5}}), "VALIDATION_ERROR"),
        (json!({"name": "resource_read", "arguments": {"uri": "toy://items/none"}}), "NOT_FOUND"),
    ] {
        let result = modern_result(&client.modern("tools/call", params.clone()).await);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["error"]["code"]),
            (&json!(true), &json!(code)),
            "{params}"
        );
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        let legacy = legacy_result(&client.legacy(&[], "tools/call", params).await);
        assert_eq!(legacy["isError"], true);
        assert!(legacy.get("structuredContent").is_none());
    }
    let failed = modern_result(&client.modern("tools/call", json!({"name": "toy_fail"})).await);
    assert_eq!(failed["_meta"]["errorCode"], "TOY_BROKEN");
}

#[tokio::test]
async fn prompts_and_completions_return_values() {
    let running = start().await;
    let client = running.client();
    let greeting = modern_result(
        &client.modern("prompts/get", json!({"name": "toy_greet", "arguments": {"who": "you"}})).await,
    );
    assert_eq!(
        greeting["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "Hello you"}}])
    );
    let shown = modern_result(&client.modern("prompts/get", json!({"name": "toy_show"})).await);
    assert_eq!(shown["messages"][0]["content"]["type"], "image");
    assert_eq!(shown["messages"][1]["content"]["resource"]["text"], "in");
    let listed = modern_result(&client.modern("prompts/list", json!({})).await);
    assert_eq!(listed["prompts"][0]["arguments"][0]["required"], true);
    let template = json!({
        "ref": {"type": "ref/resource", "uri": "toy://items/{id}"},
        "argument": {"name": "id", "value": "o"},
        "context": {"arguments": {}},
    });
    let completed = modern_result(&client.modern("completion/complete", template).await);
    assert_eq!(completed["completion"], json!({"values": ["one"], "total": 1, "hasMore": false}));
    let prompt =
        json!({"ref": {"type": "ref/prompt", "name": "toy_greet"}, "argument": {"name": "who", "value": ""}});
    let completed = modern_result(&client.modern("completion/complete", prompt).await);
    assert_eq!(completed["completion"]["values"], json!(["world"]));
}

#[tokio::test]
async fn progress_token_turns_reply_into_event_stream() {
    let running = start().await;
    let client = running.client();
    let params = json!({"name": "toy_progress", "_meta": {"progressToken": "p"}});
    let modern_body = request(1, "tools/call", modern(params.clone())).to_string();
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "toy_progress")];
    for reply in
        [client.post_raw(&headers, &modern_body).await, client.legacy(&[], "tools/call", params).await]
    {
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        assert_eq!(reply.header("x-accel-buffering"), Some("no"));
        let messages = events(&reply.body);
        let done: Vec<&Value> = messages[..3].iter().map(|message| &message["params"]["progress"]).collect();
        assert_eq!(done, [&json!(0), &json!(50), &json!(100)]);
        assert!(messages[..3].iter().all(|message| message["params"]["progressToken"] == "p"));
        assert_eq!(messages.len(), 4);
        assert_eq!((&messages[3]["id"], &messages[3]["result"]["isError"]), (&json!(1), &json!(false)));
    }
    let hasty =
        client.legacy(&[], "tools/call", json!({"name": "toy_hasty", "_meta": {"progressToken": 1}})).await;
    assert_eq!(events(&hasty.body).len(), 2);
    let params = modern(json!({"name": "toy_hasty", "_meta": {"progressToken": 1}}));
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "toy_hasty")];
    let hasty = client.post_raw(&headers, &request(1, "tools/call", params).to_string()).await;
    assert_eq!(events(&hasty.body).len(), 2);
    // Without a token or without progress the reply is one document.
    let without_token = client.modern("tools/call", json!({"name": "toy_progress"})).await;
    assert_eq!(without_token.header("content-type"), Some("application/json"));
    let without_progress =
        client.legacy(&[], "tools/call", json!({"name": "toy_media", "_meta": {"progressToken": 1}})).await;
    assert_eq!(without_progress.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn public_endpoints_need_no_token() {
    let running = start().await;
    let client = running.client();
    let get = async |path: &str, headers: &[(&str, &str)]| {
        client.send("GET", path, &[headers, &[("Authorization", "")]].concat(), b"").await
    };
    let info = get("/mcp/info", &[]).await.json();
    assert_eq!((&info["name"], &info["protocolVersions"][0]), (&json!("quadrivium"), &json!("2026-07-28")));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let reply = get(path, &[("Origin", "https://any.example")]).await;
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let metadata = reply.json();
        assert_eq!(metadata["resource"], format!("http://{}/mcp", running.address));
        assert_eq!(metadata["authorization_servers"], json!(["https://auth.example.com"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    }
    let keys = get("/.well-known/jwks.json", &[("Origin", "https://any.example")]).await;
    assert_eq!((keys.status, keys.json()), (200, json!({"keys": [{"kid": "k1"}]})));
    assert_eq!(keys.header("access-control-allow-origin"), Some("*"));
    assert_eq!(keys.header("cache-control"), Some("public, max-age=300"));
    assert_eq!(get("/healthz", &[("Host", "10.0.0.9")]).await.status, 200);
    assert_eq!(get("/readyz", &[]).await.status, 200);
    client.modern("resources/read", json!({"uri": "toy://static"})).await;
    client.modern("resources/read", json!({"uri": "toy://nope"})).await;
    let metrics = String::from_utf8(get("/metrics", &[]).await.body).unwrap();
    for line in [
        "quad_requests_total{method=\"resources/read\",outcome=\"ok\"} 1\n",
        "quad_requests_total{method=\"resources/read\",outcome=\"refused\"} 1\n",
        "quad_cache_misses_total 1\n",
        "quad_streams_open 0\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[tokio::test]
async fn oauth_paths_say_how_to_get_a_token() {
    for (running, expected) in [
        (start().await, "https://auth.example.com"),
        (start_without_issuer(true).await, "quad token mint"),
        (start_without_issuer(false).await, "without tokens"),
    ] {
        let client = running.client();
        for (method, path) in [("POST", "/register"), ("GET", "/authorize?x=1"), ("POST", "/token")] {
            let reply = client.send(method, path, &[("Authorization", "")], b"{}").await;
            let error = reply.json();
            assert_eq!((reply.status, &error["error"]), (400, &json!("access_denied")), "{path}");
            assert!(error["error_description"].as_str().unwrap().contains(expected), "{error}");
        }
        let discovery = client.send("GET", "/.well-known/oauth-authorization-server", &[], b"").await;
        assert_eq!(discovery.status, 404);
    }
}

#[tokio::test]
async fn metadata_names_no_authorization_server_without_issuer() {
    let running = start_without_issuer(true).await;
    let reply = running.client().send("GET", "/.well-known/oauth-protected-resource", &[], b"").await;
    let metadata = reply.json();
    assert_eq!((reply.status, metadata.get("authorization_servers")), (200, None), "{metadata}");
    assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
}

#[tokio::test]
async fn request_id_is_kept_or_generated() {
    let running = start().await;
    let client = running.client();
    let from_client = client.send("GET", "/healthz", &[("X-Request-Id", "mine-1")], b"").await;
    assert_eq!(from_client.header("x-request-id"), Some("mine-1"));
    let generated = client.send("GET", "/healthz", &[("X-Request-Id", "not plain")], b"").await;
    assert!(generated.header("x-request-id").is_some_and(|id| id != "not plain"));
}

#[tokio::test]
async fn allowed_origin_gets_cors_preflight() {
    let running = start().await;
    let origin = ("Origin", "http://localhost:3000");
    let preflight_headers = [origin, ("Access-Control-Request-Method", "POST"), ("Authorization", "")];
    let reply = running.client().send("OPTIONS", "/mcp", &preflight_headers, b"").await;
    assert_eq!(reply.status, 204);
    assert!(reply.header("access-control-allow-headers").unwrap().contains("Mcp-Method"));
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin.1));
}
