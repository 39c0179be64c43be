//! Errors of the protocol: the shared [`Error`] with a JSON-RPC code and an HTTP status.
//!
//! Codes and statuses are decided in this file only.

use quad_core::text::truncate;
use quad_core::{Error, Kind, closest};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Era, Method, Revision, limits};

/// The message is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The message is JSON, but not a valid JSON-RPC message.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The params are invalid, or name something that does not exist.
pub const INVALID_PARAMS: i32 = -32602;
/// An internal error.
pub const INTERNAL_ERROR: i32 = -32603;
/// A header differs from the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// The client has not declared a capability that the call needs.
pub const MISSING_CAPABILITY: i32 = -32021;
/// The revision is not supported.
pub const UNSUPPORTED_VERSION: i32 = -32022;
/// The resource does not exist (legacy).
pub const LEGACY_NOT_FOUND: i32 = -32002;

/// The error of one request.
#[derive(Debug)]
pub struct RpcError {
    /// The JSON-RPC code.
    pub code: i32,
    /// The HTTP status; stdio ignores it.
    pub status: u16,
    /// The error; it becomes `message` and `data`.
    pub error: Error,
}

impl RpcError {
    /// The code and status of an error of the resolver.
    pub fn from_error(error: Error, era: Era) -> RpcError {
        let code = match error.kind() {
            Kind::NotFound if era == Era::Legacy => LEGACY_NOT_FOUND,
            Kind::Internal | Kind::Unavailable | Kind::Credential => INTERNAL_ERROR,
            _ => INVALID_PARAMS,
        };
        let status = if error.kind() == Kind::Scope { 403 } else { 200 };
        RpcError { code, status, error }
    }

    /// The message is not JSON.
    pub fn not_json() -> RpcError {
        let error = Error::new(Kind::BadInput, "PARSE_ERROR", "The message is not valid JSON")
            .hint("Send one JSON-RPC 2.0 message in UTF-8");
        RpcError { code: PARSE_ERROR, status: 400, error }
    }

    /// The message is JSON, but not a valid JSON-RPC message.
    pub fn invalid_request(message: impl Into<String>) -> RpcError {
        let error = Error::new(Kind::BadInput, "INVALID_REQUEST", message);
        RpcError { code: INVALID_REQUEST, status: 400, error }
    }

    /// The request lacks a key that every modern `_meta` has.
    pub(crate) fn incomplete_meta(message: impl Into<String>) -> RpcError {
        let error = Error::new(Kind::BadInput, "INVALID_META", message)
            .hint("Send io.modelcontextprotocol/protocolVersion and …/clientCapabilities in params._meta");
        RpcError { code: INVALID_PARAMS, status: 400, error }
    }

    /// A header is missing, repeated, unreadable or differs from the body.
    pub(crate) fn header_mismatch(message: impl Into<String>) -> RpcError {
        let error = Error::new(Kind::BadInput, "HEADER_MISMATCH", message)
            .hint("Send each header once, with the value that the body has");
        RpcError { code: HEADER_MISMATCH, status: 400, error }
    }

    /// The revision is not supported.
    pub(crate) fn unsupported_version(requested: &str) -> RpcError {
        // A legacy revision is supported, but not in `_meta`: there only modern ones are valid.
        let modern_only = Revision::parse(requested).is_some();
        let supported: Vec<Value> = Revision::ALL
            .into_iter()
            .filter(|revision| !modern_only || revision.is_modern())
            .map(|revision| revision.as_str().into())
            .collect();
        let requested = truncate(requested, limits::VERSION_CHARS_MAX);
        let error =
            Error::new(Kind::BadInput, "UNSUPPORTED_PROTOCOL_VERSION", "Unsupported protocol version")
                .hint("Use one of data.supported")
                .with_detail("supported", supported)
                .with_detail("requested", requested);
        RpcError { code: UNSUPPORTED_VERSION, status: 400, error }
    }

    /// The client has not declared a capability that the call needs.
    pub(crate) fn missing_capability(missing: &[&str]) -> RpcError {
        let required: serde_json::Map<String, Value> =
            missing.iter().map(|capability| ((*capability).to_owned(), serde_json::json!({}))).collect();
        let message = format!("The client lacks capabilities that the tool needs: {}", missing.join(", "));
        let error = Error::new(Kind::BadInput, "MISSING_CLIENT_CAPABILITY", message)
            .hint("Declare them in params._meta, io.modelcontextprotocol/clientCapabilities")
            .with_detail("requiredCapabilities", required);
        RpcError { code: MISSING_CAPABILITY, status: 400, error }
    }

