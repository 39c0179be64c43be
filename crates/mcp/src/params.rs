//! The parameters of every method: one object, read once into slots that stay raw until a method wants them.

use std::borrow::Cow;

use quad_core::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::envelope::raw_str;
use crate::meta::Meta;

/// What any method may be given. Unknown keys are ignored, as the protocol asks; a doubled one is refused.
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
    /// Reads the parameters of a message.
    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Params<'a>> {
        let Some(raw) = raw else { return Ok(Params::default()) };
        if !raw.get().starts_with('{') {
            return Err(Error::bad_input("params must be an object"));
        }
        serde_json::from_str(raw.get()).map_err(|error| Error::bad_input(format!("params: {error}")))
    }

    /// Whether the request names a revision in `_meta`, which makes it a modern one.
    pub(crate) fn has_protocol_version(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.protocol_version.is_some())
    }

    /// What progress messages must repeat, if any are wanted.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.meta.as_ref().and_then(Meta::progress_token)
    }

    /// The parameter of that name, of the two that headers repeat.
    pub(crate) fn header_param(&self, parameter: &str) -> Option<&'a RawValue> {
        if parameter == "uri" { self.uri } else { self.name }
    }
}

/// A string that must be there.
pub(crate) fn required_str<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Cow<'a, str>> {
    optional_str(raw, name)?
        .ok_or_else(|| Error::bad_input(format!("params.{name} is missing")).with_detail("field", name))
}

/// A string that may be there.
pub(crate) fn optional_str<'a>(raw: Option<&'a RawValue>, name: &str) -> Result<Option<Cow<'a, str>>> {
    let Some(raw) = raw else { return Ok(None) };
    match raw_str(raw) {
        Some(text) => Ok(Some(text)),
        None => Err(Error::bad_input(format!("params.{name} must be a string")).with_detail("field", name)),
    }
}

/// An object that may be there; absent is empty.
pub(crate) fn object(raw: Option<&RawValue>, name: &str) -> Result<Map<String, Value>> {
    let Some(raw) = raw else { return Ok(Map::new()) };
    serde_json::from_str(raw.get()).map_err(|error| {
        let message = if raw.get().starts_with('{') {
            format!("params.{name}: {error}")
        } else {
            format!("params.{name} must be an object")
        };
        Error::bad_input(message).with_detail("field", name)
    })
}

/// Refuses a cursor: for lists that always fit one page and therefore never gave one out.
pub(crate) fn reject_cursor(raw: Option<&RawValue>) -> Result<()> {
    match optional_str(raw, "cursor")? {
        None => Ok(()),
        Some(_) => Err(Error::bad_input("The cursor is not one that this list gave out")
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
        assert_eq!(reject_cursor(Some(&raw("\"x\""))).unwrap_err().code(), "INVALID_CURSOR");
    }
}
