//! Definitions: the three dialects in which callers describe fields.
//!
//! A caller may send `[{"name":"email","type":"string","required":true}]`, `{"email":{"bsonType":"string"}}` or a whole
//! `{"bsonType":"object","required":["email"],"properties":{…}}`. All become one model; answers use the last form and
//! add the first for convenience.

use quad_core::{Error, Result};
use serde_json::{Map, Value};

use crate::field::{Field, FieldType, TYPE_NAMES, check_name};
use crate::refusal::{self, invalid};
use crate::{limits, validate};

/// A field as a caller defined it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Defined {
    /// The field.
    pub field: Field,
    /// Whether the caller wants its values unique, if the caller said.
    pub unique: Option<bool>,
    /// Whether missing values are left out of that uniqueness.
    pub sparse: bool,
}

impl Field {
    /// Reads a definition, on top of what the field was before if it is an update.
    pub(crate) fn define(before: Option<&Field>, name: &str, definition: &Value) -> Result<Defined> {
        check_name(name)?;
        define(before, name, definition, name, 1)
    }
}

/// A field's definition, at any depth. `place` names it in refusals.
fn define(
    before: Option<&Field>,
    name: &str,
    definition: &Value,
    place: &str,
    depth: usize,
) -> Result<Defined> {
    if depth > limits::DEFINITION_DEPTH {
        return Err(invalid(place, format!("nested deeper than {} levels", limits::DEFINITION_DEPTH)));
    }
    let shorthand;
    let definition = match definition {
        Value::Object(map) => map,
        Value::String(kind) => {
            shorthand = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
            &shorthand
        }
        _ => return Err(invalid(place, "must be an object such as {\"type\":\"string\"}")),
    };
    let kind = match definition.get("type").or_else(|| definition.get("bsonType")) {
        Some(value) => Some(read_type(value, place)?),
        None => before.map(|field| field.kind),
    };
    let kind = kind.ok_or_else(|| {
        invalid(place, "the type is missing").hint(format!("The types are {}", TYPE_NAMES.join(", ")))
    })?;
    let mut field = before.cloned().unwrap_or_else(|| Field::new(name, kind));
    field.kind = kind;
    let mut defined = Defined { field, unique: None, sparse: false };
    let mut nested_required = None;
    for (key, value) in definition {
        nested_required = read_rule(&mut defined, key, value, place, depth)?.or(nested_required);
    }
    if let Some(names) = nested_required {
        require_named(&mut defined.field.properties, &names)?;
    }
    check_rules(&mut defined.field, place)?;
    Ok(defined)
}