    /// The method does not exist in this era.
    pub(crate) fn unknown_method(method: &str, era: Era) -> RpcError {
        let method_text = truncate(method, limits::METHOD_CHARS_MAX);
        let mut error = Error::new(Kind::BadInput, "METHOD_NOT_FOUND", "Method not found")
            .with_detail("method", method_text);
        let methods =
            Method::ALL.into_iter().filter(|method| method.is_supported_in(era)).map(Method::as_str);
        if Method::ALL.into_iter().any(|other| other.as_str() == method) {
            error = error.hint(match era {
                Era::Modern => {
                    "Remove the version from params._meta: the method belongs to revisions before 2026-07-28"
                }
                Era::Legacy => "Name version 2026-07-28 in params._meta: the method belongs to it",
            });
        } else if let Some(suggestion) = closest(method, methods) {
            error = error.hint(format!("Did you mean {suggestion}?"));
        }
        let status = if era == Era::Modern { 404 } else { 200 };
        RpcError { code: METHOD_NOT_FOUND, status, error }
    }

    /// The request needs a session but names none.
    pub fn session_missing() -> RpcError {
        let error = Error::new(
            Kind::BadInput,
            "SESSION_MISSING",
            "The request needs the Mcp-Session-Id of a session",
        )
        .hint("Send initialize first, then its Mcp-Session-Id with every request");
        RpcError { code: INVALID_REQUEST, status: 400, error }
    }

    /// The session is unknown, has ended or belongs to another caller.
    pub fn session_unknown() -> RpcError {
        let error = Error::new(Kind::NotFound, "SESSION_NOT_FOUND", "The session is unknown or has ended")
            .hint("Send initialize again");
        RpcError { code: INVALID_REQUEST, status: 404, error }
    }

    /// Whether the credential changed during the request, so that the caller must be authenticated again.
    pub fn needs_reauth(&self) -> bool {
        self.error.kind() == Kind::Credential
    }

    /// The missing scope, if that is the error.
    pub fn missing_scope(&self) -> Option<&str> {
        if self.error.kind() != Kind::Scope {
            return None;
        }
        self.error.detail("scope").and_then(Value::as_str)
    }

    /// The response; without an id if none could be read. The message carries the hint, since many clients show a
    /// model only the message.
    pub fn to_json(&self, id: Option<&RawValue>) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
        if let Some(id) = id {
            out.extend_from_slice(br#""id":"#);
            out.extend_from_slice(id.get().as_bytes());
            out.push(b',');
        }
        // Only HTTP can authenticate the caller again. Everywhere else the caller has to repeat the request.
        let retry_error = self.needs_reauth().then(|| {
            Error::new(Kind::Conflict, "CREDENTIAL_CHANGED", "The credential changed during the call")
                .hint("Send the request again")
        });
        let sent_error = retry_error.as_ref().unwrap_or(&self.error);
        let error = serde_json::json!({"code": self.code, "message": sent_error.message_with_hint(), "data": sent_error.envelope()});
        out.extend_from_slice(br#""error":"#);
        out.extend_from_slice(error.to_string().as_bytes());
        out.push(b'}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::ScopeRequirement;

    #[test]
    fn not_found_code_depends_on_era() {
        let check = |error: Error, era: Era, code: i32, status: u16| {
            let rpc_error = RpcError::from_error(error, era);
            assert_eq!((rpc_error.code, rpc_error.status), (code, status));
        };
        check(Error::not_found("x://y"), Era::Modern, -32602, 200);
        check(Error::not_found("x://y"), Era::Legacy, -32002, 200);
        check(Error::bad_input("no"), Era::Legacy, -32602, 200);
        check(Error::scope_missing(ScopeRequirement(&["a:read"])), Era::Modern, -32602, 403);
        check(Error::internal("fire"), Era::Modern, -32603, 200);
    }

    #[test]
    fn response_repeats_id_verbatim() {
        let id = RawValue::from_string("\"\\u0041\"".to_owned()).unwrap();
        let text = String::from_utf8(
            RpcError::from_error(Error::not_found("x://y"), Era::Modern).to_json(Some(&id)),
        )
        .unwrap();
        assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"\u0041","error":{"code":-32602,"#), "{text}");
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["error"]["data"]["uri"], "x://y");
        let credential_changed =
            RpcError::from_error(Error::new(Kind::Credential, "X", "x"), Era::Modern).to_json(None);
        assert!(String::from_utf8(credential_changed).unwrap().contains(r#""kind":"conflict""#));
        let without_id: Value = serde_json::from_slice(&RpcError::not_json().to_json(None)).unwrap();
        assert!(without_id.get("id").is_none());
    }

    #[test]
    fn legacy_version_in_meta_lists_only_modern_ones() {
        let supported =
            |requested| RpcError::unsupported_version(requested).error.detail("supported").cloned();
        assert_eq!(supported("2025-11-25"), Some(serde_json::json!(["2026-07-28"])));
        assert_eq!(supported("1900-01-01").unwrap().as_array().unwrap().len(), 5);
    }
}
