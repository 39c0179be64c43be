//! Definitions: the three notations in which callers describe fields.
//!
//! A caller may send `[{"name":"email","type":"string","required":true}]`, `{"email":{"bsonType":"string"}}` or a whole
//! `{"bsonType":"object","required":["email"],"properties":{…}}`. All are parsed into one model. Replies use the last
//! notation and add the first for convenience.

use quad_core::{Error, Result};
use serde_json::{Map, Value};

use crate::errors::{self, invalid};
use crate::field::{Field, FieldType, TYPE_NAMES, check_name};
use crate::{limits, validate};

/// A field as the caller defined it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldDefinition {
    /// The field.
    pub field: Field,
    /// Whether its values shall be unique, if the definition says so.
    pub unique: Option<bool>,
    /// Whether that unique index ignores missing values.
    pub sparse: bool,
}

impl Field {
    /// Parses a definition. An update is merged into the previous state of the field.
    pub(crate) fn define(before: Option<&Field>, name: &str, definition: &Value) -> Result<FieldDefinition> {
        // A field that exists keeps its name, also one that was not reserved when it was created.
        if before.is_none() {
            check_name(name)?;
        }
        define(before, name, definition, name, 1)
    }
}

/// Parses a field's definition at any depth. `path` names the field in errors.
fn define(
    before: Option<&Field>,
    name: &str,
    definition: &Value,
    path: &str,
    depth: usize,
) -> Result<FieldDefinition> {
    if depth > limits::DEFINITION_DEPTH {
        return Err(invalid(
            path,
            format!("is nested deeper than {} levels", limits::DEFINITION_DEPTH),
            "Describe fewer levels; a field of type mixed holds any value",
        ));
    }
    let shorthand;
    let definition = match definition {
        Value::Object(map) => map,
        Value::String(kind) => {
            shorthand = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
            &shorthand
        }
        _ => return Err(invalid(path, "is no definition of a field", FIELD_EXAMPLE)),
    };
    let kind = match definition.get("type").or_else(|| definition.get("bsonType")) {
        Some(value) => Some(parse_type(value, path)?),
        None => before.map(|field| field.kind),
    };
    let kind = kind
        .ok_or_else(|| invalid(path, "has no type", format!("Add type, one of {}", TYPE_NAMES.join(", "))))?;
    let mut field = before.cloned().unwrap_or_else(|| Field::new(name, kind));
    field.kind = kind;
    let mut defined = FieldDefinition { field, unique: None, sparse: false };
    let mut nested_required = None;
    for (key, value) in definition {
        nested_required = parse_rule(&mut defined, key, value, path, depth)?.or(nested_required);
    }
    if let Some(names) = nested_required {
        mark_required(&mut defined.field.properties, &names)?;
    }
    check_rules(&mut defined.field, path)?;
    Ok(defined)
}

/// What a definition looks like, for hints.
pub(crate) const FIELD_EXAMPLE: &str =
    "Send an object such as {\"name\":\"email\",\"type\":\"string\",\"required\":true}";

/// What a list of definitions looks like, for hints.
pub(crate) const LIST_EXAMPLE: &str = "Send a list such as [{\"name\":\"title\",\"type\":\"string\",\"required\":true},{\"name\":\"pages\",\"type\":\"int\"}]";

/// The keys of a definition, for the hint of an unknown key.
const KNOWN_KEYS: [&str; 15] = [
    "type",
    "required",
    "unique",
    "sparse",
    "defaultValue",
    "default",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "enum",
    "items",
    "properties",
    "ref",
];

