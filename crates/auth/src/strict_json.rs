//! JSON without duplicate names.
//!
//! Two parsers of `{"sub":"a","sub":"b"}` may see different subjects: one takes the first, another the last. Signed
//! data must be unambiguous, so a document with a duplicate name is rejected.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::auth_error::AuthErrorKind;

/// Parses one object. Duplicate names are rejected at every depth.
pub fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, AuthErrorKind> {
    match serde_json::from_slice(bytes) {
        Ok(UniqueKeyValue(Value::Object(object))) => Ok(object),
        Ok(_) => Err(AuthErrorKind::Malformed),
        // `serde_json` has a single error type; the text identifies our error.
        Err(error) if error.to_string().starts_with(DUPLICATE_KEY) => Err(AuthErrorKind::DuplicateClaim),
        Err(_) => Err(AuthErrorKind::Malformed),
    }
}

const DUPLICATE_KEY: &str = "duplicate name";

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
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom(DUPLICATE_KEY));
            }
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
        let check = |text: &str, expect: &str| {
            assert_eq!(format!("{:?}", parse_object(text.as_bytes()).unwrap_err()), expect, "{text}");
        };
        check(r#"{"sub":"a","sub":"b"}"#, "DuplicateClaim");
        check(r#"{"sub":"a","\u0073ub":"a"}"#, "DuplicateClaim");
        check(r#"{"x":[{"a":1,"b":2,"a":1}]}"#, "DuplicateClaim");
        for malformed in ["", "[]", "5", "{", r#"{"a":1}x"#, r#"{"a"}"#, "\u{feff}{}"] {
            check(malformed, "Malformed");
        }
        check(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)), "Malformed");
    }
}
