//! JSON without duplicate names.
//!
//! Two parsers of `{"sub":"a","sub":"b"}` may see different subjects: one takes the first, another the last. Signed
//! data and arguments must be unambiguous, so a document with a duplicate name is rejected.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::text::truncate;

/// Why a text is not an object with unique names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrictJsonError {
    /// It is not JSON, or nested too deeply. The parser's message has the line and column.
    Syntax(String),
    /// It is JSON, but not an object.
    NotAnObject,
    /// A name occurs twice in one object.
    Duplicate(String),
}

/// Parses one object. Duplicate names are rejected at every depth.
pub fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, StrictJsonError> {
    match serde_json::from_slice(bytes) {
        Ok(UniqueKeyValue(Value::Object(object))) => Ok(object),
        Ok(_) => Err(StrictJsonError::NotAnObject),
        Err(error) => Err(from_serde(&error.to_string())),
    }
}

/// `serde_json` has a single error type; the text identifies our error.
fn from_serde(text: &str) -> StrictJsonError {
    match text.strip_prefix(DUPLICATE_KEY) {
        Some(rest) => {
            let name = rest.rsplit_once(" at line ").map_or(rest, |(name, _)| name);
            StrictJsonError::Duplicate(name.to_owned())
        }
        None => StrictJsonError::Syntax(text.to_owned()),
    }
}

const DUPLICATE_KEY: &str = "duplicate name ";

/// Characters of a duplicate name in an error. It may be a megabyte long.
const NAME_CHARS_SHOWN_MAX: usize = 60;

struct UniqueKeyValue(Value);

impl<'de> Deserialize<'de> for UniqueKeyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueKeyValue, D::Error> {
        deserializer.deserialize_any(UniqueKeyVisitor).map(UniqueKeyValue)
    }
}

struct UniqueKeyVisitor;

impl<'de> Visitor<'de> for UniqueKeyVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(UniqueKeyValue(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, UniqueKeyValue(value))) = members.next_entry::<String, UniqueKeyValue>()? {
            if object.contains_key(&name) {
                let shown = truncate(&name, NAME_CHARS_SHOWN_MAX);
                return Err(A::Error::custom(format_args!("{DUPLICATE_KEY}{shown}")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_like_serde_json() {
        let text = r#"{"a":[1,-2,2.5,true,null,"é\n"],"b":{"c":{}},"d":18446744073709551615}"#;
        let expect: Map<String, Value> = serde_json::from_str(text).unwrap();
        assert_eq!(parse_object(text.as_bytes()).unwrap(), expect);
    }

    #[test]
    fn duplicate_keys_are_rejected_at_every_depth() {
        let check = |text: &str, name: &str| {
            let expect = StrictJsonError::Duplicate(name.to_owned());
            assert_eq!(parse_object(text.as_bytes()), Err(expect), "{text}");
        };
        check(r#"{"sub":"a","sub":"b"}"#, "sub");
        check(r#"{"sub":"a","\u0073ub":"a"}"#, "sub");
        check(r#"{"x":[{"a":1,"b":2,"a":1}]}"#, "a");
        check(r#"{" at line 5":1," at line 5":2}"#, " at line 5");
    }

    #[test]
    fn what_is_not_an_object_is_rejected() {
        for text in ["[]", "5", "null"] {
            assert_eq!(parse_object(text.as_bytes()), Err(StrictJsonError::NotAnObject), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for malformed in ["", "{", r#"{"a":1}x"#, r#"{"a"}"#, "\u{feff}{}", &deep] {
            assert!(
                matches!(parse_object(malformed.as_bytes()), Err(StrictJsonError::Syntax(_))),
                "{malformed:.20}"
            );
        }
    }
}
