//! The MCP client: requests in both protocol eras, and the classification of replies.

use std::io;

use serde_json::{Value, json};

use crate::http::{HttpClient, Request, Response};
use crate::node::Node;
use crate::plan::Era;

/// The protocol revision of each era.
const MODERN_REVISION: &str = "2026-07-28";
const LEGACY_REVISION: &str = "2025-11-25";

/// The `_meta` key of a read's receipt.
pub const RECEIPT_META_KEY: &str = "dev.quadrivium/receipt";

/// The target and credential of a request.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// The node.
    pub node: &'a Node,
    /// The token.
    pub token: &'a str,
    /// The protocol era.
    pub era: Era,
    /// The legacy session id, if there is one.
    pub session: Option<&'a str>,
}

/// The classification of a reply.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Success.
    Result(Value),
    /// A final error: the call had no effect.
    Rejected(Value),
    /// The credential was rejected.
    Unauthorized,
    /// An internal error: the call may have had an effect.
    ServerError(Value),
    /// No reply, or a partial one: the call may have had an effect.
    NoReply(String),
}

/// A reply with its text.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The classification.
    pub outcome: Outcome,
    /// The status, the body and the headers that depend on the data.
    pub text: String,
    /// The session id, if one was opened.
    pub session: Option<String>,
}

impl Client<'_> {
    /// Sends a request and waits for the reply. Each request has its own connection, so that none is ever sent twice.
    pub fn call(&self, method: &str, params: &Value) -> Reply {
        let request = self.rpc_request(method, params);
        parse_reply(HttpClient::new(&self.node.authority).send(&request))
    }

    /// Builds the HTTP request of a JSON-RPC request.
    pub fn rpc_request(&self, method: &str, params: &Value) -> Request {
        let mut params = params.clone();
        if let (Era::Modern, Some(params)) = (self.era, params.as_object_mut()) {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "quad-sim", "version": "1"},
            });
            params.insert("_meta".to_owned(), meta);
        }
        let mut request = self
            .base_request("POST", &self.node.path)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        if self.era == Era::Modern {
            request = request.header("Mcp-Method", method);
            let name = match method {
                "resources/read" => params["uri"].as_str(),
                "tools/call" => params["name"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                request = request.header("Mcp-Name", name);
            }
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        request.body(message.to_string())
    }

    /// Builds the request that opens the stream of a legacy session.
    pub fn stream_request(&self) -> Request {
        self.base_request("GET", &self.node.path).header("Accept", "text/event-stream")
    }

    /// Opens a legacy session.
    pub fn initialize(&self) -> Reply {
        let info = json!({"name": "quad-sim", "version": "1"});
        self.call(
            "initialize",
            &json!({"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": info}),
        )
    }

    /// Reads a URI over plain HTTP. Metadata is put in the same places as in an MCP result.
    pub fn read_http(&self, uri: &str) -> Reply {
        let path = format!("/v1/resources?uri={}", percent_encode(uri));
        let request = Request::new("GET", &path).header("Authorization", &format!("Bearer {}", self.token));
        let result = HttpClient::new(&self.node.authority).send(&request);
        let Ok(response) = &result else { return parse_reply(result) };
        if response.status != 200 {
            return parse_reply(result);
        }
        let receipt = json!({"event": response.header("quad-event")});
        let rpc_result =
            json!({"contents": [{"text": response.text()}], "_meta": {RECEIPT_META_KEY: receipt}});
        Reply { outcome: Outcome::Result(rpc_result), text: response.text(), session: None }
    }

    fn base_request(&self, method: &str, path: &str) -> Request {
        let version = match self.era {
            Era::Modern => MODERN_REVISION,
            Era::Legacy => LEGACY_REVISION,
        };
        let mut request = Request::new(method, path)
            .header("Authorization", &format!("Bearer {}", self.token))
            .header("MCP-Protocol-Version", version);
        if let Some(session) = self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }
}

/// The text of the only content of a read, parsed as JSON.
pub fn content_json(result: &Value) -> Option<Value> {
    serde_json::from_str(result["contents"][0]["text"].as_str()?).ok()
}

fn parse_reply(result: io::Result<Response>) -> Reply {
    let response = match result {
        Ok(response) => response,
        Err(error) => {
            return Reply {
                outcome: Outcome::NoReply(error.to_string()),
                text: String::new(),
                session: None,
            };
        }
    };
    let text = format!("{} {}", response.status, response.text());
    let session = response.header("mcp-session-id").map(str::to_owned);
    let outcome = match (response.status, serde_json::from_slice::<Value>(&response.body)) {
        (401, _) => Outcome::Unauthorized,
        (_, Ok(message)) => classify(message),
        // The process died while it sent the reply.
        (_, Err(error)) => Outcome::NoReply(format!("{error} in {text:?}")),
    };
    Reply { outcome, text, session }
}

fn classify(message: Value) -> Outcome {
    let error_outcome = |error: &Value, kind: &Value| {
        if kind == "internal" || kind == "unavailable" {
            Outcome::ServerError(error.clone())
        } else {
            Outcome::Rejected(error.clone())
        }
    };
    let result = &message["result"];
    if result["isError"] == true {
        let error = &result["structuredContent"]["error"];
        return error_outcome(error, &error["kind"]);
    }
    if result.is_object() {
        return Outcome::Result(result.clone());
    }
    // An MCP error, or the error envelope of plain HTTP.
    let error = if message["error"].is_object() { &message["error"] } else { &message };
    let envelope = if error["data"].is_object() { &error["data"] } else { error };
    error_outcome(envelope, &envelope["kind"])
}

/// Percent-encodes everything except letters, digits and some punctuation.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classify_maps_errors_to_outcomes() {
        let rejected = classify(json!({"error": {"code": -32602, "data": {"kind": "not_found"}}}));
        assert!(matches!(rejected, Outcome::Rejected(error) if error["kind"] == "not_found"));
        let failed = classify(
            json!({"result": {"isError": true, "structuredContent": {"error": {"kind": "internal"}}}}),
        );
        assert!(matches!(failed, Outcome::ServerError(_)));
        assert!(matches!(classify(json!({"result": {"isError": false}})), Outcome::Result(_)));
        assert!(matches!(classify(json!({"error": {"kind": "scope"}})), Outcome::Rejected(_)));
        assert_eq!(percent_encode("bkend://a?b=1"), "bkend%3A%2F%2Fa%3Fb%3D1");
    }
}
