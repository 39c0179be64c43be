//! Tests what exists only over HTTP: statuses, headers, sessions, batches, and paths besides the protocol.

use serde_json::{Value, json};

use crate::era;
use crate::helpers::{self, json_body, without_header};
use crate::http::{HttpClient, Request, Response};
use crate::instance::{Server, TestInstance};
use crate::matrix::Revision;

const ORGS: &str = "bkend://orgs";

/// An instance with a server and a token.
struct HttpFixture {
    instance: TestInstance,
    server: Server,
    token: String,
}

impl HttpFixture {
    fn new() -> HttpFixture {
        let instance = TestInstance::on_sqlite();
        let token = instance.mint_token("local", "tester", "*:*");
        let server = instance.serve(&[]);
        HttpFixture { instance, server, token }
    }

    fn send(&self, request: &Request) -> Response {
        HttpClient::new(&self.server.authority).send(request).unwrap()
    }

    /// A POST with a body, a media type and a token.
    fn post_request(&self, body: impl ToString) -> Request {
        helpers::with_token(helpers::post_request(body), &self.token)
    }

    fn with_token(&self, request: Request) -> Request {
        helpers::with_token(request, &self.token)
    }

    /// A modern request with all its headers.
    fn modern_request(&self, method: &str, params: Value) -> Request {
        let mut request = self.post_request(modern_body(method, &params));
        request = request.header("MCP-Protocol-Version", Revision::MODERN.0).header("Mcp-Method", method);
        match params["uri"].as_str().or(params["name"].as_str()) {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        }
    }

    /// Opens a legacy session.
    fn open_session(&self, revision: &str) -> (Response, String) {
        let response = self.send(&self.post_request(initialize(revision)));
        let session = response.header("mcp-session-id").expect("initialize opened no session").to_owned();
        (response, session)
    }
}

