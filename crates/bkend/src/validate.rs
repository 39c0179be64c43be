//! Validation of a record that is written: system fields are removed, values coerced, defaults applied, rules checked.
//!
//! Uniqueness is not checked here: only the database can, in the writing transaction.

use quad_core::{Result, Timestamp};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use crate::errors::{self, Violation};
use crate::field::{Field, FieldType, is_system};
use crate::limits;

/// The purpose of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    /// A new record: defaults apply, and every required field must have a value.
    Create,
    /// An update: only the sent fields are checked.
    Update,
}

/// A value for a field of the table; `Null` means that it is missing.
pub(crate) type Cell<'f> = (&'f Field, Value);

/// Validates a record. The cells have the order of the table's fields.
pub(crate) fn validate_record<'f>(
    fields: &'f [Field],
    data: &Map<String, Value>,
    mode: WriteMode,
) -> Result<Vec<Cell<'f>>> {
    let mut violations = Vec::new();
    for name in data.keys().filter(|name| !is_system_exactly(name)) {
        if !fields.iter().any(|field| field.name == *name) {
            let known = errors::options_text(name, fields.iter().map(|field| field.name.as_str()));
            let known = if known.is_empty() { "none".to_owned() } else { known };
            let message = format!(
                "{} is not a field of this table, which has {known}",
                errors::truncate_for_message(name)
            );
            violations.push(Violation {
                field: errors::truncate_for_message(name),
                reason: "unknown",
                message,
            });
        }
    }
    let mut cells = Vec::with_capacity(fields.len());
    for field in fields {
        let value = match data.get(&field.name) {
            None if mode == WriteMode::Update => continue,
            None => field.default.clone().unwrap_or(Value::Null),
            Some(value) => coerce(field.kind, value),
        };
        if value.is_null() {
            if field.required {
                let message = format!("{} is required", field.name);
                violations.push(Violation { field: field.name.clone(), reason: "required", message });
            }
        } else {
            check(field, &value, &field.name, &mut violations);
        }
        cells.push((field, value));
    }
    if violations.is_empty() { Ok(cells) } else { Err(errors::record_invalid(&violations)) }
}

/// Removes system fields with exact spelling only: `ID` is a mistake that the caller should be told.
fn is_system_exactly(name: &str) -> bool {
    is_system(name) && crate::field::SYSTEM_FIELDS.contains(&name)
}

/// Converts a value to the field's type, or returns the original if it cannot be; the type check then reports it.
pub(crate) fn coerce(kind: FieldType, value: &Value) -> Value {
    let coerced = match (kind, value) {
        (FieldType::Int | FieldType::Long, Value::String(text)) => {
            text.trim().parse::<i64>().ok().map(Value::from)
        }
        (FieldType::Int | FieldType::Long, Value::Number(number)) if number.is_f64() => {
            number.as_f64().and_then(as_integer).map(Value::from)
        }
        (FieldType::Number, Value::String(text)) => {
            text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(json_number)
        }
        (FieldType::Number, Value::Number(number)) if number.is_f64() => number.as_f64().map(json_number),
        (FieldType::Boolean, Value::String(text)) => match text.trim() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (FieldType::Date, Value::String(text)) => {
            parse_instant(text).map(|time| Value::from(time.to_string()))
        }
        _ => None,
    };
    coerced.unwrap_or_else(|| value.clone())
}

