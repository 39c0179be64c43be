//! The argument `attrs`: attributes of an entity by name.

use indexmap::IndexMap;
use quad_core::{Error, Result};
use serde_json::{Map, Value};

/// The attributes; `None` removes one. A number is its text, and a list is its parts, separated by commas.
pub(super) fn parse_attributes(arguments: &Map<String, Value>) -> Result<IndexMap<String, Option<String>>> {
    let attributes = arguments.get("attrs").and_then(Value::as_object).into_iter().flatten();
    attributes
        .map(|(name, value)| match value {
            Value::Null => Ok((name.clone(), None)),
            _ => Ok((name.clone(), Some(attribute_text(name, value)?))),
        })
        .collect()
}

fn attribute_text(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            let parts: Result<Vec<String>> = values.iter().map(|value| attribute_text(name, value)).collect();
            Ok(parts?.join(","))
        }
        _ => Err(Error::bad_input(format!("attrs.{name} is neither text nor a list of texts"))
            .hint(format!("Send attrs.{name} as a string"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn attributes_become_text() {
        let parse = |attrs: Value| parse_attributes(json!({"attrs": attrs}).as_object().unwrap());
        let parsed =
            parse(json!({"tags": ["a", "b"], "version": 2, "assignee": null, "source": "SPEC-1"})).unwrap();
        let parsed: Vec<(&str, Option<&str>)> =
            parsed.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(
            parsed,
            [("tags", Some("a,b")), ("version", Some("2")), ("assignee", None), ("source", Some("SPEC-1"))]
        );
        for wrong in [json!({"tags": {"a": 1}}), json!({"tags": [["a"]]})] {
            let error = parse(wrong).unwrap_err();
            assert_eq!(error.hint_text(), Some("Send attrs.tags as a string"));
        }
    }
}
