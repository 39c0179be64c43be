//! Whether the headers of a modern request repeat what its body says.
//!
//! Gateways route by these headers without reading the body; a request whose two halves disagree could pass the one and
//! reach the other, so it is refused.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::envelope::text_of;
use crate::params::Params;
use crate::{Fault, Method, revision};

/// The revision that a request speaks.
pub(crate) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The session that a legacy request belongs to.
pub(crate) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Whether a version header names the modern form.
pub(crate) fn names_modern(header: &HeaderValue) -> bool {
    header.to_str().is_ok_and(revision::names_modern)
}

/// The decoded value of a header that must stand at most once.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<Cow<'a, str>>, Fault> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Fault::header_mismatch(format!("The header {name} stands more than once")));
    }
    let text = first.to_str().ok().and_then(decode);
    text.map(Some).ok_or_else(|| Fault::header_mismatch(format!("The header {name} cannot be read")))
}

/// Checks the version header against the version in `_meta`.
pub(crate) fn agree_on_version(headers: &HeaderMap, version: &str) -> Result<(), Fault> {
    agree(headers, &PROTOCOL_VERSION, version, format_args!("the protocol version in params._meta"))
}

/// Checks the method's header, and the name's where the method has one.
pub(crate) fn agree_on_method(headers: &HeaderMap, method: &str) -> Result<(), Fault> {
    agree(headers, &METHOD, method, format_args!("method"))
}

/// Checks the name's header, where the method has a name. A body without one is refused later, for that reason.
pub(crate) fn agree_on_name(headers: &HeaderMap, method: Method, params: &Params<'_>) -> Result<(), Fault> {
    let Some(parameter) = method.named_parameter() else { return Ok(()) };
    match params.named(parameter).and_then(text_of) {
        Some(value) => agree(headers, &NAME, &value, format_args!("params.{parameter}")),
        None => Ok(()),
    }
}

fn agree(
    headers: &HeaderMap,
    header: &HeaderName,
    value: &str,
    place: fmt::Arguments<'_>,
) -> Result<(), Fault> {
    match single(headers, header)? {
        None => {
            Err(Fault::header_mismatch(format!("The header {header} is missing; it must repeat {place}")))
        }
        Some(sent) if sent == value => Ok(()),
        Some(_) => Err(Fault::header_mismatch(format!("The header {header} differs from {place}"))),
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
    fn decodes_the_sentinel_and_nothing_else() {
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
    fn a_header_must_stand_once_and_agree() {
        let check = |pairs: &[(&'static str, &str)], method: &str, agrees: bool| {
            let verdict =
                agree_on_method(&headers(pairs), method).map_err(|fault| (fault.code, fault.status));
            assert_eq!(verdict, if agrees { Ok(()) } else { Err((-32020, 400)) }, "{pairs:?}");
        };
        check(&[("mcp-method", "ping")], "ping", true);
        check(&[("mcp-method", "=?base64?cGluZw==?=")], "ping", true);
        check(&[("mcp-method", "Ping")], "ping", false);
        check(&[], "ping", false);
        check(&[("mcp-method", "ping"), ("mcp-method", "ping")], "ping", false);
        check(&[("mcp-method", "pïng")], "pïng", false);
    }

    #[test]
    fn a_name_is_compared_with_the_string_in_the_body() {
        let body =
            serde_json::value::RawValue::from_string(r#"{"uri":"x:\/\/a","name":"b"}"#.to_owned()).unwrap();
        let params = Params::read(Some(&body)).unwrap();
        let verdict =
            |name: &str, method| agree_on_name(&headers(&[("mcp-name", name)]), method, &params).is_ok();
        assert!(verdict("x://a", Method::ResourcesRead));
        assert!(!verdict("x://A", Method::ResourcesRead));
        assert!(verdict("b", Method::ToolsCall));
        assert!(verdict("anything", Method::ResourcesList));
        assert!(agree_on_name(&headers(&[]), Method::ResourcesRead, &params).is_err());
        assert!(agree_on_name(&headers(&[]), Method::ResourcesRead, &Params::default()).is_ok());
    }
}
