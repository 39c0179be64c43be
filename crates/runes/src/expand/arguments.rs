//! The arguments of a rune: its attributes as written, with defaults for missing ones.
//!
//! Values are not checked against the catalogue's types. Editors and tools check; rendering accepts any value.

use indexmap::IndexMap;
use quad_markdoc::{AttributeMap, Value as MarkdocValue};
use serde_json::Value;

use crate::catalogue::{Attribute, AttributeType, Catalogue, Rune};
use crate::js_value::{JsTrim, is_truthy, json_number, parse_float, to_js_string};

/// Arguments by name. An argument without a value is absent.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    values: IndexMap<String, Value>,
}

impl Arguments {
    /// Reads the known attributes of a rune: `class`, `id`, its preset's, its own, and the universal ones.
    pub fn read(catalogue: &Catalogue, rune: &Rune, attributes: &AttributeMap) -> Arguments {
        let mut arguments = Arguments::default();
        for name in ["class", "id"] {
            arguments.insert_if_some(
                name,
                attributes.get(name).and_then(|value| class_or_json_value(name, value)),
            );
        }
        let own = catalogue.own_attributes(rune);
        for (name, attribute) in &own {
            arguments.insert_if_some(name, argument_value(attribute, attributes.get(name)));
        }
        if rune.universal {
            for (name, attribute) in catalogue.universal_attributes() {
                arguments.insert_if_some(name, argument_value(attribute, attributes.get(name)));
            }
        }
        arguments
    }

    fn insert_if_some(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Sets an argument.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.values.insert(name.to_owned(), value.into());
    }

    /// Removes an argument.
    pub fn remove(&mut self, name: &str) {
        self.values.shift_remove(name);
    }

    /// An argument, if it has a value.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// An argument, if it is truthy: not null, false, zero or empty text.
    pub fn truthy(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| is_truthy(value))
    }

    /// Whether an argument is truthy.
    pub fn is_truthy(&self, name: &str) -> bool {
        self.truthy(name).is_some()
    }

    /// Whether an argument is exactly `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// A truthy argument as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.truthy(name).map(to_js_string)
    }

    /// An argument as text, or the default if it is falsy.
    pub fn text_or(&self, name: &str, default: &str) -> String {
        self.text(name).unwrap_or_else(|| default.to_owned())
    }

    /// An argument, or the default if it is missing or null.
    pub fn non_null_or(&self, name: &str, default: impl Into<Value>) -> Value {
        self.get(name).filter(|value| !value.is_null()).cloned().unwrap_or_else(|| default.into())
    }

    /// An argument, or the default if it is falsy.
    pub fn truthy_or(&self, name: &str, default: impl Into<Value>) -> Value {
        self.truthy(name).cloned().unwrap_or_else(|| default.into())
    }

    /// An argument as a number: a number, or text that starts with one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => parse_float(text),
            _ => None,
        }
    }
}

fn argument_value(attribute: &Attribute, value: Option<&MarkdocValue>) -> Option<Value> {
    if attribute.kind == AttributeType::List {
        // A list is never missing: without a value it is empty.
        let items = match value.and_then(MarkdocValue::as_str) {
            Some(text) if !text.is_empty() => {
                text.split(' ').map(|word| Value::from(word.js_trim())).collect()
            }
            _ => Vec::new(),
        };
        return Some(Value::Array(items));
    }
    value.map(to_json_value).or_else(|| attribute.default.clone())
}

/// `class` is a hash of names if written as `.name`, otherwise text.
pub(crate) fn class_or_json_value(name: &str, value: &MarkdocValue) -> Option<Value> {
    match value {
        MarkdocValue::Hash(classes) if name == "class" => {
            let names = classes.iter().filter(|(_, on)| is_truthy(&to_json_value(on))).map(|(name, _)| name);
            Some(Value::from(names.collect::<Vec<_>>().join(" ")))
        }
        value => Some(to_json_value(value)),
    }
}

/// Converts a Markdoc value to JSON. Variables and functions are evaluated before; a remaining one becomes null.
pub fn to_json_value(value: &MarkdocValue) -> Value {
    match value {
        MarkdocValue::Null | MarkdocValue::Variable(_) | MarkdocValue::Function(_) => Value::Null,
        MarkdocValue::Bool(value) => Value::Bool(*value),
        MarkdocValue::Number(value) => json_number(*value),
        MarkdocValue::String(text) => Value::from(text.as_str()),
        MarkdocValue::Array(values) => values.iter().map(to_json_value).collect(),
        MarkdocValue::Hash(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.to_owned(), to_json_value(value))).collect())
        }
    }
}

/// Converts JSON to a Markdoc value.
pub fn to_markdoc_value(value: &Value) -> MarkdocValue {
    match value {
        Value::Null => MarkdocValue::Null,
        Value::Bool(value) => MarkdocValue::Bool(*value),
        Value::Number(number) => MarkdocValue::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => MarkdocValue::String(text.clone()),
        Value::Array(values) => MarkdocValue::Array(values.iter().map(to_markdoc_value).collect()),
        Value::Object(object) => {
            let mut map = AttributeMap::new();
            for (name, value) in object {
                map.insert(name.clone(), to_markdoc_value(value));
            }
            MarkdocValue::Hash(map)
        }
    }
}