/// Parses one key of a definition. A list under `required` is returned: it names nested properties.
fn parse_rule(
    defined: &mut FieldDefinition,
    key: &str,
    value: &Value,
    path: &str,
    depth: usize,
) -> Result<Option<Vec<String>>> {
    let field = &mut defined.field;
    let key_path = format!("{path}.{key}");
    match key {
        "name" | "type" | "bsonType" => {}
        "required" if value.is_array() => return parse_names(value, &key_path).map(Some),
        "required" => field.required = parse_bool(value, &key_path)?,
        "unique" => defined.unique = Some(parse_bool(value, &key_path)?),
        "sparse" => defined.sparse = parse_bool(value, &key_path)?,
        "default" | "defaultValue" => field.default = (!value.is_null()).then(|| value.clone()),
        "pattern" => field.pattern = parse_text(value, &key_path)?,
        "minLength" => field.min_length = parse_count(value, &key_path)?,
        "maxLength" => field.max_length = parse_count(value, &key_path)?,
        "minimum" => field.minimum = parse_number(value, &key_path)?,
        "maximum" => field.maximum = parse_number(value, &key_path)?,
        "enum" => field.allowed = parse_allowed(value, &key_path)?,
        "items" => field.items = parse_items(value, &key_path, depth)?,
        "properties" => field.properties = parse_properties(value, &key_path, depth)?,
        "ref" => field.reference = parse_text(value, &key_path)?,
        "description" | "title" => field.description = parse_text(value, &key_path)?,
        "onDelete" => {
            return Err(invalid(
                &key_path,
                "has no effect: references are not enforced",
                "Leave onDelete out",
            ));
        }
        "additionalProperties" if value == &Value::Bool(false) => {}
        _ => {
            return Err(errors::unknown(&format!("property of the field {path} named"), key, KNOWN_KEYS));
        }
    }
    Ok(None)
}

/// Parses `enum`; null removes it.
fn parse_allowed(value: &Value, path: &str) -> Result<Option<Vec<Value>>> {
    match value {
        Value::Null => Ok(None),
        Value::Array(values) => Ok(Some(values.clone())),
        _ => Err(invalid(path, "is not a list", "Send the allowed values as a list, such as [\"a\",\"b\"]")),
    }
}

/// Parses `items`; null removes it.
fn parse_items(value: &Value, path: &str, depth: usize) -> Result<Option<Box<Field>>> {
    match value {
        Value::Null => Ok(None),
        value => Ok(Some(Box::new(define(None, "items", value, path, depth + 1)?.field))),
    }
}

/// Parses `properties`.
fn parse_properties(value: &Value, path: &str, depth: usize) -> Result<Vec<Field>> {
    let Value::Object(properties) = value else {
        return Err(invalid(
            path,
            "is not an object",
            "Send {\"name\":{\"type\":\"string\"}}, one key for each property",
        ));
    };
    properties
        .iter()
        .map(|(name, value)| {
            check_nested_name(name, path)?;
            Ok(define(None, name, value, &format!("{path}.{name}"), depth + 1)?.field)
        })
        .collect()
}

/// Parses the definitions of changed fields, each with its name: a list, a map by name, or one definition. One that is
/// only a name has none.
pub(crate) fn parse_named(path: &str, value: &Value) -> Result<Vec<(String, Option<Value>)>> {
    let entry = |value: &Value| match value {
        Value::String(name) => Ok((name.clone(), None)),
        _ => match value.get("name").and_then(Value::as_str) {
            Some(name) => Ok((name.to_owned(), Some(value.clone()))),
            None => Err(errors::missing(&format!("{path}.name"), FIELD_EXAMPLE)),
        },
    };
    let value = json_text(value);
    match &value {
        Value::Array(entries) => entries.iter().map(entry).collect(),
        // One definition has a name; in a map, a key `name` has a definition, or a type without other keys.
        Value::Object(map) if map.get("name").is_some_and(Value::is_string) => Ok(vec![entry(&value)?]),
        Value::Object(map) => {
            Ok(map.iter().map(|(name, definition)| (name.clone(), Some(definition.clone()))).collect())
        }
        Value::String(name) => Ok(vec![(name.clone(), None)]),
        _ => Err(invalid(path, "is no list of fields", LIST_EXAMPLE)),
    }
}

/// The list or the object that a text is the JSON of; otherwise the value as it is.
fn json_text(value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    parsed.filter(|parsed| parsed.is_array() || parsed.is_object()).unwrap_or_else(|| value.clone())
}

