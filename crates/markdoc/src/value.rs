//! The values of attributes and function parameters.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::attribute_map::AttributeMap;

/// A value in a tag.
///
/// Variables and function calls are not evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// `42`, `-7`, `3.14`; there are no exponents.
    Number(f64),
    /// `"text"`, with the escapes `\"`, `\\`, `\n`, `\r` and `\t` resolved.
    String(String),
    /// `[1, "two"]`
    Array(Vec<Value>),
    /// `{key: 1, "other key": 2}`
    Hash(AttributeMap),
    /// `$name.part[0]`
    Variable(Variable),
    /// `name(1, key="two")`
    Function(Box<Function>),
}

impl Value {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether JavaScript treats it as false. The npm package drops such a primary value and such a `process`.
    pub(crate) fn is_falsy(&self) -> bool {
        match self {
            Value::Null | Value::Bool(false) => true,
            Value::Number(number) => *number == 0.0,
            Value::String(text) => text.is_empty(),
            _ => false,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

/// A reference to a variable, which the renderer knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name after the `$`, then each step of the path.
    pub path: Vec<PathPart>,
}

/// One step of a variable's path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathPart {
    /// `.name` or `["name"]`
    Name(String),
    /// `[0]`
    Index(f64),
}

/// A call of a function, which the renderer knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its parameters: by name if given, else by position (`"0"`, `"1"`, …).
    pub parameters: AttributeMap,
}

/// Writes a number as JavaScript's `JSON.stringify` does.
fn serialize_number<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Up to this value every whole number is exact, and is written without a decimal point.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if !number.is_finite() {
        serializer.serialize_unit()
    } else if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        serializer.serialize_i64(number as i64)
    } else {
        serializer.serialize_f64(number)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(value) => serialize_number(*value, serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(values) => serializer.collect_seq(values),
            Value::Hash(map) => map.serialize(serializer),
            Value::Variable(variable) => variable.serialize(serializer),
            Value::Function(function) => function.serialize(serializer),
        }
    }
}

impl Serialize for Variable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry("$$mdtype", "Variable")?;
        object.serialize_entry("path", &self.path)?;
        object.end()
    }
}

impl Serialize for PathPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PathPart::Name(name) => serializer.serialize_str(name),
            PathPart::Index(index) => serialize_number(*index, serializer),
        }
    }
}

impl Serialize for Function {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(3))?;
        object.serialize_entry("$$mdtype", "Function")?;
        object.serialize_entry("name", &self.name)?;
        object.serialize_entry("parameters", &self.parameters)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_serialize_as_in_javascript() {
        let json = |n: f64| serde_json::to_string(&Value::Number(n)).unwrap();
        assert_eq!([json(7.0), json(-0.0), json(0.5), json(f64::INFINITY)], ["7", "0", "0.5", "null"]);
    }
}
