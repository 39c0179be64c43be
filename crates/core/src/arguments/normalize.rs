//! Arguments in the form that the published schema asks for, where what was sent has one meaning.

use serde_json::{Map, Number, Value};

use super::names;
use crate::Tool;

/// Renames and converts arguments in place. What cannot be converted stays as it is, for the check that follows.
pub(super) fn normalize(tool: &Tool, arguments: &mut Map<String, Value>) {
    rename(&tool.input_schema, tool.argument_aliases, true, arguments);
    convert_members(&tool.input_schema, arguments, tool.unchecked_arguments);
}

/// Gives each argument its published name. An argument whose published name is present too is left for the check.
fn rename(
    schema: &Value,
    aliases: &[(&'static str, &'static str)],
    with_synonyms: bool,
    arguments: &mut Map<String, Value>,
) {
    let Some(properties) = closed_properties(schema) else { return };
    if arguments.keys().all(|name| properties.contains_key(name)) {
        return;
    }
    let mut renamed = Map::with_capacity(arguments.len());
    let given = std::mem::take(arguments);
    let has =
        |name: &str, renamed: &Map<String, Value>| given.contains_key(name) || renamed.contains_key(name);
    for (name, value) in &given {
        let target = if properties.contains_key(name) {
            None
        } else {
            names::intended(name, properties, aliases, with_synonyms)
        };
        let target = target.filter(|target| !has(target, &renamed)).unwrap_or(name);
        renamed.insert(target.to_owned(), value.clone());
    }
    *arguments = renamed;
}

/// The properties of an object schema that admits no others.
pub(super) fn closed_properties(schema: &Value) -> Option<&Map<String, Value>> {
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    schema.get("properties").and_then(Value::as_object).filter(|_| is_closed)
}

/// Converts the members of an object. A `null` for an optional member that does not admit it is removed: many clients
/// send one for each argument that they leave out.
fn convert_members(schema: &Value, object: &mut Map<String, Value>, skipped: &[&str]) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    object.retain(|name, value| {
        let is_unwanted_null =
            value.is_null() && properties.get(name).is_some_and(|schema| !admits(schema, "null"));
        !is_unwanted_null || is_required(name) || skipped.contains(&name.as_str())
    });
    for (name, value) in object.iter_mut() {
        if let Some(schema) = properties.get(name).filter(|_| !skipped.contains(&name.as_str())) {
            convert(schema, value);
        }
    }
}

/// Converts a value to the type of its schema, if it has one meaning as that type.
fn convert(schema: &Value, value: &mut Value) {
    if let Some(converted) = converted(schema, value) {
        *value = converted;
    }
    match value {
        Value::Object(object) => {
            rename(schema, &[], false, object);
            convert_members(schema, object, &[]);
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.get("items") {
                items.iter_mut().for_each(|item| convert(item_schema, item));
            }
        }
        _ => {}
    }
}

/// The value in the type of its schema; `None` if it stays as it is.
fn converted(schema: &Value, value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if admits(schema, "string") => same_option(schema, text),
        Value::String(text) => from_text(schema, text),
        Value::Number(_) if admits(schema, "number") => None,
        Value::Number(number) if admits(schema, "integer") => whole(number),
        Value::Number(number) if admits(schema, "string") => Some(Value::String(number.to_string())),
        _ if admits(schema, "array")
            && !value.is_array()
            && !value.is_null()
            && !admits(schema, type_of(value)) =>
        {
            let fits = schema.get("items").is_none_or(|items| fits(items, value));
            fits.then(|| Value::Array(vec![value.clone()]))
        }
        _ => None,
    }
}

/// The value that a text has in the type of a schema that does not admit text.
fn from_text(schema: &Value, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    let parsed = || serde_json::from_str::<Value>(trimmed).ok();
    if admits(schema, "object")
        && let Some(object) = parsed().filter(Value::is_object)
    {
        return Some(object);
    }
    if admits(schema, "array") {
        if let Some(list) = parsed().filter(Value::is_array) {
            return Some(list);
        }
        let item = Value::String(text.to_owned());
        let item = schema.get("items").and_then(|items| converted(items, &item)).unwrap_or(item);
        let fits = schema.get("items").is_none_or(|items| fits(items, &item));
        return fits.then(|| Value::Array(vec![item]));
    }
    if admits(schema, "boolean") {
        match trimmed.to_ascii_lowercase().as_str() {
            "true" => return Some(true.into()),
            "false" => return Some(false.into()),
            _ => {}
        }
    }
    if admits(schema, "integer") || admits(schema, "number") {
        let number: Number = trimmed.parse().ok()?;
        if admits(schema, "number") {
            return Some(Value::Number(number));
        }
        return Some(whole(&number).unwrap_or(Value::Number(number)));
    }
    None
}

/// The option of an enumeration that a text means: equal but for case and separators, if exactly one is.
fn same_option(schema: &Value, text: &str) -> Option<Value> {
    let options = schema.get("enum")?.as_array()?;
    if options.iter().any(|option| option == text) {
        return None;
    }
    let folded = names::fold(text);
    let mut matches =
        options.iter().filter(|option| option.as_str().is_some_and(|option| names::fold(option) == folded));
    let found = matches.next()?;
    matches.next().is_none().then(|| found.clone())
}