/// Parses any of the three notations.
pub(crate) fn parse_fields(value: &Value) -> Result<Vec<FieldDefinition>> {
    let defined = match &json_text(value) {
        Value::Array(fields) => fields
            .iter()
            .enumerate()
            .map(|(index, definition)| {
                let name = definition.get("name").and_then(Value::as_str);
                let name =
                    name.ok_or_else(|| errors::missing(&format!("fields[{index}].name"), FIELD_EXAMPLE))?;
                Field::define(None, name, definition)
            })
            .collect::<Result<Vec<_>>>()?,
        Value::Object(schema) if is_full_schema(schema) => {
            if let Some(key) = schema.keys().find(|key| !SCHEMA_KEYS.contains(&key.as_str())) {
                return Err(errors::unknown("property of a schema named", key, SCHEMA_KEYS));
            }
            if schema.get("additionalProperties").is_some_and(|value| value != &Value::Bool(false)) {
                return Err(invalid(
                    "schema.additionalProperties",
                    "cannot be true: only declared fields are stored",
                    "Declare a field of type object or mixed for free-form data",
                ));
            }
            let mut defined = match schema.get("properties") {
                Some(Value::Object(properties)) => parse_field_map(properties)?,
                None => Vec::new(),
                Some(_) => {
                    let hint = "Send {\"email\":{\"type\":\"string\"}}, one key for each field";
                    return Err(invalid("schema.properties", "is not an object", hint));
                }
            };
            if let Some(names) = schema.get("required") {
                for name in parse_names(names, "schema.required")? {
                    let target = defined.iter_mut().find(|defined| defined.field.name == name);
                    target.ok_or_else(|| not_a_property("schema.required", &name))?.field.required = true;
                }
            }
            defined
        }
        Value::Object(map) => parse_field_map(map)?,
        _ => return Err(invalid("fields", "is no list of fields", LIST_EXAMPLE)),
    };
    let mut folded_names: Vec<String> = Vec::with_capacity(defined.len());
    for FieldDefinition { field, .. } in &defined {
        let folded = field.name.to_ascii_lowercase();
        if folded_names.contains(&folded) {
            return Err(invalid(
                &field.name,
                "is defined twice",
                "Send each field once; names differ by more than case",
            ));
        }
        folded_names.push(folded);
    }
    if defined.len() > limits::FIELDS_PER_TABLE {
        return Err(errors::limit(
            "table/too-many-fields",
            format!("A table has at most {} fields", limits::FIELDS_PER_TABLE),
        )
        .hint("Put related values into one object field"));
    }
    Ok(defined)
}

const SCHEMA_KEYS: [&str; 6] =
    ["bsonType", "type", "required", "properties", "additionalProperties", "title"];

/// Whether the value is a complete schema, not a map of fields (where `required` could be the name of a field).
fn is_full_schema(schema: &Map<String, Value>) -> bool {
    let is_object = |key: &str| schema.get(key).and_then(Value::as_str) == Some("object");
    is_object("bsonType") || is_object("type") || schema.get("required").is_some_and(Value::is_array)
}

fn parse_field_map(map: &Map<String, Value>) -> Result<Vec<FieldDefinition>> {
    map.iter().map(|(name, definition)| Field::define(None, name, definition)).collect()
}

/// Property names inside a JSON value may have more characters than column names, but must be usable in an error path.
fn check_nested_name(name: &str, path: &str) -> Result<()> {
    if name.is_empty() || name.len() > limits::IDENTIFIER_BYTES || name.contains(['$', '.', '\0']) {
        return Err(invalid(
            path,
            format!("has a property named \"{}\"", errors::truncate_for_message(name)),
            format!("Use 1 to {} characters without $ and .", limits::IDENTIFIER_BYTES),
        ));
    }
    Ok(())
}

fn mark_required(properties: &mut [Field], names: &[String]) -> Result<()> {
    for name in names {
        let property = properties.iter_mut().find(|field| field.name == *name);
        property.ok_or_else(|| not_a_property("required", name))?.required = true;
    }
    Ok(())
}

fn not_a_property(path: &str, name: &str) -> Error {
    let name = errors::truncate_for_message(name);
    invalid(
        path,
        format!("names {name}, which is not defined"),
        format!("Define {name}, or remove it from {path}"),
    )
}

