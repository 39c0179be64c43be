//! Messages, at both doors: the body of a POST and the line of a pipe.
//!
//! Lines that begin with `#` are headers of the POST, `#name:value`. Without any, it gets those that a modern request must
//! have, so that the two doors can be held against each other.

use std::cell::OnceCell;

use base64::Engine as _;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use quad_wire::envelope::{self, Incoming, Message};
use quad_wire::pipe::Pipe;
use quad_wire::post::{self, PostBody};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::world::World;

/// Replies that wait for nobody: more than a batch can have.
const REPLIES: usize = 1_024;

/// Methods that open or alter a connection, so that each door answers them in its own way.
const OF_A_DOOR: [&str; 4] =
    ["initialize", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"];

/// The numbers that a refusal may have. Nothing fails in this world, so that of our own fault is none of them.
const NUMBERS: [i64; 8] = [-32700, -32600, -32601, -32602, -32020, -32021, -32022, -32002];

/// Any bytes as a message.
pub fn jsonrpc(data: &[u8]) {
    thread_local! {
        static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
    }
    RUNTIME.with(|runtime| {
        let runtime = runtime.get_or_init(|| Builder::new_current_thread().enable_time().build().unwrap());
        runtime.block_on(both_doors(data));
    });
}

async fn both_doors(data: &[u8]) {
    let (given, body) = headers(data);
    let headers = if given.is_empty() { matching(body) } else { given.clone() };
    let posted = by_post(&headers, body).await;
    let piped = by_pipe(body).await;
    if given.is_empty() && is_answered_alike(body) {
        let (posted, piped) = (text(&posted.unwrap_or_default()), text(&piped.concat()));
        assert_eq!(posted, piped, "the doors differ");
    }
}

/// The reply to a POST, unless there is none.
async fn by_post(headers: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    let world = World::get();
    let before = world.events();
    let reply = post::answer(&world.endpoint, &world.caller, headers, body).await;
    let written = world.events() - before;
    match reply.body {
        PostBody::Accepted => None,
        PostBody::Message { status, json, .. } => {
            assert!([200, 400, 404].contains(&status), "{status}");
            check(&json, body, Some(written));
            Some(json)
        }
        PostBody::Stream(mut messages) => {
            // What a stream begins with is there at once.
            let first = messages.next().now_or_never().flatten().expect("a silent stream");
            let first: Value = serde_json::from_slice(&first).expect("a stream of something else");
            assert_eq!(first["jsonrpc"], "2.0");
            None
        }
        PostBody::Reauthenticate => panic!("a credential that rests on nothing has changed"),
    }
}

/// The replies to a line.
async fn by_pipe(line: &[u8]) -> Vec<Vec<u8>> {
    let world = World::get();
    let (sender, mut replies) = mpsc::channel(REPLIES);
    let mut pipe = Pipe::new(world.endpoint.clone(), world.caller.clone(), sender);
    pipe.line(line).await;
    pipe.finish().await;
    let mut all = Vec::new();
    while let Ok(reply) = replies.try_recv() {
        check(&reply, line, None);
        all.push(reply);
    }
    all
}

/// A reply is a document of the right form, repeats the id as it was written, and has left its trace.
fn check(reply: &[u8], request: &[u8], written: Option<u64>) {
    let parsed: Value = serde_json::from_slice(reply).unwrap_or_else(|_| panic!("no JSON: {}", text(reply)));
    let replies = match &parsed {
        Value::Array(replies) => replies.as_slice(),
        one => std::slice::from_ref(one),
    };
    assert!(!replies.is_empty());
    let mut refused = 0;
    for reply in replies {
        assert_eq!(reply["jsonrpc"], "2.0", "{reply}");
        match (reply.get("result"), reply.get("error")) {
            (Some(result), None) => assert!(result.is_object(), "{reply}"),
            (None, Some(error)) => {
                refused += 1;
                let number = error["code"].as_i64().expect("a refusal without a number");
                assert!(NUMBERS.contains(&number), "{reply}");
                assert!(error["message"].is_string() && error["data"]["code"].is_string(), "{reply}");
                assert_eq!(error["message"], error["data"]["message"], "{reply}");
            }
            // A notification of a pipe.
            (None, None) => assert!(reply["method"].is_string(), "{reply}"),
            (Some(_), Some(_)) => panic!("both a result and an error: {reply}"),
        }
    }
    if let Some(written) = written {
        assert!(written >= refused, "a refusal was not written down: {}", text(reply));
        assert!(written <= replies.len() as u64, "written down twice: {}", text(reply));
    }
    if let Ok(Incoming::One(Message::Request { id, .. })) = envelope::read(request) {
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{},"#, id.get());
        assert!(parsed.get("method").is_some() || reply.starts_with(expected.as_bytes()), "{}", text(reply));
    }
}

/// Whether both doors must give the same reply: one request that says nothing twice, of a method that is no door's own.
fn is_answered_alike(body: &[u8]) -> bool {
    let Ok(Incoming::One(Message::Request { method, .. })) = envelope::read(body) else { return false };
    !OF_A_DOOR.contains(&method.as_ref()) && quad_gate::probe::object(body).is_ok()
}

/// The headers before the body.
fn headers(mut data: &[u8]) -> (HeaderMap, &[u8]) {
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

/// The headers that a modern body must be sent with; none for another body.
fn matching(body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return headers };
    let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if let Some(version) = version.as_str() {
        let named = message["params"]["uri"].as_str().filter(|_| message["method"] == "resources/read");
        let named = named.or_else(|| {
            let has_name = message["method"] == "tools/call" || message["method"] == "prompts/get";
            message["params"]["name"].as_str().filter(|_| has_name)
        });
        headers.insert("mcp-protocol-version", wrapped(version));
        headers.insert("mcp-method", wrapped(message["method"].as_str().unwrap_or_default()));
        if let Some(named) = named {
            headers.insert("mcp-name", wrapped(named));
        }
    }
    headers
}

/// A text as a header can hold it.
fn wrapped(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?");
    let encoded = || format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text));
    HeaderValue::from_str(&if is_plain { text.to_owned() } else { encoded() }).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