/// Checks a non-null value against the type, then against the rules.
pub(crate) fn check(field: &Field, value: &Value, path: &str, violations: &mut Vec<Violation>) {
    let mut add_violation = |reason: &'static str, problem: String| {
        violations.push(Violation { field: path.to_owned(), reason, message: format!("{path} {problem}") });
    };
    if nesting_depth(value) > limits::VALUE_DEPTH {
        return add_violation("depth", format!("is nested deeper than {} levels", limits::VALUE_DEPTH));
    }
    if contains_nul(value) {
        return add_violation("character", "holds a NUL character, which cannot be stored".to_owned());
    }
    let fits = match field.kind {
        FieldType::String | FieldType::Reference => value.is_string(),
        FieldType::Int | FieldType::Long => value.as_i64().is_some(),
        FieldType::Number => value.is_number(),
        FieldType::Boolean => value.is_boolean(),
        FieldType::Date => value.as_str().and_then(parse_instant).is_some(),
        FieldType::Object => value.is_object(),
        FieldType::Array => value.is_array(),
        FieldType::Mixed => true,
    };
    if !fits {
        return add_violation("type", format!("must be {}", type_description(field.kind)));
    }
    if field.kind == FieldType::Number && !is_exact_double(value) {
        return add_violation(
            "precision",
            "is a whole number beyond 2^53; use a field of type long".to_owned(),
        );
    }
    if let Some(allowed) = &field.allowed
        && !allowed.iter().any(|candidate| json_eq(candidate, value))
    {
        let allowed_values: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let options = errors::options_text(&value.to_string(), allowed_values.iter().map(String::as_str));
        add_violation("enum", format!("must be one of {options}"));
    }
    if let Some(text) = value.as_str().filter(|_| field.kind.is_text()) {
        let characters = text.chars().count() as u64;
        if let Some(min) = field.min_length.filter(|min| characters < *min) {
            add_violation("minLength", format!("has {characters} characters, fewer than {min}"));
        }
        if let Some(max) = field.max_length.filter(|max| characters > *max) {
            add_violation("maxLength", format!("has {characters} characters, more than {max}"));
        }
        if let Some(pattern) = &field.pattern
            && !compile_pattern(pattern).is_ok_and(|regex| regex.is_match(text))
        {
            add_violation("pattern", format!("does not match {pattern}"));
        }
    }
    if let Some(number) = value.as_f64() {
        if let Some(min) = field.minimum.filter(|min| number < *min) {
            add_violation("minimum", format!("is less than {}", json_number(min)));
        }
        if let Some(max) = field.maximum.filter(|max| number > *max) {
            add_violation("maximum", format!("is greater than {}", json_number(max)));
        }
    }
    if let (Some(items), Value::Array(elements)) = (&field.items, value) {
        for (index, element) in elements.iter().enumerate() {
            check_nested(items, Some(element), &format!("{path}[{index}]"), violations);
        }
    }
    if let Value::Object(object) = value {
        for property in &field.properties {
            let path = format!("{path}.{}", property.name);
            check_nested(property, object.get(&property.name), &path, violations);
        }
    }
}

fn check_nested(field: &Field, value: Option<&Value>, path: &str, violations: &mut Vec<Violation>) {
    match value {
        None | Some(Value::Null) if field.required => {
            let message = format!("{path} is required");
            violations.push(Violation { field: path.to_owned(), reason: "required", message });
        }
        None | Some(Value::Null) => {}
        Some(value) => check(field, value, path, violations),
    }
}

fn type_description(kind: FieldType) -> &'static str {
    match kind {
        FieldType::String => "text",
        FieldType::Reference => "text (the id of a record)",
        FieldType::Int | FieldType::Long => "a whole number of 64 bits",
        FieldType::Number => "a number",
        FieldType::Boolean => "true or false",
        FieldType::Date => "an ISO 8601 instant with a zone, or a date, of the years 1 to 9999",
        FieldType::Object => "an object",
        FieldType::Array => "a list",
        FieldType::Mixed => "a value",
    }
}

/// Compiles a pattern, or says why it is invalid. The engine is linear in the text, so no pattern can block a write.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(format!("has at most {} bytes", limits::PATTERN_BYTES));
    }
    RegexBuilder::new(pattern).size_limit(limits::PATTERN_PROGRAM_BYTES).build().map_err(
        |error| match error {
            regex::Error::CompiledTooBig(_) => "is too large once compiled".to_owned(),
            _ => "is not a regular expression that runs in linear time (no look-around, no back references)"
                .to_owned(),
        },
    )
}

/// A number without a fraction becomes an integer, so that 41 is not returned as 41.0.
pub(crate) fn json_number(number: f64) -> Value {
    match as_integer(number) {
        Some(integer) if integer.unsigned_abs() <= 1 << 53 => Value::from(integer),
        _ => Number::from_f64(number).map_or(Value::Null, Value::Number),
    }
}

fn as_integer(number: f64) -> Option<i64> {
    // The bounds are exact powers of two; the upper one is the first double that does not fit into `i64`.
    (number.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number))
        .then_some(number as i64)
}

fn is_exact_double(value: &Value) -> bool {
    let exact = |number: i128| (number as f64) as i128 == number;
    match value {
        Value::Number(number) => {
            number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).is_none_or(exact)
        }
        _ => true,
    }
}

