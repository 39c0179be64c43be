//! The attributes of an entity in the arguments of a call: in `attrs` by name, or beside it.

use indexmap::IndexMap;
use quad_core::{Error, Result};
use serde_json::{Map, Value};

/// Attributes of the argument `attrs` that `plan_create` also accepts beside it, as `plan_update` publishes some of
/// them: those of all types of entities, without `id` and `name`.
pub(super) const ALL_NAMES: &[&str] = &[
    "status",
    "priority",
    "severity",
    "complexity",
    "assignee",
    "milestone",
    "source",
    "supersedes",
    "pr",
    "tags",
    "released-in",
    "version",
    "date",
    "target",
    "created",
    "modified",
];

/// The attributes, those of `attrs` first; `None` removes one. A value beside `attrs` replaces the one in it. A number is
/// its text, and a list is its parts, separated by commas. An empty value in `attrs` removes the attribute, as null does.
pub(super) fn parse_attributes(arguments: &Map<String, Value>) -> Result<IndexMap<String, Option<String>>> {
    let mut attributes: IndexMap<String, Option<String>> = IndexMap::new();
    for (name, value) in arguments.get("attrs").and_then(Value::as_object).into_iter().flatten() {
        let value = match value {
            Value::Null => None,
            _ => Some(attribute_text(&format!("attrs.{name}"), value)?).filter(|text| !text.is_empty()),
        };
        attributes.insert(name.clone(), value);
    }
    for name in ALL_NAMES {
        // Many clients send null for an argument that they leave out.
        if let Some(value) = arguments.get(*name).filter(|value| !value.is_null()) {
            attributes.insert((*name).to_owned(), Some(attribute_text(name, value)?));
        }
    }
    Ok(attributes)
}

fn attribute_text(path: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            let parts: Result<Vec<String>> = values.iter().map(|value| attribute_text(path, value)).collect();
            Ok(parts?.join(","))
        }
        _ => Err(Error::bad_input(format!("{path} is neither text nor a list of texts"))
            .hint(format!("Send {path} as a string"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::EntityType;
    use serde_json::json;

    fn parse(arguments: &Value) -> Result<IndexMap<String, Option<String>>> {
        parse_attributes(arguments.as_object().unwrap())
    }

    #[test]
    fn attributes_become_text() {
        let parsed = parse(&json!({
            "milestone": "v1", "status": null, "tags": ["a", 2],
            "attrs": {"tags": "b", "version": 2, "assignee": null, "source": ["SPEC-1", "SPEC-2"], "pr": ""},
        }));
        let parsed = parsed.unwrap();
        let parsed: Vec<(&str, Option<&str>)> =
            parsed.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(
            parsed,
            [
                ("tags", Some("a,2")),
                ("version", Some("2")),
                ("assignee", None),
                ("source", Some("SPEC-1,SPEC-2")),
                ("pr", None),
                ("milestone", Some("v1")),
            ]
        );
    }

    #[test]
    fn attributes_that_are_not_text_are_refused() {
        let hint = |arguments: Value| parse(&arguments).unwrap_err().hint_text().unwrap().to_owned();
        assert_eq!(hint(json!({"attrs": {"tags": {"a": 1}}})), "Send attrs.tags as a string");
        assert_eq!(hint(json!({"tags": [["a"]]})), "Send tags as a string");
    }

    #[test]
    fn all_names_are_those_of_the_catalogue() {
        let names = EntityType::ALL.into_iter().flat_map(EntityType::attribute_names);
        let names: BTreeSet<&str> = names.filter(|name| !["id", "name"].contains(name)).collect();
        assert_eq!(names, ALL_NAMES.iter().copied().collect());
    }
}
