//! Target `jsonrpc`: messages, as the body of an HTTP POST and as a line on stdio.
//!
//! Leading lines of the form `#name:value` are headers of the POST. Without such lines the POST gets the headers that a
//! modern request must have, and the replies of both transports are compared.

use std::cell::OnceCell;

use base64::Engine as _;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use quad_mcp::envelope::{self, Incoming, Message};
use quad_mcp::http_post::{self, PostBody};
use quad_mcp::stdio_session::StdioSession;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::fixture::FuzzServer;

/// The capacity for replies on stdio: more than one batch can have.
const REPLY_QUEUE: usize = 1_024;

/// Methods that each transport answers in its own way.
const TRANSPORT_METHODS: [&str; 4] =
    ["initialize", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"];

/// The error codes that may occur. Nothing in this server can fail, so the code of an internal error is not one of
/// them.
const ALLOWED_CODES: [i64; 8] = [-32700, -32600, -32601, -32602, -32020, -32021, -32022, -32002];

/// Sends any bytes as a message.
pub fn jsonrpc(data: &[u8]) {
    thread_local! {
        static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
    }
    RUNTIME.with(|runtime| {
        let runtime = runtime.get_or_init(|| Builder::new_current_thread().enable_time().build().unwrap());
        runtime.block_on(compare_transports(data));
    });
}

async fn compare_transports(data: &[u8]) {
    let (sent_headers, body) = split_headers(data);
    let headers = if sent_headers.is_empty() { headers_for(body) } else { sent_headers.clone() };
    let http_reply = via_http(&headers, body).await;
    let stdio_replies = via_stdio(body).await;
    if sent_headers.is_empty() && must_match(body) {
        let (http_text, stdio_text) =
            (lossy_text(&http_reply.unwrap_or_default()), lossy_text(&stdio_replies.concat()));
        assert_eq!(http_text, stdio_text, "the replies of the transports differ");
    }
}

/// The reply to a POST; `None` if it is a stream or has no body.
async fn via_http(headers: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    let server = FuzzServer::get();
    server.take_events();
    let reply = http_post::handle(&server.endpoint, &server.caller, headers, body).await;
    let appended = server.take_events();
    match reply.body {
        PostBody::Accepted => None,
        PostBody::Message { status, json, .. } => {
            assert!([200, 400, 404].contains(&status), "{status}");
            check_reply(&json, body, Some(appended));
            Some(json)
        }
        PostBody::Stream(mut messages, _) => {
            // The first message of a stream is ready at once.
            let first = messages.next().now_or_never().flatten().expect("the stream has no first message");
            let first: Value = serde_json::from_slice(&first).expect("the message is not JSON");
            assert_eq!(first["jsonrpc"], "2.0");
            None
        }
        PostBody::CredentialChanged => panic!("the credential changed, but the caller has none"),
    }
}

/// The replies to a line on stdio.
async fn via_stdio(line: &[u8]) -> Vec<Vec<u8>> {
    let server = FuzzServer::get();
    server.take_events();
    let (sender, mut replies) = mpsc::channel(REPLY_QUEUE);
    let mut session = StdioSession::new(server.endpoint.clone(), server.caller.clone(), sender);
    session.handle_line(line).await;
    session.finish().await;
    let mut received = Vec::new();
    while let Ok(reply) = replies.try_recv() {
        check_reply(&reply, line, None);
        received.push(reply);
    }
    received
}

/// Checks that a reply has the right form, repeats the id as written, and has an audit event. `appended` is the number
/// of audit events of the request.
fn check_reply(reply: &[u8], request: &[u8], appended: Option<usize>) {
    let parsed: Value =
        serde_json::from_slice(reply).unwrap_or_else(|_| panic!("not JSON: {}", lossy_text(reply)));
    let replies = match &parsed {
        Value::Array(replies) => replies.as_slice(),
        single => std::slice::from_ref(single),
    };
    assert!(!replies.is_empty());
    let mut error_count = 0;
    for reply in replies {
        assert_eq!(reply["jsonrpc"], "2.0", "{reply}");
        match (reply.get("result"), reply.get("error")) {
            (Some(result), None) => assert!(result.is_object(), "{reply}"),
            (None, Some(error)) => {
                error_count += 1;
                let code = error["code"].as_i64().expect("an error without a code");
                assert!(ALLOWED_CODES.contains(&code), "{reply}");
                let message = error["message"].as_str().expect("an error without a message");
                let data = &error["data"];
                assert!(data["code"].is_string(), "{reply}");
                assert!(
                    message.starts_with(data["message"].as_str().expect("no message in data")),
                    "{reply}"
                );
                assert!(message.ends_with(data["hint"].as_str().unwrap_or_default()), "{reply}");
            }
            // A notification on stdio.
            (None, None) => assert!(reply["method"].is_string(), "{reply}"),
            (Some(_), Some(_)) => panic!("both a result and an error: {reply}"),
        }
    }
    if let Some(appended) = appended {
        assert!(appended >= error_count, "an error without an audit event: {}", lossy_text(reply));
        assert!(appended <= replies.len(), "more than one audit event for a message: {}", lossy_text(reply));
    }
    if let Ok(Incoming::One(Message::Request { id, .. })) = envelope::parse_incoming(request) {
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{},"#, id.get());
        assert!(
            parsed.get("method").is_some() || reply.starts_with(expected.as_bytes()),
            "{}",
            lossy_text(reply)
        );
    }
}

/// Whether both transports must give the same reply: to a single request without repeated fields, unless each transport
/// answers its method in its own way.
fn must_match(body: &[u8]) -> bool {
    let Ok(Incoming::One(Message::Request { method, .. })) = envelope::parse_incoming(body) else {
        return false;
    };
    !TRANSPORT_METHODS.contains(&method.as_ref()) && quad_core::strict_json::parse_object(body).is_ok()
}

/// Splits the header lines from the body.
fn split_headers(mut data: &[u8]) -> (HeaderMap, &[u8]) {
    let mut headers = HeaderMap::new();
    while let Some(rest) = data.strip_prefix(b"#") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (line, body) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line.get(colon + 1..).unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
        data = body;
    }
    (headers, data)
}

/// The headers that a modern body needs; none for any other body.
fn headers_for(body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return headers };
    let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if let Some(version) = version.as_str() {
        let name = message["params"]["uri"].as_str().filter(|_| message["method"] == "resources/read");
        let name = name.or_else(|| {
            let has_name = message["method"] == "tools/call" || message["method"] == "prompts/get";
            message["params"]["name"].as_str().filter(|_| has_name)
        });
        headers.insert("mcp-protocol-version", encode_header(version));
        headers.insert("mcp-method", encode_header(message["method"].as_str().unwrap_or_default()));
        if let Some(name) = name {
            headers.insert("mcp-name", encode_header(name));
        }
    }
    headers
}

/// A text as a header value, encoded where a header cannot hold it.
fn encode_header(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?");
    let encoded = || format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text));
    HeaderValue::from_str(&if is_plain { text.to_owned() } else { encoded() }).unwrap()
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
