//! What a modern request says about itself, in `params._meta`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::{is_id, raw_str};
use crate::{Revision, RpcError};

/// The keys of `_meta` that mean something to us. The client's name and version are unverified, so nothing reads them.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "dev.quadrivium/ifNoneMatch")]
    if_none_match: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// The version that a complete modern `_meta` names, as written.
    pub(crate) fn required_version(&self) -> Result<std::borrow::Cow<'a, str>, RpcError> {
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

    /// The modern revision behind a version.
    pub(crate) fn parse_modern_revision(version: &str) -> Result<Revision, RpcError> {
        Revision::parse(version)
            .filter(|revision| revision.is_modern())
            .ok_or_else(|| RpcError::unsupported_version(version))
    }

    /// Whether the client says that it can do this.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        let declared = self.client_capabilities.map(|raw| serde_json::from_str(raw.get()));
        matches!(declared, Some(Ok(serde_json::Value::Object(declared))) if declared.contains_key(capability))
    }

    /// The content hash, in quotes or without, of what the caller has already: it wants the contents only if they differ.
    pub(crate) fn if_none_match(&self) -> quad_core::Result<Option<String>> {
        let Some(raw) = self.if_none_match else { return Ok(None) };
        let text = raw_str(raw).ok_or_else(|| {
            quad_core::Error::bad_input("dev.quadrivium/ifNoneMatch in params._meta must be a string")
                .hint("Send the contentHash of an earlier receipt")
        })?;
        Ok(Some(text.trim_matches('"').to_owned()))
    }

    /// What progress messages must repeat. A token of another type is one that we cannot repeat.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.progress_token.filter(|token| is_id(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