/// Checks that the rules suit the type, and that the default and the allowed values obey the rules.
fn check_rules(field: &mut Field, path: &str) -> Result<()> {
    let unsuitable = |rule: &str| {
        Err(invalid(
            path,
            format!("has {rule}, which does not suit the type {}", field.kind.as_str()),
            format!("Leave {rule} out, or clear it with null"),
        ))
    };
    if !field.kind.is_text()
        && (field.pattern.is_some() || field.min_length.is_some() || field.max_length.is_some())
    {
        return unsuitable(if field.pattern.is_some() { "pattern" } else { "minLength or maxLength" });
    }
    if !field.kind.is_numeric() && (field.minimum.is_some() || field.maximum.is_some()) {
        return unsuitable("minimum or maximum");
    }
    if field.kind != FieldType::Array && field.items.is_some() {
        return unsuitable("items");
    }
    if field.kind != FieldType::Object && !field.properties.is_empty() {
        return unsuitable("properties");
    }
    if field.reference.is_some() {
        if field.kind == FieldType::String {
            field.kind = FieldType::Reference;
        } else if field.kind != FieldType::Reference {
            return unsuitable("ref");
        }
    }
    if field.min_length.zip(field.max_length).is_some_and(|(min, max)| min > max)
        || field.minimum.zip(field.maximum).is_some_and(|(min, max)| min > max)
    {
        return Err(invalid(path, "has a minimum greater than its maximum", "Exchange the two numbers"));
    }
    if let Some(pattern) = &field.pattern {
        validate::compile_pattern(pattern).map_err(|reason| {
            let hint = "Send a shorter regular expression without look-around and back references";
            invalid(&format!("{path}.pattern"), reason, hint)
        })?;
    }
    if let Some(allowed) = field.allowed.take() {
        if allowed.is_empty() || allowed.len() > limits::ENUM_VALUES {
            return Err(invalid(
                &format!("{path}.enum"),
                format!("has {} values", allowed.len()),
                format!("Send 1 to {} values", limits::ENUM_VALUES),
            ));
        }
        let allowed = allowed
            .iter()
            .map(|value| check_value(field, value, &format!("{path}.enum")))
            .collect::<Result<_>>()?;
        field.allowed = Some(allowed);
    }
    if let Some(default) = field.default.take() {
        field.default = Some(check_value(field, &default, &format!("{path}.defaultValue"))?);
    }
    Ok(())
}

/// Converts a value into the form in which the field stores it.
fn check_value(field: &Field, value: &Value, path: &str) -> Result<Value> {
    let value = validate::coerce(field.kind, value);
    let mut violations = Vec::new();
    validate::check(field, &value, path, &mut violations);
    match violations.first() {
        None => Ok(value),
        Some(violation) => {
            let problem = violation.message.strip_prefix(path).unwrap_or(&violation.message).trim_start();
            Err(invalid(path, problem, format!("Send values that fit the type {}", field.kind.as_str())))
        }
    }
}

fn parse_type(value: &Value, path: &str) -> Result<FieldType> {
    let name = match value {
        Value::String(name) => Some(name.as_str()),
        // `["string","null"]`: every field may be missing, so `null` adds nothing.
        Value::Array(names) => {
            let mut non_null = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            non_null.next().filter(|_| non_null.next().is_none())
        }
        _ => None,
    };
    let name = name.ok_or_else(|| {
        invalid(path, "has no single type", format!("Use one of {}", TYPE_NAMES.join(", ")))
    })?;
    FieldType::parse(name)
        .ok_or_else(|| errors::unknown(&format!("type (for the field {path}) named"), name, TYPE_NAMES))
}

fn parse_bool(value: &Value, path: &str) -> Result<bool> {
    let problem = "is neither true nor false";
    parse_flag(value).ok_or_else(|| invalid(path, problem, "Send true or false"))
}

fn parse_text(value: &Value, path: &str) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= limits::DESCRIPTION_CHARS && !text.contains('\0') => {
            Ok(Some(text.clone()))
        }
        Value::String(_) => Err(invalid(
            path,
            format!("has more than {} characters or a NUL character", limits::DESCRIPTION_CHARS),
            format!("Shorten it to {} characters without NUL", limits::DESCRIPTION_CHARS),
        )),
        _ => Err(invalid(path, "is not text", "Send text, or null to clear it")),
    }
}

fn parse_count(value: &Value, path: &str) -> Result<Option<u64>> {
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let hint = "Send a whole number from 0, or null to clear it";
    number.map(Some).ok_or_else(|| invalid(path, "is not a whole number from 0", hint))
}

fn parse_number(value: &Value, path: &str) -> Result<Option<f64>> {
    if value.is_null() {
        return Ok(None);
    }
    let number =
        value.as_f64().or_else(|| value.as_str()?.trim().parse().ok().filter(|n: &f64| n.is_finite()));
    number.map(Some).ok_or_else(|| invalid(path, "is not a number", "Send a number, or null to clear it"))
}