fn modern_body(method: &str, params: &Value) -> Value {
    let params = era::add_era_fields(Revision::MODERN, Some(params.clone()));
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn legacy_body(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn initialize(revision: &str) -> Value {
    let info = json!({"name": "tester", "version": "1"});
    legacy_body("initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info}))
}

/// Sends each request and compares status and JSON-RPC number; 0 stands for no error.
fn check_all(fixture: &HttpFixture, cases: &[(&str, Request, u16, i64)]) {
    for (name, request, status, code) in cases {
        let response = fixture.send(request);
        let reply = json_body(&response);
        let actual = (response.status, reply["error"]["code"].as_i64().unwrap_or_default());
        assert_eq!(actual, (*status, *code), "{name}: {reply:#}");
        assert!(response.header("x-request-id").is_some(), "{name} has no request id");
        if *code != 0 {
            assert!(reply["error"]["data"]["code"].is_string(), "{name} has no envelope: {reply:#}");
        }
    }
}

#[test]
fn malformed_messages_return_distinct_errors() {
    let fixture = HttpFixture::new();
    let read = || fixture.modern_request("resources/read", json!({"uri": ORGS}));
    let post = |body: &str| fixture.post_request(body);
    check_all(
        &fixture,
        &[
            // Invalid JSON, invalid messages, unknown methods.
            ("a broken body", post("{"), 400, -32700),
            ("an empty body", post(""), 400, -32700),
            ("a number", post("5"), 400, -32600),
            ("no version", post(r#"{"id":1,"method":"ping"}"#), 400, -32600),
            ("an id of null", post(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), 400, -32600),
            ("a fractional id", post(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), 400, -32600),
            (
                "a legacy method that does not exist",
                fixture.post_request(legacy_body("nope", json!({}))),
                200,
                -32601,
            ),
            ("a modern method that does not exist", fixture.modern_request("nope", json!({})), 404, -32601),
            ("a modern initialize", fixture.modern_request("initialize", json!({})), 404, -32601),
            // Headers that disagree with the body.
            ("a good request", read(), 200, 0),
            (
                "another name",
                without_header(read(), "Mcp-Name").header("Mcp-Name", "bkend://other"),
                400,
                -32020,
            ),
            ("no name", without_header(read(), "Mcp-Name"), 400, -32020),
            ("two names", read().header("Mcp-Name", ORGS), 400, -32020),
            (
                "another method",
                without_header(read(), "Mcp-Method").header("Mcp-Method", "ping"),
                400,
                -32020,
            ),
            ("no method", without_header(read(), "Mcp-Method"), 400, -32020),
            ("no version header", without_header(read(), "MCP-Protocol-Version"), 400, -32020),
            (
                "a version header alone",
                fixture
                    .post_request(legacy_body("resources/list", json!({})))
                    .header("MCP-Protocol-Version", "2026-07-28"),
                400,
                -32602,
            ),
            (
                "a wrapped name",
                without_header(read(), "Mcp-Name").header("Mcp-Name", "=?base64?YmtlbmQ6Ly9vcmdz?="),
                200,
                0,
            ),
            // `Accept: */*` includes JSON.
            ("any media type", read().header("Accept", "*/*"), 200, 0),
            (
                "a legacy read of nothing",
                fixture.post_request(legacy_body("resources/read", json!({"uri": "bkend://orgs/org_none"}))),
                200,
                -32002,
            ),
            (
                "a modern read of nothing",
                fixture.modern_request("resources/read", json!({"uri": "bkend://orgs/org_none"})),
                200,
                -32602,
            ),
            (
                "an unknown legacy version",
                fixture
                    .post_request(legacy_body("ping", json!({})))
                    .header("MCP-Protocol-Version", "1900-01-01"),
                400,
                -32022,
            ),
        ],
    );
    // A response to a message without an id has a null id.
    assert_eq!(json_body(&fixture.send(&post("{"))).get("id"), None);
    // The refusal of an unknown revision names the supported ones.
    let mut unsupported = modern_body("resources/list", &json!({}));
    unsupported["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let request = fixture
        .post_request(unsupported)
        .header("MCP-Protocol-Version", "1900-01-01")
        .header("Mcp-Method", "resources/list");
    let refused = fixture.send(&request);
    let data = json_body(&refused)["error"]["data"].clone();
    assert_eq!((refused.status, &data["requested"]), (400, &json!("1900-01-01")));
    for revision in ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"] {
        assert!(data["supported"].as_array().unwrap().contains(&revision.into()), "{data}");
    }
}

#[test]
fn rejects_bad_token_origin_and_host() {
    let fixture = HttpFixture::new();
    let read = || fixture.modern_request("resources/read", json!({"uri": ORGS}));
    // No token, a bad token, a foreign origin, a foreign host.
    let missing = fixture.send(&without_header(read(), "Authorization"));
    let challenge = missing.header("www-authenticate").unwrap();
    assert_eq!(missing.status, 401);
    assert!(
        challenge.starts_with("Bearer ") && challenge.contains("resource_metadata=\"http://"),
        "{challenge}"
    );
    assert!(!challenge.contains("error="), "{challenge}");
    assert_eq!(json_body(&missing)["code"], "auth_token_missing");
    for token in ["nonsense", "a.b.c", &format!("{}x", fixture.token)] {
        let request =
            without_header(read(), "Authorization").header("Authorization", &format!("Bearer {token}"));
        let refused = fixture.send(&request);
        assert_eq!(refused.status, 401, "{token}");
        assert!(refused.header("www-authenticate").unwrap().contains(r#"error="invalid_token""#));
        assert!(!refused.text().contains(token), "the answer repeats the token");
    }
    let cases = [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:1", 200),
    ];
    for (header, value, status) in cases {
        assert_eq!(fixture.send(&read().header(header, value)).status, status, "{header}: {value}");
    }
    assert_eq!(fixture.send(&read().header("Host", "evil.example")).status, 403);
    // The challenge names the metadata of the resource.
    let metadata = fixture.send(&Request::new("GET", "/.well-known/oauth-protected-resource/mcp"));
    assert_eq!(metadata.status, 200);
    assert_eq!(json_body(&metadata)["resource"], format!("http://{}/mcp", fixture.server.authority));
    assert_eq!(json_body(&metadata).get("authorization_servers"), None, "no external issuer is configured");
    let registered = fixture.send(&Request::new("POST", "/register").body("{}"));
    assert_eq!((registered.status, &json_body(&registered)["error"]), (400, &json!("access_denied")));
    let description = json_body(&registered)["error_description"].as_str().unwrap().to_owned();
    assert!(description.contains("quad token mint"), "{description}");
    assert_eq!(json_body(&metadata)["bearer_methods_supported"], json!(["header"]));
}

#[test]
fn revoked_token_is_rejected_on_next_call() {
    let fixture = HttpFixture::new();
    let reader = fixture.instance.mint_token("local", "reader", "organization:read");
    let list: Value = serde_json::from_str(&fixture.instance.run(&["token", "list", "--json"])).unwrap();
    let entries = list["tokens"].as_array().unwrap();
    let id = entries.iter().find(|entry| entry["subject"] == "reader").unwrap()["id"].as_str().unwrap();
    let read = fixture.modern_request("resources/read", json!({"uri": ORGS}));
    let read = without_header(read, "Authorization").header("Authorization", &format!("Bearer {reader}"));
    let mut client = HttpClient::new(&fixture.server.authority);
    for _ in 0..3 {
        assert_eq!(client.send(&read).unwrap().status, 200);
    }
    // Revokes the token in another process, as an operator does.
    fixture.instance.run(&["token", "revoke", id]);
    assert_eq!(client.send(&read).unwrap().status, 401);
}

#[test]
fn rejects_wrong_method_media_type_and_size() {
    let fixture = HttpFixture::new();
    let not_json =
        without_header(fixture.post_request("{}"), "Content-Type").header("Content-Type", "text/plain");
    assert_eq!(fixture.send(&not_json).status, 415);
    let put = fixture.send(&fixture.with_token(Request::new("PUT", "/mcp")));
    assert_eq!((put.status, put.header("allow")), (405, Some("POST, GET, DELETE")));
    let modern_get =
        fixture.with_token(Request::new("GET", "/mcp")).header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(fixture.send(&modern_get).status, 405);
    // The announced size is enough for a refusal.
    assert_eq!(fixture.send(&fixture.post_request("").header("Content-Length", "5242880")).status, 413);
    let unknown_scheme =
        fixture.with_token(Request::new("POST", "/mcp/nope").header("Content-Type", "application/json"));
    let refused = fixture.send(&unknown_scheme.body("{}"));
    assert_eq!((refused.status, &json_body(&refused)["code"]), (404, &json!("NOT_FOUND")));
    for path in ["/healthz", "/readyz", "/metrics", "/mcp/info"] {
        assert_eq!(fixture.send(&fixture.with_token(Request::new("GET", path))).status, 200, "{path}");
    }
    assert_eq!(fixture.send(&Request::new("GET", "/nowhere")).status, 404);
}

#[test]
fn session_opens_on_initialize_and_ends_on_delete() {
    let fixture = HttpFixture::new();
    // `initialize` returns the revision and opens a session.
    let (opened, session) = fixture.open_session("2025-03-26");
    let result = json_body(&opened)["result"].clone();
    assert_eq!(result["protocolVersion"], "2025-03-26");
    assert_eq!(result["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    assert!(result["capabilities"]["tools"].is_object());
    assert!(session.bytes().all(|byte| (0x21..0x7f).contains(&byte)), "{session}");
    // A notification gets 202 without a body, also without the prefix of its name.
    for method in ["notifications/initialized", "initialized"] {
        let request = fixture
            .post_request(json!({"jsonrpc": "2.0", "method": method}))
            .header("Mcp-Session-Id", &session);
        let accepted = fixture.send(&request);
        assert_eq!((accepted.status, accepted.text().as_str()), (202, ""), "{method}");
    }
    // A request without a session is served, unless the method needs one.
    let list = || fixture.post_request(legacy_body("resources/list", json!({})));
    let subscribe = || fixture.post_request(legacy_body("resources/subscribe", json!({"uri": ORGS})));
    let stream = || fixture.with_token(Request::new("GET", "/mcp")).header("Accept", "text/event-stream");
    let end = || fixture.with_token(Request::new("DELETE", "/mcp"));
    let status = |request: Request| fixture.send(&request).status;
    assert_eq!(status(list()), 200);
    assert_eq!(status(subscribe()), 400);
    assert_eq!(status(stream()), 400);
    assert_eq!(status(end()), 400);
    assert_eq!(status(subscribe().header("Mcp-Session-Id", &session)), 200);
    // Another caller's session and an invented one are refused.
    let other_token = fixture.instance.mint_token("local", "stranger", "*:*");
    let foreign_session_request =
        without_header(list(), "Authorization").header("Authorization", &format!("Bearer {other_token}"));
    assert_eq!(status(foreign_session_request.header("Mcp-Session-Id", &session)), 404);
    assert_eq!(status(list().header("Mcp-Session-Id", &format!("{session}x"))), 404);
    assert_eq!(status(list().header("Mcp-Session-Id", "made-up")), 404);
    // Ends the session.
    assert_eq!(status(end().header("Mcp-Session-Id", &session)), 204);
    assert_eq!(status(list().header("Mcp-Session-Id", &session)), 404);
    assert_eq!(status(subscribe().header("Mcp-Session-Id", &session)), 404);
    assert_eq!(status(end().header("Mcp-Session-Id", &session)), 404);
}

#[test]
fn batch_is_accepted_only_in_2025_03_26() {
    let fixture = HttpFixture::new();
    let (_, session) = fixture.open_session("2025-03-26");
    let message = |id: i64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let batch = json!([message(1, "resources/list"), message(2, "tools/list")]);
    // A batch of two requests gets two answers.
    let replies = json_body(&fixture.send(&fixture.post_request(&batch).header("Mcp-Session-Id", &session)));
    let ids: Vec<&Value> = replies.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [1, 2]);
    assert!(replies[0]["result"]["resources"].is_array() && replies[1]["result"]["tools"].is_array());
    let mixed = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}, message(7, "nope"), 5]);
    let replies = json_body(&fixture.send(&fixture.post_request(&mixed).header("Mcp-Session-Id", &session)));
    let codes: Vec<&Value> =
        replies.as_array().unwrap().iter().map(|reply| &reply["error"]["code"]).collect();
    assert_eq!(codes, [-32601, -32600]);
    let notifications_only = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(
        fixture.send(&fixture.post_request(&notifications_only).header("Mcp-Session-Id", &session)).status,
        202
    );
    // Later revisions have no batches.
    let (_, later_session) = fixture.open_session("2025-11-25");
    let refused = fixture.send(&fixture.post_request(&batch).header("Mcp-Session-Id", &later_session));
    assert_eq!((refused.status, &json_body(&refused)["error"]["code"]), (400, &json!(-32600)));
    let empty = fixture.send(&fixture.post_request("[]").header("Mcp-Session-Id", &session));
    assert_eq!((empty.status, &json_body(&empty)["error"]["code"]), (400, &json!(-32600)));
}

#[test]
fn plain_http_get_reads_resource() {
    let fixture = HttpFixture::new();
    let get = |uri: &str| fixture.with_token(Request::new("GET", &format!("/v1/resources?uri={uri}")));
    let page = fixture.send(&get("bkend%3A%2F%2Forgs"));
    assert_eq!((page.status, page.header("content-type")), (200, Some("application/json")));
    let etag = page.header("etag").unwrap().to_owned();
    assert!(json_body(&page)[0]["id"].is_string());
    let not_modified = fixture.send(&get("bkend%3A%2F%2Forgs").header("If-None-Match", &etag));
    assert_eq!((not_modified.status, not_modified.body.len()), (304, 0));
    let part = fixture.send(&get("bkend%3A%2F%2Forgs").header("Range", "bytes=0-3"));
    assert_eq!((part.status, part.body.as_slice()), (206, &page.body[..4]));
    assert_eq!(fixture.send(&get("bkend%3A%2F%2Forgs").header("Range", "bytes=99999999-")).status, 416);
    let absent = fixture.send(&get("bkend%3A%2F%2Forgs%2Forg_none"));
    assert_eq!((absent.status, &json_body(&absent)["code"]), (404, &json!("NOT_FOUND")));
    assert_eq!(fixture.send(&get("bkend%3A%2F%2Fnope")).status, 400);
    assert_eq!(fixture.send(&Request::new("GET", "/v1/resources?uri=bkend%3A%2F%2Forgs")).status, 401);
    let limited_token = fixture.instance.mint_token("local", "visitor", "table:read");
    let refused = without_header(get("bkend%3A%2F%2Forgs"), "Authorization")
        .header("Authorization", &format!("Bearer {limited_token}"));
    let refused = fixture.send(&refused);
    assert_eq!(refused.status, 403);
    assert!(refused.header("www-authenticate").unwrap().contains(r#"scope="organization:read""#));
}

#[test]
fn no_auth_server_needs_no_token() {
    let instance = TestInstance::on_sqlite();
    let server = instance.serve(&["--no-auth"]);
    let request = Request::new("POST", "/mcp").header("Content-Type", "application/json");
    let response =
        HttpClient::new(&server.authority).send(&request.body(legacy_body("ping", json!({})).to_string()));
    assert_eq!(json_body(&response.unwrap())["result"], json!({}));
}