/// Compares as the column does: 1 and 1.0 are equal.
fn json_eq(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => a.as_f64() == b.as_f64(),
        _ => left == right,
    }
}

/// Parses a timestamp that both backends can store and print with a four-digit year.
fn parse_instant(text: &str) -> Option<Timestamp> {
    const FIRST_MS: i64 = -62_135_596_800_000;
    const LAST_MS: i64 = 253_402_300_799_999;
    Timestamp::parse(text.trim()).filter(|time| (FIRST_MS..=LAST_MS).contains(&time.0))
}

fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(nesting_depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(nesting_depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(contains_nul),
        Value::Object(object) => object.iter().any(|(key, value)| key.contains('\0') || contains_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse_fields;
    use serde_json::json;

    fn fields(definition: Value) -> Vec<Field> {
        parse_fields(&definition).unwrap().into_iter().map(|defined| defined.field).collect()
    }

    fn validate_json(fields: &[Field], data: Value, mode: WriteMode) -> Result<Value> {
        let cells = validate_record(fields, data.as_object().unwrap(), mode)?;
        Ok(cells.into_iter().map(|(field, value)| (field.name.clone(), value)).collect::<Map<_, _>>().into())
    }

    #[test]
    fn strips_system_fields_coerces_and_fills_defaults() {
        let fields = fields(json!({
            "name": {"type": "string", "required": true}, "age": "number", "big": "long", "on": "boolean", "day": "date",
            "role": {"type": "string", "default": "user"},
        }));
        let data = json!({"id": "evil", "createdAt": "x", "name": "A", "age": "41", "big": "9007199254740993", "on": "true",
            "day": "2026-02-12"});
        assert_eq!(
            validate_json(&fields, data, WriteMode::Create).unwrap(),
            json!({"name": "A", "age": 41, "big": 9007199254740993i64, "on": true, "day": "2026-02-12T00:00:00.000Z", "role": "user"})
        );
        assert_eq!(
            validate_json(&fields, json!({"age": 41.0}), WriteMode::Update).unwrap(),
            json!({"age": 41})
        );
        assert_eq!(
            validate_json(&fields, json!({"role": null}), WriteMode::Update).unwrap(),
            json!({"role": null})
        );
    }

    #[test]
    fn reports_each_violation_with_its_field() {
        let fields = fields(json!({
            "name": {"type": "string", "required": true, "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
            "age": {"type": "int", "minimum": 0, "maximum": 9}, "on": "bool", "day": "date", "free": "number",
            "role": {"type": "string", "enum": ["a"]},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}},
            "address": {"type": "object", "required": ["city"], "properties": {"city": "string"}},
        }));
        let check = |data: Value, field: &str, reason: &str| {
            let error = validate_json(&fields, data.clone(), WriteMode::Update).unwrap_err();
            assert_eq!(error.code(), "data/validation-error");
            let details = error.detail("details").unwrap();
            assert_eq!(
                (details[0]["field"].as_str(), details[0]["reason"].as_str()),
                (Some(field), Some(reason)),
                "{data}"
            );
        };
        check(json!({"name": null}), "name", "required");
        check(json!({"name": 5}), "name", "type");
        check(json!({"name": "a"}), "name", "minLength");
        check(json!({"name": "abcde"}), "name", "maxLength");
        check(json!({"name": "ABC"}), "name", "pattern");
        check(json!({"name": "ab\u{0}"}), "name", "character");
        check(json!({"age": "old"}), "age", "type");
        check(json!({"age": 1.5}), "age", "type");
        check(json!({"age": -1}), "age", "minimum");
        check(json!({"age": 10}), "age", "maximum");
        check(json!({"on": 1}), "on", "type");
        check(json!({"day": "tomorrow"}), "day", "type");
        check(json!({"free": 9007199254740993i64}), "free", "precision");
        check(json!({"role": "b"}), "role", "enum");
        check(json!({"tags": ["ok", "long"]}), "tags[1]", "maxLength");
        check(json!({"address": {}}), "address.city", "required");
        check(json!({"nmae": "ab"}), "nmae", "unknown");
        check(json!({"ID": "ab"}), "ID", "unknown");
        let error = validate_json(&fields, json!({}), WriteMode::Create).unwrap_err();
        assert_eq!(error.message(), "name is required");
    }
}
