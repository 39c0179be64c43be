//! JSON-RPC messages: parsed once; the id and the params stay as written.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{RpcError, limits};

/// The method in the audit event of a message whose method could not be read.
pub const UNPARSED_METHOD: &str = "unread";

/// One message of a client.
#[derive(Debug)]
pub enum Message<'a> {
    /// Expects a response.
    Request {
        /// A string or an integer, as written.
        id: &'a RawValue,
        /// The method.
        method: Cow<'a, str>,
        /// The params, as written.
        params: Option<&'a RawValue>,
    },
    /// Expects no response.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The params, as written.
        params: Option<&'a RawValue>,
    },
    /// A response. This server sends no requests, so it is accepted and ignored.
    Response,
}

/// The content of a body or a line.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    One(Message<'a>),
    /// An array of messages, not yet parsed.
    Batch(Vec<&'a RawValue>),
}

/// A message that is not valid JSON-RPC.
#[derive(Debug)]
pub struct InvalidMessage {
    /// The error to answer with.
    pub rpc_error: RpcError,
    /// The id, if it could be read.
    pub id: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default, deserialize_with = "some_raw")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "some_raw")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "some_raw")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "some_raw")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "some_raw")]
    error: Option<&'a RawValue>,
}

/// Reads `null` as a value. By default serde reads it as an absent field, and `"id": null` must be an error.
fn some_raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses a body or a line.
pub fn parse_incoming(bytes: &[u8]) -> Result<Incoming<'_>, InvalidMessage> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| InvalidMessage { rpc_error: RpcError::not_json(), id: None })?;
    if !text.trim_start().starts_with('[') {
        return parse_message(text).map(Incoming::One);
    }
    let reject = |rpc_error| Err(InvalidMessage { rpc_error, id: None });
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Err(_) => reject(RpcError::not_json()),
        Ok(messages) if messages.is_empty() => {
            reject(RpcError::invalid_request("A batch must hold at least one message"))
        }
        Ok(messages) if messages.len() > limits::BATCH_MESSAGES => reject(RpcError::invalid_request(
            format!("A batch may hold at most {} messages", limits::BATCH_MESSAGES),
        )),
        Ok(messages) => Ok(Incoming::Batch(messages)),
    }
}

/// Parses one message.
pub fn parse_message(text: &str) -> Result<Message<'_>, InvalidMessage> {
    let fields: Fields<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return Err(explain_invalid(text, &error)),
    };
    let id = fields.id.filter(|id| is_id(id));
    let reject = |message: &str| {
        let id = id.map(ToOwned::to_owned);
        Err(InvalidMessage { rpc_error: RpcError::invalid_request(message), id })
    };
    if fields.jsonrpc.and_then(raw_str).as_deref() != Some("2.0") {
        return reject("jsonrpc must be \"2.0\"");
    }
    if fields.id.is_some() && id.is_none() {
        return reject("id must be a string or an integer");
    }
    let Some(method) = fields.method else {
        if fields.result.is_some() || fields.error.is_some() {
            return Ok(Message::Response);
        }
        return reject("method is missing");
    };
    let Some(method) = raw_str(method) else { return reject("method must be a string") };
    Ok(match id {
        Some(id) => Message::Request { id, method, params: fields.params },
        None => Message::Notification { method, params: fields.params },
    })
}

/// The string of a raw value; `None` if it is not a string. Copies only if there are escapes.
pub(crate) fn raw_str(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        // The `RawValue` scanner has already rejected control characters, so a string without `\` is its own text.
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw.get()).ok().map(Cow::Owned)
}

/// Whether a raw value is a valid id: a string, or an integer that every JSON reader accepts.
pub(crate) fn is_id(raw: &RawValue) -> bool {
    let text = raw.get();
    match text.as_bytes().first() {
        // The `RawValue` scanner does not check escapes.
        Some(b'"') => raw_str(raw).is_some(),
        Some(b'-' | b'0'..=b'9') => text.len() <= limits::ID_DIGITS && !text.contains(['.', 'e', 'E']),
        _ => false,
    }
}