/// A truth value, also as text: models send both.
pub(crate) fn parse_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Parses a list of names. One name alone is a list, too.
pub(crate) fn parse_names(value: &Value, path: &str) -> Result<Vec<String>> {
    if let Value::String(name) = value {
        return Ok(vec![name.clone()]);
    }
    let error = || -> Error { invalid(path, "is not a list of names", "Send a list such as [\"email\"]") };
    let names = value.as_array().ok_or_else(error)?;
    names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(error)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::schema;

    #[test]
    fn three_input_formats_parse_to_same_fields() {
        let array = json!([{"name": "email", "type": "String", "required": true, "defaultValue": null}, {"name": "age", "type": "Number"}]);
        let full_schema = json!({"bsonType": "object", "required": ["email"],
            "properties": {"email": {"bsonType": "string"}, "age": {"bsonType": "double"}}});
        let map = json!({"email": {"bsonType": "string", "required": true}, "age": "number"});
        let expected = parse_fields(&array).unwrap();
        assert_eq!(parse_fields(&full_schema).unwrap(), expected);
        assert_eq!(parse_fields(&map).unwrap(), expected);
        let fields: Vec<Field> = expected.into_iter().map(|defined| defined.field).collect();
        assert_eq!(schema(&fields), full_schema);
        assert_eq!(
            fields[0].to_json(true),
            json!({"name": "email", "type": "string", "required": true, "unique": true})
        );
    }

    #[test]
    fn field_serialization_round_trip() {
        let defined = parse_fields(&json!({
            "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 1}}},
            "tags": {"type": "array", "items": "string"},
            "role": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "owner": {"type": "string", "ref": "users"},
            "age": {"type": "int", "minimum": 0, "maximum": 150},
        }))
        .unwrap();
        for FieldDefinition { field, .. } in defined {
            let stored = serde_json::to_string(&field).unwrap();
            assert_eq!(serde_json::from_str::<Field>(&stored).unwrap(), field);
            // A definition as shown can be sent back and has the same meaning.
            assert_eq!(Field::define(None, &field.name, &field.to_schema_property()).unwrap().field, field);
        }
    }

    #[test]
    fn rejects_invalid_field_definitions() {
        let code = |value: Value| parse_fields(&value).unwrap_err().code().to_owned();
        assert_eq!(code(json!({"createdAt": "date"})), "SYSTEM_FIELD_PROTECTED");
        assert_eq!(code(json!({"ID": "string"})), "SYSTEM_FIELD_PROTECTED");
        for bad in [
            json!({"a.b": "string"}),
            json!({"$x": "string"}),
            json!({"_x": "string"}),
            json!({"1x": "string"}),
            json!({"xmin": "string"}),
            json!({"a": {}}),
            json!({"a": "strin"}),
            json!({"a": {"type": "string", "minimum": 1}}),
            json!({"a": {"type": "string", "pattern": "("}}),
            json!({"a": {"type": "string", "pattern": "(?=x)"}}),
            json!({"a": {"type": "int", "default": "x"}}),
            json!({"a": {"type": "int", "enum": []}}),
            json!({"a": {"type": "string", "requird": true}}),
            json!({"a": {"type": "string", "minLength": 3, "maxLength": 2}}),
            json!([{"name": "a", "type": "string"}, {"name": "A", "type": "string"}]),
            json!([{"type": "string"}]),
            json!({"bsonType": "object", "required": ["nope"], "properties": {}}),
            json!({"bsonType": "object", "additionalProperties": true}),
            json!("string"),
        ] {
            assert_eq!(code(bad.clone()), "VALIDATION_ERROR", "{bad}");
        }
        let deep = (0..7).fold(json!("string"), |inner, _| json!({"type": "array", "items": inner}));
        assert_eq!(code(json!({"a": deep})), "VALIDATION_ERROR");
    }

    #[test]
    fn update_merges_rules_and_null_clears() {
        let before =
            Field::define(None, "age", &json!({"type": "int", "minimum": 1, "default": 5})).unwrap().field;
        let after =
            Field::define(Some(&before), "age", &json!({"maximum": 9, "minimum": null})).unwrap().field;
        assert_eq!((after.minimum, after.maximum, after.kind), (None, Some(9.0), FieldType::Int));
        assert_eq!(after.default, Some(json!(5)));
    }
}
