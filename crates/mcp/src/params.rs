//! `params` of any method, and its `_meta`: one object, read once. Every value stays raw JSON until a method reads it.

use std::borrow::Cow;

use quad_core::strict_json::{self, StrictJsonError};
use quad_core::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::RpcError;
use crate::envelope::{is_id, raw_str};

/// The params of any method. Unknown keys are ignored, as the protocol requires; a repeated key is an error.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<Meta<'a>>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    pub(crate) request_id: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Reads the params of a message; absent params are empty ones.
    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Params<'a>> {
        let Some(raw) = raw else { return Ok(Params::default()) };
        if !raw.get().starts_with('{') {
            return Err(Error::bad_input("params must be an object"));
        }
        serde_json::from_str(raw.get()).map_err(|error| Error::bad_input(format!("params: {error}")))
    }

    /// Whether `_meta` names a revision. Only modern requests do.
    pub(crate) fn has_protocol_version(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.protocol_version.is_some())
    }

    /// The token that progress messages must repeat; `None` if the client wants no progress.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.meta.as_ref().and_then(Meta::progress_token)
    }

    /// The parameter that the `Mcp-Name` header repeats: `uri` or `name`.
    pub(crate) fn header_param(&self, parameter: &str) -> Option<&'a RawValue> {
        if parameter == "uri" { self.uri } else { self.name }
    }
}

/// The known keys of `_meta`. The client's name and version are unverified, so they are not read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "dev.quadrivium/ifNoneMatch")]
    if_none_match: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// The version, as written. An error unless `_meta` has both keys that every modern request carries.
    pub(crate) fn required_version(&self) -> Result<Cow<'a, str>, RpcError> {
        let Some(version) = self.protocol_version else {
            return Err(RpcError::incomplete_meta("io.modelcontextprotocol/protocolVersion is missing"));
        };
        let version = raw_str(version).ok_or_else(|| {
            RpcError::incomplete_meta("io.modelcontextprotocol/protocolVersion must be a string")
        })?;
        match self.client_capabilities {
            None => Err(RpcError::incomplete_meta("io.modelcontextprotocol/clientCapabilities is missing")),
            Some(raw) if !raw.get().starts_with('{') => {
                Err(RpcError::incomplete_meta("io.modelcontextprotocol/clientCapabilities must be an object"))
            }
            Some(_) => Ok(version),
        }
    }

    /// Whether the client declares this capability.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        let declared = self.client_capabilities.map(|raw| serde_json::from_str(raw.get()));
        matches!(declared, Some(Ok(Value::Object(declared))) if declared.contains_key(capability))
    }

    /// The content hash of the copy that the caller has, without quotes. The contents are sent only if theirs differs.
    pub(crate) fn if_none_match(&self) -> Result<Option<String>> {
        let Some(raw) = self.if_none_match else { return Ok(None) };
        let text = raw_str(raw).ok_or_else(|| {
            Error::bad_input("dev.quadrivium/ifNoneMatch in params._meta must be a string")
                .hint("Send the contentHash of an earlier receipt")
        })?;
        Ok(Some(text.trim_matches('"').to_owned()))
    }

    /// The progress token. A token that is neither string nor integer is ignored: the protocol allows no other.
    fn progress_token(&self) -> Option<&'a RawValue> {
        self.progress_token.filter(|token| is_id(token))
    }
}

/// A required string.
pub(crate) fn required_str<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Cow<'a, str>> {
    optional_str(raw, name)?
        .ok_or_else(|| Error::bad_input(format!("params.{name} is missing")).with_detail("field", name))
}

/// An optional string.
pub(crate) fn optional_str<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Option<Cow<'a, str>>> {
    let Some(raw) = raw else { return Ok(None) };
    match raw_str(raw) {
        Some(text) => Ok(Some(text)),
        None => Err(Error::bad_input(format!("params.{name} must be a string")).with_detail("field", name)),
    }
}

