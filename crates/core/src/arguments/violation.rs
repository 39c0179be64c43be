//! Errors for arguments that do not match the published schema: what is wrong, and what to send instead.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::names;
use super::normalize::{closed_properties, type_of};
use crate::text::truncate;
use crate::{Error, Result, Tool, closest, nearest_first};

/// Violations in one error. More would hide the first.
const VIOLATIONS_REPORTED_MAX: usize = 8;

/// Characters of a value that a message quotes. It may be a megabyte long.
const QUOTED_CHARS_MAX: usize = 60;

/// Allowed values in a message: all values of every enumeration that is published, the longest has 23.
pub(crate) const OPTIONS_SHOWN_MAX: usize = 40;

/// What is wrong with one argument.
struct Violation {
    /// The path of the argument, as `edges.0.weight`; empty for the arguments as a whole.
    field: String,
    /// The fact, as a sentence without its full stop.
    fact: String,
    /// What to do. Starts with a verb.
    action: Option<String>,
}

/// Checks arguments against the input schema of a tool.
pub(super) fn check(tool: &Tool, validator: &Validator, arguments: &Value) -> Result<()> {
    let violations: Vec<Violation> = validator
        .iter_errors(arguments)
        .filter(|error| !is_unchecked(tool, error))
        .take(VIOLATIONS_REPORTED_MAX)
        .flat_map(|error| describe(tool, &error, arguments))
        .take(VIOLATIONS_REPORTED_MAX)
        .collect();
    if violations.is_empty() {
        return Ok(());
    }
    let facts: Vec<&str> = violations.iter().map(|violation| violation.fact.as_str()).collect();
    let mut actions: Vec<&str> = Vec::new();
    for action in violations.iter().filter_map(|violation| violation.action.as_deref()) {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    let example = format!("Example: {} {}", tool.name, tool.example);
    let is_missing_any = violations.iter().any(|violation| violation.fact.starts_with(MISSING));
    if (actions.is_empty() || is_missing_any) && tool.example.as_object().is_some_and(|call| !call.is_empty())
    {
        actions.push(&example);
    }
    let details: Vec<Value> = violations
        .iter()
        .map(|violation| json!({"field": violation.field, "reason": violation.fact}))
        .collect();
    let mut error = Error::bad_input(facts.join(". ")).with_detail("details", details);
    if !actions.is_empty() {
        error = error.hint(actions.join(". "));
    }
    Err(error)
}

/// How the fact of a missing argument starts.
const MISSING: &str = "Missing argument";

/// Whether the handler checks the argument that an error is about.
fn is_unchecked(tool: &Tool, error: &ValidationError<'_>) -> bool {
    let path = error.instance_path().to_string();
    let argument = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    tool.unchecked_arguments.contains(&argument)
}

fn describe(tool: &Tool, error: &ValidationError<'_>, arguments: &Value) -> Vec<Violation> {
    let pointer = error.instance_path().to_string();
    let path = pointer.trim_start_matches('/').replace('/', ".");
    let parent = error.schema_path().to_string();
    // The schema path ends in the violated keyword.
    let parent = parent.rsplit_once('/').map_or("", |(parent, _)| parent);
    let schema = tool.input_schema.pointer(parent).unwrap_or(&tool.input_schema);
    let value = arguments.pointer(&pointer).unwrap_or(&Value::Null);
    let one = |fact: String, action: Option<String>| vec![Violation { field: path.clone(), fact, action }];
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![missing(schema, &join(&path, name), name)]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| unknown(tool, schema, value.as_object(), &join(&path, name), name))
            .collect(),
        ValidationErrorKind::Enum { options } => {
            let sent = quoted(value);
            let options: Vec<&str> =
                options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            one(
                format!("{path} cannot be {sent}"),
                Some(format!("Use one of {}", options_text(value.as_str().unwrap_or_default(), &options))),
            )
        }
        ValidationErrorKind::Type { kind } => {
            let (wanted, sent) = (type_names(kind), type_of(value));
            let described = description(schema).map_or_else(String::new, |text| format!(" ({text})"));
            if path.is_empty() {
                return one("The arguments are not an object".to_owned(), None);
            }
            one(
                format!("{path} is {} {sent}, {}", article(sent), quoted(value)),
                Some(format!("Send {path} as {} {wanted}{described}", article(&wanted))),
            )
        }
        kind => {
            let (fact, action) = bound(&path, kind, value, error);
            let described = description(schema).map_or_else(String::new, |text| format!(": {text}"));
            one(fact, action.map(|action| format!("{action}{described}")))
        }
    }
}