/// A number like 5.0 as an integer.
fn whole(number: &Number) -> Option<Value> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    // Beyond 2^53 a float no longer says which integer was meant.
    let is_exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
    is_exact.then(|| Value::from(float as i64))
}

/// Whether a schema admits a type. A schema without a type admits every one.
fn admits(schema: &Value, wanted: &str) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::String(name)) => name == wanted || (name == "number" && wanted == "integer"),
        Some(names) => names.as_array().is_some_and(|names| names.iter().any(|name| name == wanted)),
    }
}

/// Whether a value, as it is, has a type that a schema admits.
fn fits(schema: &Value, value: &Value) -> bool {
    admits(schema, type_of(value))
}

/// The JSON Schema name of a value's type.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use crate::{ScopeRequirement, tool_schema};
    use serde_json::json;

    fn normalized(properties: Value, arguments: Value) -> Value {
        let schema = json!({"type": "object", "properties": properties, "additionalProperties": false, "required": ["needed"]});
        let tool = Tool::new("t", "T", "T.", schema, ScopeRequirement::NONE, ToolEffect::Reads)
            .aliases(&[("old", "new")])
            .unchecked(&["free"]);
        let Value::Object(mut arguments) = arguments else { panic!("{arguments}") };
        normalize(&tool, &mut arguments);
        Value::Object(arguments)
    }

    #[test]
    fn text_becomes_the_type_of_the_schema() {
        let properties = json!({
            "count": {"type": "integer"}, "ratio": {"type": "number"}, "flag": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "data": {"type": "object"}, "label": {"type": "string"},
            "clear": {"type": ["string", "null"]},
        });
        let check = |arguments: Value, expect: Value| {
            assert_eq!(normalized(properties.clone(), arguments.clone()), expect, "{arguments}");
        };
        check(json!({"count": " 5 "}), json!({"count": 5}));
        check(json!({"count": "5.0"}), json!({"count": 5}));
        check(json!({"count": 5.0}), json!({"count": 5}));
        check(json!({"count": "five"}), json!({"count": "five"}));
        check(json!({"ratio": "0.5"}), json!({"ratio": 0.5}));
        check(json!({"flag": "True"}), json!({"flag": true}));
        check(json!({"names": "a"}), json!({"names": ["a"]}));
        check(json!({"names": "[\"a\",\"b\"]"}), json!({"names": ["a", "b"]}));
        check(json!({"names": [1, "b"]}), json!({"names": ["1", "b"]}));
        check(json!({"ids": "7"}), json!({"ids": [7]}));
        check(json!({"ids": 7}), json!({"ids": [7]}));
        check(json!({"ids": ["7"]}), json!({"ids": [7]}));
        check(json!({"ids": "x"}), json!({"ids": "x"}));
        check(json!({"data": "{\"a\":1}"}), json!({"data": {"a": 1}}));
        check(json!({"data": "a"}), json!({"data": "a"}));
        check(json!({"label": 12}), json!({"label": "12"}));
        check(json!({"label": "12"}), json!({"label": "12"}));
        check(json!({"clear": null}), json!({"clear": null}));
        check(json!({"label": null, "count": null}), json!({}));
    }

    #[test]
    fn null_for_a_required_or_unchecked_argument_stays() {
        let properties = json!({"needed": {"type": "string"}, "free": {"type": "array"}});
        let arguments = json!({"needed": null, "free": null});
        assert_eq!(normalized(properties, arguments.clone()), arguments);
    }

    #[test]
    fn unchecked_argument_is_not_converted() {
        let properties = json!({"free": {"type": "array", "items": {"type": "string"}}});
        assert_eq!(normalized(properties, json!({"free": "a"})), json!({"free": "a"}));
    }

    #[test]
    fn enumeration_ignores_case_and_separators() {
        let status = tool_schema::string_enum(&["in-progress", "done"], "State");
        let check = |sent: &str, expect: &str| {
            assert_eq!(
                normalized(json!({"status": status}), json!({"status": sent})),
                json!({"status": expect})
            );
        };
        check("In Progress", "in-progress");
        check("in_progress", "in-progress");
        check("done", "done");
        check("doing", "doing");
    }

    #[test]
    fn other_names_become_the_published_ones() {
        let properties = json!({"new": {"type": "string"}, "limit": {"type": "integer"}});
        assert_eq!(
            normalized(properties.clone(), json!({"old": 1, "top_k": "3"})),
            json!({"new": "1", "limit": 3})
        );
        // Two names of one argument: which one is meant is not clear.
        let both = json!({"limit": 1, "top_k": 3});
        assert_eq!(normalized(properties, both.clone()), both);
    }

    #[test]
    fn nested_objects_are_normalized_too() {
        let properties = json!({
            "nodes": {"type": "array", "items": tool_schema::object(&[("event_type", json!({"type": "string"}))], &[])},
            "data": {"type": "object"},
        });
        let sent = json!({"nodes": [{"eventType": 1}], "data": {"event_type": 1}});
        let expect = json!({"nodes": [{"event_type": "1"}], "data": {"event_type": 1}});
        assert_eq!(normalized(properties, sent), expect);
    }
}