/// Parses a message again, completely, to find why it is invalid and which id it has.
fn explain_invalid(text: &str, error: &serde_json::Error) -> InvalidMessage {
    match serde_json::from_str::<Value>(text) {
        Err(_) => InvalidMessage { rpc_error: RpcError::not_json(), id: None },
        Ok(Value::Object(fields)) => {
            let id = fields.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
            let id = id.and_then(|id| serde_json::value::to_raw_value(id).ok());
            // The only possible error is a repeated field, because every field is read raw.
            InvalidMessage {
                rpc_error: RpcError::invalid_request(format!("The message is malformed: {error}")),
                id,
            }
        }
        Ok(_) => {
            InvalidMessage { rpc_error: RpcError::invalid_request("A message must be an object"), id: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(text: &str) -> (i32, Option<String>) {
        let invalid = parse_incoming(text.as_bytes()).unwrap_err();
        (invalid.rpc_error.code, invalid.id.map(|id| id.get().to_owned()))
    }

    #[test]
    fn rejects_invalid_messages() {
        let check = |text: &str, code: i32, id: Option<&str>| {
            assert_eq!(parse_error(text), (code, id.map(str::to_owned)), "{text}");
        };
        check("{", -32700, None);
        check("", -32700, None);
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}}", -32700, None);
        check("5", -32600, None);
        check("null", -32600, None);
        check("[]", -32600, None);
        check("[1", -32700, None);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, -32600, None);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, -32600, None);
        check(r#"{"jsonrpc":"2.0","id":1e3,"method":"a"}"#, -32600, None);
        check(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"a"}}"#, "9".repeat(400)), -32600, None);
        check(r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, -32600, None);
        check(r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, -32600, None);
        check(r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, -32600, Some("1"));
        check(r#"{"id":1,"method":"a"}"#, -32600, Some("1"));
        check(r#"{"jsonrpc":"2.0","id":"x","method":5}"#, -32600, Some("\"x\""));
        check(r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1"));
        check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, -32600, Some("2"));
        assert_eq!(parse_incoming(b"\"\xff\"").unwrap_err().rpc_error.code, -32700);
    }

    #[test]
    fn keeps_id_and_parameters_as_written() {
        let text = r#" {"method":"resources\/read","params":{"uri": "x"},"id":"\u0041","jsonrpc":"2.0"} "#;
        let Ok(Incoming::One(Message::Request { id, method, params })) = parse_incoming(text.as_bytes())
        else {
            panic!("not a request")
        };
        assert_eq!(id.get(), r#""\u0041""#);
        assert_eq!(method, "resources/read");
        assert_eq!(params.unwrap().get(), r#"{"uri": "x"}"#);
    }

    #[test]
    fn raw_str_matches_serde_json() {
        for json in [
            r#""""#,
            r#""plain""#,
            r#""é😀""#,
            r#""a\"b""#,
            r#""\\""#,
            r#""\u0041""#,
            r#""\ud800""#,
            r#""\x""#,
            "\"a\u{1}b\"",
            "\"a\nb\"",
            "5",
            "null",
            r#"["a"]"#,
            r#"{"a":"b"}"#,
        ] {
            // The full parser finds every error; a raw value has passed only a part of its checks.
            let raw: Result<&RawValue, _> = serde_json::from_str(json);
            let text = raw.ok().and_then(raw_str).map(Cow::into_owned);
            assert_eq!(text, serde_json::from_str::<String>(json).ok(), "{json}");
        }
    }

    #[test]
    fn distinguishes_notifications_responses_and_batches() {
        let parse_single = |text: &'static str| match parse_incoming(text.as_bytes()) {
            Ok(Incoming::One(message)) => message,
            other => panic!("{other:?}"),
        };
        assert!(matches!(parse_single(r#"{"jsonrpc":"2.0","method":"a"}"#), Message::Notification { .. }));
        assert!(matches!(parse_single(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Message::Response));
        let Ok(Incoming::Batch(messages)) = parse_incoming(br#" [{"a":1}, 2]"#) else {
            panic!("not a batch")
        };
        assert_eq!(messages.len(), 2);
        let many = format!("[{}0]", "0,".repeat(limits::BATCH_MESSAGES));
        assert_eq!(parse_error(&many).0, -32600);
    }
}
