//! Whether the headers of a modern request repeat what its body says.
//!
//! Gateways route by these headers without reading the body; a request whose two halves disagree could pass the one and
//! reach the other, so it is refused.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::envelope::raw_str;
use crate::params::Params;
use crate::{Method, RpcError, revision};

/// The revision that a request speaks.
pub(crate) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The session that a legacy request belongs to.
pub(crate) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Whether a version header names the modern form.
pub(crate) fn is_modern_version(header: &HeaderValue) -> bool {
    header.to_str().is_ok_and(revision::is_modern_version)
}

/// The decoded value of a header that must stand at most once.
pub(crate) fn single_value<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<Cow<'a, str>>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RpcError::header_mismatch(format!("The header {name} stands more than once")));
    }
    let text = first.to_str().ok().and_then(decode);
    text.map(Some).ok_or_else(|| RpcError::header_mismatch(format!("The header {name} cannot be read")))
}

/// Checks the version header against the version in `_meta`.
pub(crate) fn check_version_header(headers: &HeaderMap, version: &str) -> Result<(), RpcError> {
    check_header(headers, &PROTOCOL_VERSION, version, format_args!("the protocol version in params._meta"))
}

/// Checks the method's header, and the name's where the method has one.
pub(crate) fn check_method_header(headers: &HeaderMap, method: &str) -> Result<(), RpcError> {
    check_header(headers, &METHOD, method, format_args!("method"))
}

/// Checks the name's header, where the method has a name. A body without one is refused later, for that reason.
pub(crate) fn check_name_header(
    headers: &HeaderMap,
    method: Method,
    params: &Params<'_>,
) -> Result<(), RpcError> {
    let Some(parameter) = method.header_param_name() else { return Ok(()) };
    match params.header_param(parameter).and_then(raw_str) {
        Some(value) => check_header(headers, &NAME, &value, format_args!("params.{parameter}")),
        None => Ok(()),
    }
}

fn check_header(
    headers: &HeaderMap,
    header: &HeaderName,
    value: &str,
    source: fmt::Arguments<'_>,
) -> Result<(), RpcError> {
    match single_value(headers, header)? {
        None => {
            Err(RpcError::header_mismatch(format!("The header {header} is missing; it must repeat {source}")))
        }
        Some(header_value) if header_value == value => Ok(()),
        Some(_) => Err(RpcError::header_mismatch(format!("The header {header} differs from {source}"))),
    }
}

/// A header's text: as it stands, or out of `=?base64?…?=`.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = BASE64.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
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
    fn method_header_must_occur_once_and_match() {
        let check = |pairs: &[(&'static str, &str)], method: &str, matches: bool| {
            let result = check_method_header(&headers(pairs), method)
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
        let body =
            serde_json::value::RawValue::from_string(r#"{"uri":"x:\/\/a","name":"b"}"#.to_owned()).unwrap();
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
