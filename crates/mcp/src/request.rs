//! One request over HTTP, checked: its headers, its params and its `_meta`.
//!
//! Gateways route by the headers and do not read the body. A request whose headers and body disagree could pass the
//! gateway as one request and run here as another, so it is rejected.
//!
//! [`RpcRequest::parse`] is the only function that compares headers with a body. It knows no method's own parameters.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName};
use quad_auth::SessionError;
use quad_core::Principal;
use serde_json::value::RawValue;

use crate::envelope::raw_str;
use crate::params::Params;
use crate::{Endpoint, Era, Method, Revision, RpcError, initialize, revision};

/// The revision of the request.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The session of a legacy request.
static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The method of a modern request.
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The `name` or `uri` of a modern request, for the methods that have one.
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A request that passed every check of its headers, its params' form and its `_meta`.
pub(crate) struct RpcRequest<'a> {
    pub(crate) method: Method,
    pub(crate) revision: Revision,
    /// The id of the legacy session that the request names; it is valid and belongs to the caller.
    pub(crate) session: Option<String>,
    pub(crate) params: Params<'a>,
}

/// A request that failed a check.
pub(crate) struct RejectedRequest {
    /// The method, if it was known before the check failed. For the metrics.
    pub(crate) method: Option<Method>,
    pub(crate) rpc_error: RpcError,
}

impl From<RpcError> for RejectedRequest {
    fn from(rpc_error: RpcError) -> RejectedRequest {
        RejectedRequest { method: None, rpc_error }
    }
}

impl<'a> RpcRequest<'a> {
    /// Checks one request in the order that the protocol prescribes; the first failed check decides the error.
    ///
    /// A request is modern if its version header or its `_meta` names a modern revision. Such a request is complete in
    /// itself. Any other request is a legacy one: `initialize`, or a request that may name a session.
    pub(crate) async fn parse(
        endpoint: &Endpoint,
        caller: &Principal,
        headers: &HeaderMap,
        name: &str,
        params: Option<&'a RawValue>,
    ) -> Result<RpcRequest<'a>, RejectedRequest> {
        let modern_header = names_modern_revision(headers);
        let params = Params::read(params).map_err(|error| {
            if modern_header {
                RpcError::incomplete_meta(error.message())
            } else {
                RpcError::from_error(error, Era::Legacy)
            }
        })?;
        if modern_header || params.has_protocol_version() {
            let meta =
                params.meta.as_ref().ok_or_else(|| RpcError::incomplete_meta("params._meta is missing"))?;
            let version = meta.required_version()?;
            check_header(headers, &PROTOCOL_VERSION, &version, "the protocol version in params._meta")?;
            let revision =
                Revision::parse_modern(&version).ok_or_else(|| RpcError::unsupported_version(&version))?;
            check_header(headers, &METHOD, name, "method")?;
            let method = Method::parse(name, Era::Modern)
                .ok_or_else(|| RpcError::unknown_method(name, Era::Modern))?;
            check_name_header(headers, method, &params)
                .map_err(|rpc_error| RejectedRequest { method: Some(method), rpc_error })?;
            return Ok(RpcRequest { method, revision, session: None, params });
        }
        if name == Method::Initialize.as_str() {
            let method = Method::Initialize;
            check_proposed_version(headers, &params)
                .map_err(|rpc_error| RejectedRequest { method: Some(method), rpc_error })?;
            let revision = initialize::negotiate(&params);
            return Ok(RpcRequest { method, revision, session: None, params });
        }
        let (revision, session) = legacy_revision_and_session(endpoint, caller, headers).await?;
        let method =
            Method::parse(name, Era::Legacy).ok_or_else(|| RpcError::unknown_method(name, Era::Legacy))?;
        Ok(RpcRequest { method, revision, session, params })
    }
}

/// Whether the version header names a modern revision, served or not.
pub(crate) fn names_modern_revision(headers: &HeaderMap) -> bool {
    let version = headers.get(&PROTOCOL_VERSION).and_then(|value| value.to_str().ok());
    version.is_some_and(revision::is_modern_version)
}