fn missing(schema: &Value, path: &str, name: &str) -> Violation {
    let property = schema.get("properties").and_then(|properties| properties.get(name));
    let described = property.and_then(description).map_or_else(String::new, |text| format!(" ({text})"));
    Violation { field: path.to_owned(), fact: format!("{MISSING} {path}{described}"), action: None }
}

fn unknown(
    tool: &Tool,
    schema: &Value,
    given: Option<&Map<String, Value>>,
    path: &str,
    name: &str,
) -> Violation {
    let empty = Map::new();
    let properties = closed_properties(schema).unwrap_or(&empty);
    let is_root = std::ptr::eq(schema, &tool.input_schema);
    let aliases = if is_root { tool.argument_aliases } else { &[] };
    let shown = truncate(path, QUOTED_CHARS_MAX);
    let is_given = |target: &str| given.is_some_and(|given| given.contains_key(target));
    let known = || properties.keys().map(String::as_str);
    let fact = format!("Unknown argument {shown}");
    let (fact, action) = match names::intended(name, properties, aliases, is_root) {
        Some(target) if is_given(target) => {
            (format!("{shown} and {target} are the same argument"), format!("Send only {target}"))
        }
        _ if properties.is_empty() => (fact, "Call the tool without arguments".to_owned()),
        // An argument that is given, too, is not what was meant.
        _ => match closest(name, known().filter(|target| !is_given(target))) {
            Some(target) => (fact, format!("Did you mean {target}?")),
            None => {
                let all: Vec<&str> = known().collect();
                (fact, format!("Use only {}", options_text(name, &all)))
            }
        },
    };
    Violation { field: path.to_owned(), fact, action: Some(action) }
}

/// Violations of sizes and patterns.
fn bound(
    path: &str,
    kind: &ValidationErrorKind,
    value: &Value,
    error: &ValidationError<'_>,
) -> (String, Option<String>) {
    let sent = quoted(value);
    let number = |relation: &str, limit: &Value| {
        (
            format!("{path} is {sent}, {relation} {limit}"),
            format!("Send a number that is not {relation} {limit}"),
        )
    };
    let (fact, action) = match kind {
        ValidationErrorKind::Minimum { limit } => number("less than", limit),
        ValidationErrorKind::Maximum { limit } => number("more than", limit),
        ValidationErrorKind::MinLength { limit } => {
            (format!("{path} is shorter than {limit} characters"), "Send a longer text".to_owned())
        }
        ValidationErrorKind::MaxLength { limit } => {
            (format!("{path} is longer than {limit} characters"), "Send a shorter text".to_owned())
        }
        ValidationErrorKind::MinItems { limit } => {
            (format!("{path} has fewer than {limit} items"), "Send more items".to_owned())
        }
        ValidationErrorKind::MaxItems { limit } => {
            (format!("{path} has more than {limit} items"), "Send the items in several calls".to_owned())
        }
        ValidationErrorKind::Pattern { pattern } => {
            (format!("{path} cannot be {sent}"), format!("Send a value that matches {pattern}"))
        }
        _ => return (format!("{path}: {}", truncate(&error.to_string(), 200)), None),
    };
    (fact, Some(action))
}