/// Reads one key of a definition. A list under `required` is returned: it names nested properties.
fn read_rule(
    defined: &mut Defined,
    key: &str,
    value: &Value,
    place: &str,
    depth: usize,
) -> Result<Option<Vec<String>>> {
    let field = &mut defined.field;
    let at = format!("{place}.{key}");
    match key {
        "name" | "type" | "bsonType" => {}
        "required" if value.is_array() => return read_names(value, &at).map(Some),
        "required" => field.required = read_bool(value, &at)?,
        "unique" => defined.unique = Some(read_bool(value, &at)?),
        "sparse" => defined.sparse = read_bool(value, &at)?,
        "default" | "defaultValue" => field.default = (!value.is_null()).then(|| value.clone()),
        "pattern" => field.pattern = read_text(value, &at)?,
        "minLength" => field.min_length = read_count(value, &at)?,
        "maxLength" => field.max_length = read_count(value, &at)?,
        "minimum" => field.minimum = read_number(value, &at)?,
        "maximum" => field.maximum = read_number(value, &at)?,
        "enum" => {
            field.allowed = match value {
                Value::Null => None,
                Value::Array(values) => Some(values.clone()),
                _ => return Err(invalid(&at, "must be a list of values")),
            };
        }
        "items" => {
            field.items = match value {
                Value::Null => None,
                value => Some(Box::new(define(None, "items", value, &at, depth + 1)?.field)),
            };
        }
        "properties" => {
            let Value::Object(properties) = value else { return Err(invalid(&at, "must be an object")) };
            field.properties = properties
                .iter()
                .map(|(name, value)| {
                    check_nested_name(name, &at)?;
                    Ok(define(None, name, value, &format!("{at}.{name}"), depth + 1)?.field)
                })
                .collect::<Result<_>>()?;
        }
        "ref" => field.reference = read_text(value, &at)?,
        "description" | "title" => field.description = read_text(value, &at)?,
        "onDelete" => {
            return Err(invalid(&at, "references are not enforced, so there is nothing to do on deletion")
                .hint("Leave onDelete out"));
        }
        "additionalProperties" if value == &Value::Bool(false) => {}
        _ => {
            const KNOWN: [&str; 15] = [
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
            return Err(refusal::unknown(&format!("property of a field (in {place}) named"), key, KNOWN));
        }
    }
    Ok(None)
}

/// Reads any of the three dialects.
pub(crate) fn definitions(value: &Value) -> Result<Vec<Defined>> {
    let defined = match value {
        Value::Array(fields) => fields
            .iter()
            .enumerate()
            .map(|(index, definition)| {
                let name = definition.get("name").and_then(Value::as_str);
                let name = name.ok_or_else(|| refusal::missing(&format!("fields[{index}].name")))?;
                Field::define(None, name, definition)
            })
            .collect::<Result<Vec<_>>>()?,
        Value::Object(schema) if is_whole_schema(schema) => {
            if let Some(key) = schema.keys().find(|key| !WHOLE_SCHEMA_KEYS.contains(&key.as_str())) {
                return Err(refusal::unknown("property of a schema named", key, WHOLE_SCHEMA_KEYS));
            }
            if schema.get("additionalProperties").is_some_and(|value| value != &Value::Bool(false)) {
                return Err(invalid("schema.additionalProperties", "only declared fields are stored")
                    .hint("Declare an object or mixed field for free-form data"));
            }
            let mut defined = match schema.get("properties") {
                Some(Value::Object(properties)) => of_map(properties)?,
                None => Vec::new(),
                Some(_) => return Err(invalid("schema.properties", "must be an object")),
            };
            if let Some(names) = schema.get("required") {
                for name in read_names(names, "schema.required")? {
                    let known = defined.iter_mut().find(|defined| defined.field.name == name);
                    known
                        .ok_or_else(|| invalid("schema.required", format!("{name} is not a field")))?
                        .field
                        .required = true;
                }
            }
            defined
        }
        Value::Object(map) => of_map(map)?,
        _ => return Err(invalid("fields", "must be a list of fields or a schema")),
    };
    let mut seen: Vec<String> = Vec::with_capacity(defined.len());
    for Defined { field, .. } in &defined {
        let folded = field.name.to_ascii_lowercase();
        if seen.contains(&folded) {
            return Err(invalid(&field.name, "is defined twice (names differ by more than case)"));
        }
        seen.push(folded);
    }
    if defined.len() > limits::FIELDS_PER_TABLE {
        return Err(refusal::limit(
            "table/too-many-fields",
            format!("A table has at most {} fields", limits::FIELDS_PER_TABLE),
        )
        .hint("Gather what belongs together in an object field"));
    }
    Ok(defined)
}

const WHOLE_SCHEMA_KEYS: [&str; 6] =
    ["bsonType", "type", "required", "properties", "additionalProperties", "title"];

/// A schema as a whole, rather than a map of fields (in which `required` or `properties` could be the name of one).
fn is_whole_schema(schema: &Map<String, Value>) -> bool {
    let is_object = |key: &str| schema.get(key).and_then(Value::as_str) == Some("object");
    is_object("bsonType") || is_object("type") || schema.get("required").is_some_and(Value::is_array)
}

fn of_map(map: &Map<String, Value>) -> Result<Vec<Defined>> {
    map.iter().map(|(name, definition)| Field::define(None, name, definition)).collect()
}

/// Names inside a JSON value are freer than columns, but not so free that a path could not name them.
fn check_nested_name(name: &str, place: &str) -> Result<()> {
    if name.is_empty() || name.len() > limits::IDENTIFIER_BYTES || name.contains(['$', '.', '\0']) {
        return Err(invalid(place, format!("{} is not a property name", refusal::shown(name))));
    }
    Ok(())
}

fn require_named(properties: &mut [Field], names: &[String]) -> Result<()> {
    for name in names {
        let known = properties.iter_mut().find(|field| field.name == *name);
        known.ok_or_else(|| invalid("required", format!("{name} is not a property")))?.required = true;
    }
    Ok(())
}

/// Rules must suit the type, and the default and the allowed values must obey them.
fn check_rules(field: &mut Field, place: &str) -> Result<()> {
    let unsuited = |rule: &str| {
        Err(invalid(place, format!("{rule} does not suit the type {}", field.kind.as_str()))
            .hint(format!("Leave {rule} out, or clear it with null")))
    };
    if !field.kind.is_text()
        && (field.pattern.is_some() || field.min_length.is_some() || field.max_length.is_some())
    {
        return unsuited(if field.pattern.is_some() { "pattern" } else { "minLength or maxLength" });
    }
    if !field.kind.is_numeric() && (field.minimum.is_some() || field.maximum.is_some()) {
        return unsuited("minimum or maximum");
    }
    if field.kind != FieldType::Array && field.items.is_some() {
        return unsuited("items");
    }
    if field.kind != FieldType::Object && !field.properties.is_empty() {
        return unsuited("properties");
    }
    if field.reference.is_some() {
        if field.kind == FieldType::String {
            field.kind = FieldType::Reference;
        } else if field.kind != FieldType::Reference {
            return unsuited("ref");
        }
    }
    if field.min_length.zip(field.max_length).is_some_and(|(least, most)| least > most)
        || field.minimum.zip(field.maximum).is_some_and(|(least, most)| least > most)
    {
        return Err(invalid(place, "the least is greater than the most"));
    }
    if let Some(pattern) = &field.pattern {
        validate::compile(pattern).map_err(|reason| invalid(&format!("{place}.pattern"), reason))?;
    }
    if let Some(allowed) = field.allowed.take() {
        if allowed.is_empty() || allowed.len() > limits::ENUM_VALUES {
            return Err(invalid(
                &format!("{place}.enum"),
                format!("has 1 to {} values", limits::ENUM_VALUES),
            ));
        }
        let allowed = allowed
            .iter()
            .map(|value| settled(field, value, &format!("{place}.enum")))
            .collect::<Result<_>>()?;
        field.allowed = Some(allowed);
    }
    if let Some(default) = field.default.take() {
        field.default = Some(settled(field, &default, &format!("{place}.defaultValue"))?);
    }
    Ok(())
}

/// A value as the field would store it.
fn settled(field: &Field, value: &Value, place: &str) -> Result<Value> {
    let value = validate::coerce(field.kind, value);
    let mut faults = Vec::new();
    validate::check(field, &value, place, &mut faults);
    match faults.first() {
        None => Ok(value),
        Some(fault) => Err(invalid(place, &fault.message)),
    }
}

fn read_type(value: &Value, place: &str) -> Result<FieldType> {
    let name = match value {
        Value::String(name) => Some(name.as_str()),
        // `["string","null"]`: every field may be missing, so `null` adds nothing.
        Value::Array(names) => {
            let mut named = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            named.next().filter(|_| named.next().is_none())
        }
        _ => None,
    };
    let name = name.ok_or_else(|| invalid(place, "the type must be one word"))?;
    FieldType::parse(name)
        .ok_or_else(|| refusal::unknown(&format!("type (for {place}) named"), name, TYPE_NAMES))
}

fn read_bool(value: &Value, at: &str) -> Result<bool> {
    value.as_bool().ok_or_else(|| invalid(at, "must be true or false"))
}

fn read_text(value: &Value, at: &str) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= limits::DESCRIPTION_CHARS && !text.contains('\0') => {
            Ok(Some(text.clone()))
        }
        Value::String(_) => Err(invalid(
            at,
            format!("has at most {} characters, none of them NUL", limits::DESCRIPTION_CHARS),
        )),
        _ => Err(invalid(at, "must be text")),
    }
}