/// The revision of a legacy request and its session, if it names one. The header's revision wins over the session's.
pub(crate) async fn legacy_revision_and_session(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<(Revision, Option<String>), RpcError> {
    let header_revision = match single_value(headers, &PROTOCOL_VERSION)? {
        None => None,
        Some(version) => {
            Some(Revision::parse(&version).ok_or_else(|| RpcError::unsupported_version(&version))?)
        }
    };
    let session = session_from_headers(endpoint, caller, headers).await?;
    let session_revision = session.as_ref().and_then(|(_, revision)| Revision::parse(revision));
    let revision = header_revision.or(session_revision).unwrap_or(Revision::DEFAULT_LEGACY);
    Ok((revision, session.map(|(id, _)| id)))
}

/// The id and the revision of the session that a request names; `None` when it names none. The session is valid and
/// belongs to the caller.
pub(crate) async fn session_from_headers(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<Option<(String, String)>, RpcError> {
    let Some(id) = single_value(headers, &SESSION_ID)? else { return Ok(None) };
    let Some(sessions) = &endpoint.server.sessions else { return Err(RpcError::session_unknown()) };
    match sessions.check(caller, &id).await {
        Ok(revision) => Ok(Some((id.into_owned(), revision))),
        Err(SessionError::NotFound) => Err(RpcError::session_unknown()),
        Err(SessionError::Failed(error)) => Err(RpcError::from_error(error, Era::Legacy)),
    }
}

/// The header of an `initialize`, if it has one, must repeat the proposed revision.
fn check_proposed_version(headers: &HeaderMap, params: &Params<'_>) -> Result<(), RpcError> {
    let proposed = params.protocol_version.and_then(raw_str);
    match (single_value(headers, &PROTOCOL_VERSION)?, proposed) {
        (Some(header), Some(proposed)) if header != proposed => Err(RpcError::invalid_request(
            "The header mcp-protocol-version differs from params.protocolVersion",
        )),
        _ => Ok(()),
    }
}

/// Checks the name header, if the method has a name. A body without the name passes: the method rejects it and says what
/// is missing.
fn check_name_header(headers: &HeaderMap, method: Method, params: &Params<'_>) -> Result<(), RpcError> {
    let Some(parameter) = method.header_param_name() else { return Ok(()) };
    match params.header_param(parameter).and_then(raw_str) {
        Some(value) => check_header(headers, &NAME, &value, format_args!("params.{parameter}")),
        None => Ok(()),
    }
}

/// Checks that a header occurs once and repeats `value`; `source` says where the body has it.
fn check_header(
    headers: &HeaderMap,
    header: &HeaderName,
    value: &str,
    source: impl fmt::Display,
) -> Result<(), RpcError> {
    match single_value(headers, header)? {
        None => {
            Err(RpcError::header_mismatch(format!("The header {header} is missing; it must repeat {source}")))
        }
        Some(header_value) if header_value == value => Ok(()),
        Some(_) => Err(RpcError::header_mismatch(format!("The header {header} differs from {source}"))),
    }
}

/// The decoded value of a header that may occur at most once.
fn single_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<Cow<'a, str>>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RpcError::header_mismatch(format!("The header {name} occurs more than once")));
    }
    let text = first.to_str().ok().and_then(decode);
    text.map(Some).ok_or_else(|| RpcError::header_mismatch(format!("The header {name} is not valid text")))
}

/// The text of a header: as written, or decoded from `=?base64?…?=`.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = BASE64.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    #[test]
    fn decodes_only_the_base64_sentinel() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(decode(text).as_deref(), expect, "{text}");
        check("plain", Some("plain"));
        check("=?base64?eDovL8Op?=", Some("x://é"));
        check("=?base64??=", Some(""));
        check("=?base64?!?=", None);
        check("=?base64?/w==?=", None);
        check("=?BASE64?eA==?=", Some("=?BASE64?eA==?="));
        check("=?base64?eA==", Some("=?base64?eA=="));
    }

    #[test]
    fn header_must_occur_once_and_match() {
        let check = |pairs: &[(&'static str, &str)], method: &str, matches: bool| {
            let result = check_header(&headers(pairs), &METHOD, method, "method")
                .map_err(|rpc_error| (rpc_error.code, rpc_error.status));
            assert_eq!(result, if matches { Ok(()) } else { Err((-32020, 400)) }, "{pairs:?}");
        };
        check(&[("mcp-method", "ping")], "ping", true);
        check(&[("mcp-method", "=?base64?cGluZw==?=")], "ping", true);
        check(&[("mcp-method", "Ping")], "ping", false);
        check(&[], "ping", false);
        check(&[("mcp-method", "ping"), ("mcp-method", "ping")], "ping", false);
        check(&[("mcp-method", "pïng")], "pïng", false);
    }

    #[test]
    fn name_header_is_compared_with_decoded_body_value() {
        let body = RawValue::from_string(r#"{"uri":"x:\/\/a","name":"b"}"#.to_owned()).unwrap();
        let params = Params::read(Some(&body)).unwrap();
        let is_accepted =
            |name: &str, method| check_name_header(&headers(&[("mcp-name", name)]), method, &params).is_ok();
        assert!(is_accepted("x://a", Method::ResourcesRead));
        assert!(!is_accepted("x://A", Method::ResourcesRead));
        assert!(is_accepted("b", Method::ToolsCall));
        assert!(is_accepted("anything", Method::ResourcesList));
        assert!(check_name_header(&headers(&[]), Method::ResourcesRead, &params).is_err());
        assert!(check_name_header(&headers(&[]), Method::ResourcesRead, &Params::default()).is_ok());
    }
}