/// The allowed values, the nearest first, with the number of those that are left out.
pub(crate) fn options_text(sent: &str, options: &[&str]) -> String {
    let sorted = nearest_first(sent, options.iter().copied());
    let shown = sorted[..sorted.len().min(OPTIONS_SHOWN_MAX)].join(", ");
    match sorted.len().saturating_sub(OPTIONS_SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str).map(|text| text.trim_end_matches('.'))
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(single) => single.to_string(),
        TypeKind::Multiple(set) => {
            let names: Vec<String> = set.iter().map(|single| single.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn article(noun: &str) -> &'static str {
    match noun.as_bytes().first() {
        Some(b'a' | b'e' | b'i' | b'o' | b'u') => "an",
        _ => "a",
    }
}

fn quoted(value: &Value) -> String {
    truncate(&value.to_string(), QUOTED_CHARS_MAX)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use crate::{ScopeRequirement, tool_schema};

    fn message(arguments: Value) -> String {
        let schema = tool_schema::object(
            &[
                ("tableId", tool_schema::string("Table id or name")),
                ("status", tool_schema::string_enum(&["open", "closed", "frozen"], "State")),
                ("limit", tool_schema::integer(1, 100, 20)),
                (
                    "edges",
                    json!({"type": "array", "maxItems": 2, "items": tool_schema::object(&[("weight", json!({"type": "number"}))], &["weight"])}),
                ),
                (
                    "name",
                    json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "description": "Lower case"}),
                ),
            ],
            &["tableId"],
        );
        let tool = Tool::new("row_list", "T", "T.", schema, ScopeRequirement::NONE, ToolEffect::Reads)
            .example(json!({"tableId": "books"}))
            .aliases(&[("ids", "tableId")]);
        let validator = jsonschema::validator_for(&tool.input_schema).unwrap();
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        match super::super::prepare(&tool, &validator, arguments) {
            Ok(arguments) => format!("ok {}", Value::Object(arguments)),
            Err(error) => format!("{} | {}", error.message(), error.hint_text().unwrap_or_default()),
        }
    }

    #[test]
    fn every_violation_says_what_to_send() {
        let check =
            |arguments: Value, expect: &str| assert_eq!(message(arguments.clone()), expect, "{arguments}");
        check(json!({"table": "x", "top_k": "5"}), r#"ok {"tableId":"x","limit":5}"#);
        check(
            json!({}),
            r#"Missing argument tableId (Table id or name) | Example: row_list {"tableId":"books"}"#,
        );
        check(
            json!({"tableId": "x", "status": "close"}),
            r#"status cannot be "close" | Use one of closed, open, frozen"#,
        );
        check(json!({"tableId": "x", "statu": 1}), "Unknown argument statu | Did you mean status?");
        check(
            json!({"tableId": "x", "old_limit": 5, "limit": 6}),
            "Unknown argument old_limit | Use only limit, tableId, edges, name, status",
        );
        check(
            json!({"tableId": "x", "table": "y"}),
            "table and tableId are the same argument | Send only tableId",
        );
        check(
            json!({"tableId": "x", "banana": 1}),
            "Unknown argument banana | Use only name, tableId, status, limit, edges",
        );
        check(
            json!({"tableId": "x", "limit": "many"}),
            r#"limit is a string, "many" | Send limit as an integer"#,
        );
        check(
            json!({"tableId": "x", "limit": 1000}),
            "limit is 1000, more than 100 | Send a number that is not more than 100",
        );
        check(
            json!({"tableId": "x", "edges": [{}]}),
            r#"Missing argument edges.0.weight | Example: row_list {"tableId":"books"}"#,
        );
        check(
            json!({"tableId": "x", "name": "A1"}),
            r#"name cannot be "A1" | Send a value that matches ^[a-z]+$: Lower case"#,
        );
        check(
            json!({"tableId": {}, "name": "abcdef"}),
            "tableId is an object, {}. name is longer than 5 characters | \
             Send tableId as a string (Table id or name). Send a shorter text: Lower case",
        );
    }

    #[test]
    fn long_enumerations_are_cut_and_counted() {
        let names: Vec<String> = (0..45).map(|number| format!("option{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = options_text("option44", &names);
        assert!(text.starts_with("option44, "), "{text}");
        assert!(text.ends_with(" and 5 more"), "{text}");
    }

    #[test]
    fn quoted_values_are_short() {
        let text = message(json!({"tableId": "x", "limit": "9".repeat(1_000_000) + "x"}));
        assert!(text.len() < 300, "{text}");
    }
}