fn read_count(value: &Value, at: &str) -> Result<Option<u64>> {
    if value.is_null() {
        return Ok(None);
    }
    value.as_u64().map(Some).ok_or_else(|| invalid(at, "must be a whole number from 0"))
}

fn read_number(value: &Value, at: &str) -> Result<Option<f64>> {
    if value.is_null() {
        return Ok(None);
    }
    value.as_f64().map(Some).ok_or_else(|| invalid(at, "must be a number"))
}

/// A list of names.
pub(crate) fn read_names(value: &Value, at: &str) -> Result<Vec<String>> {
    let wrong = || -> Error { invalid(at, "must be a list of names") };
    let names = value.as_array().ok_or_else(wrong)?;
    names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::schema;

    #[test]
    fn three_dialects_are_one_model() {
        let array = json!([{"name": "email", "type": "String", "required": true, "defaultValue": null}, {"name": "age", "type": "Number"}]);
        let whole = json!({"bsonType": "object", "required": ["email"],
            "properties": {"email": {"bsonType": "string"}, "age": {"bsonType": "double"}}});
        let map = json!({"email": {"bsonType": "string", "required": true}, "age": "number"});
        let expected = definitions(&array).unwrap();
        assert_eq!(definitions(&whole).unwrap(), expected);
        assert_eq!(definitions(&map).unwrap(), expected);
        let fields: Vec<Field> = expected.into_iter().map(|defined| defined.field).collect();
        assert_eq!(schema(&fields), whole);
        assert_eq!(
            fields[0].entry(true),
            json!({"name": "email", "type": "string", "required": true, "unique": true})
        );
    }

    #[test]
    fn a_stored_field_comes_back_whole() {
        let defined = definitions(&json!({
            "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 1}}},
            "tags": {"type": "array", "items": "string"},
            "role": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "owner": {"type": "string", "ref": "users"},
            "age": {"type": "int", "minimum": 0, "maximum": 150},
        }))
        .unwrap();
        for Defined { field, .. } in defined {
            let stored = serde_json::to_string(&field).unwrap();
            assert_eq!(serde_json::from_str::<Field>(&stored).unwrap(), field);
            // What is shown can be sent back and means the same.
            assert_eq!(Field::define(None, &field.name, &field.property()).unwrap().field, field);
        }
    }

    #[test]
    fn refuses_what_cannot_be_a_field() {
        let code = |value: Value| definitions(&value).unwrap_err().code().to_owned();
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
    fn an_update_merges_and_null_clears() {
        let before =
            Field::define(None, "age", &json!({"type": "int", "minimum": 1, "default": 5})).unwrap().field;
        let after =
            Field::define(Some(&before), "age", &json!({"maximum": 9, "minimum": null})).unwrap().field;
        assert_eq!((after.minimum, after.maximum, after.kind), (None, Some(9.0), FieldType::Int));
        assert_eq!(after.default, Some(json!(5)));
    }
}