/// An optional object; an absent one is empty. A name that occurs twice in one object is an error: which of the two
/// values is meant is not known.
pub(crate) fn object(raw: Option<&RawValue>, name: &str) -> Result<Map<String, Value>> {
    let Some(raw) = raw else { return Ok(Map::new()) };
    strict_json::parse_object(raw.get().as_bytes()).map_err(|error| {
        let (message, hint) = match error {
            StrictJsonError::NotAnObject => (
                format!("params.{name} must be an object"),
                format!("Send params.{name} as an object, such as {{}}"),
            ),
            StrictJsonError::Duplicate(duplicate) => {
                (format!("params.{name} contains {duplicate} twice"), "Send each name once".to_owned())
            }
            StrictJsonError::Syntax(text) => {
                (format!("params.{name}: {text}"), "Send valid JSON, nested less deeply".to_owned())
            }
        };
        Error::bad_input(message).hint(hint).with_detail("field", name)
    })
}

/// Rejects a cursor. For lists that always fit one page, so no cursor of theirs exists.
pub(crate) fn reject_cursor(raw: Option<&RawValue>) -> Result<()> {
    match optional_str(raw, "cursor")? {
        None => Ok(()),
        Some(_) => Err(Error::bad_input("The cursor does not belong to this list")
            .hint("Start again without a cursor")
            .with_code("INVALID_CURSOR")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn read_accepts_absent_params_and_rejects_arrays() {
        assert!(Params::read(None).unwrap().uri.is_none());
        assert!(Params::read(Some(&raw("[1]"))).is_err());
        assert!(Params::read(Some(&raw(r#"{"uri":"a","uri":"b"}"#))).is_err());
        assert!(Params::read(Some(&raw(r#"{"_meta":5}"#))).is_err());
        assert!(Params::read(Some(&raw(r#"{"unknown":[{"deep":1}],"uri":"a"}"#))).unwrap().uri.is_some());
    }

    #[test]
    fn param_errors_name_the_parameter() {
        let check = |json: &str, expect: &str| {
            let json = raw(json);
            let params = Params::read(Some(&json)).unwrap();
            assert_eq!(required_str(params.uri, "uri").unwrap_err().message(), expect);
        };
        check("{}", "params.uri is missing");
        check(r#"{"uri":null}"#, "params.uri is missing");
        check(r#"{"uri":5}"#, "params.uri must be a string");
        assert_eq!(
            object(Some(&raw("[]")), "arguments").unwrap_err().message(),
            "params.arguments must be an object"
        );
        assert_eq!(
            object(Some(&raw(r#"{"data":{"a":1,"a":2}}"#)), "arguments").unwrap_err().message(),
            "params.arguments contains a twice"
        );
        assert_eq!(reject_cursor(Some(&raw("\"x\""))).unwrap_err().code(), "INVALID_CURSOR");
    }

    #[test]
    fn version_requires_both_typed_keys() {
        let check = |json: &str, expect: Result<&str, i32>| {
            let meta: Meta<'_> = serde_json::from_str(json).unwrap();
            let result = meta.required_version().map_err(|rpc_error| rpc_error.code);
            assert_eq!(result.as_deref().map_err(|code| *code), expect, "{json}");
        };
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
        check(&format!("{{{version},{capabilities}}}"), Ok("2026-07-28"));
        check(&format!("{{{version}}}"), Err(-32602));
        check(&format!("{{{capabilities}}}"), Err(-32602));
        check(
            r#"{"io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            Err(-32602),
        );
        check(&format!(r#"{{{version},"io.modelcontextprotocol/clientCapabilities":[]}}"#), Err(-32602));
    }

    #[test]
    fn progress_token_must_be_string_or_integer() {
        let token = |json: &str| {
            let meta: Meta<'_> = serde_json::from_str(json).unwrap();
            meta.progress_token().map(|raw| raw.get().to_owned())
        };
        assert_eq!(token(r#"{"progressToken":"a"}"#).as_deref(), Some("\"a\""));
        assert_eq!(token(r#"{"progressToken":7}"#).as_deref(), Some("7"));
        assert_eq!(token(r#"{"progressToken":{}}"#), None);
    }
}
