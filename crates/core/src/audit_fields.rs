//! The named fields of an audit event: what was asked for, and the outcome.
//!
//! Every call creates some, so they must be cheap: a few pairs in an inline list, most of them static or
//! shared text.

use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use smallvec::SmallVec;

use crate::canonical::SortedValue;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditValue {
    /// Static text, such as a method name.
    Static(&'static str),
    /// Shared text.
    Str(Arc<str>),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// Any other JSON. Boxed, because it is rare.
    Json(Box<Value>),
}

impl Serialize for AuditValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AuditValue::Static(text) => serializer.serialize_str(text),
            AuditValue::Str(text) => serializer.serialize_str(text),
            AuditValue::Int(int) => serializer.serialize_i64(*int),
            AuditValue::Bool(value) => serializer.serialize_bool(*value),
            AuditValue::Json(value) => SortedValue(value).serialize(serializer),
        }
    }
}

impl From<&str> for AuditValue {
    fn from(text: &str) -> AuditValue {
        AuditValue::Str(text.into())
    }
}

impl From<String> for AuditValue {
    fn from(text: String) -> AuditValue {
        AuditValue::Str(text.into())
    }
}

impl From<Arc<str>> for AuditValue {
    fn from(text: Arc<str>) -> AuditValue {
        AuditValue::Str(text)
    }
}

impl From<i64> for AuditValue {
    fn from(number: i64) -> AuditValue {
        AuditValue::Int(number)
    }
}

impl From<u32> for AuditValue {
    fn from(number: u32) -> AuditValue {
        AuditValue::Int(number.into())
    }
}

impl From<usize> for AuditValue {
    fn from(number: usize) -> AuditValue {
        i64::try_from(number).map_or_else(|_| Value::from(number).into(), AuditValue::Int)
    }
}

impl From<u64> for AuditValue {
    fn from(number: u64) -> AuditValue {
        i64::try_from(number).map_or_else(|_| Value::from(number).into(), AuditValue::Int)
    }
}

impl From<bool> for AuditValue {
    fn from(value: bool) -> AuditValue {
        AuditValue::Bool(value)
    }
}

impl From<Value> for AuditValue {
    fn from(value: Value) -> AuditValue {
        AuditValue::Json(Box::new(value))
    }
}

/// Fields, sorted by name. The fields of a read fit without an allocation. Serializes as an object whose keys
/// are sorted at every depth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditFields(SmallVec<[(Cow<'static, str>, AuditValue); 4]>);

impl AuditFields {
    /// Sets a field; replaces an earlier value.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AuditValue>) {
        let (name, value) = (name.into(), value.into());
        match self.0.binary_search_by(|(key, _)| key.cmp(&name)) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.0.insert(index, (name, value)),
        }
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&AuditValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The fields, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AuditValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Sets all fields of `other`.
    pub fn extend(&mut self, other: AuditFields) {
        for (name, value) in other.0 {
            self.set(name, value);
        }
    }
}

impl Serialize for AuditFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn serializes_sorted_keys_and_last_value_wins() {
        let mut fields = AuditFields::default();
        fields.set("uri", "x://\"y\"");
        fields.set("ok", false);
        fields.set("count", 3_usize);
        fields.set("a", json!({"z": 1, "b": [null]}));
        fields.set("method", AuditValue::Static("m"));
        fields.set("version", -1_i64);
        let mut more = AuditFields::default();
        more.set("ok", true);
        fields.extend(more);
        assert_eq!(fields.get("ok"), Some(&AuditValue::Bool(true)));
        assert_eq!(
            serde_json::to_string(&fields).unwrap(),
            r#"{"a":{"b":[null],"z":1},"count":3,"method":"m","ok":true,"uri":"x://\"y\"","version":-1}"#
        );
        assert_eq!(serde_json::to_string(&AuditFields::default()).unwrap(), "{}");
    }
}
