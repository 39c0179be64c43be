//! The attributes of a rune as it receives them: what the author wrote, and defaults where the author wrote nothing.
//!
//! A value may be of any type whatever the catalogue says: checking is for editors and tools, rendering takes what it gets.

use indexmap::IndexMap;
use quad_markdoc::{Map, Value as Written};
use serde_json::Value;

use crate::catalogue::{Attribute, AttributeType, Catalogue, Rune};
use crate::value::{leading_number, number, to_text, truthy};

/// Arguments by name. What has no value is not there.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    values: IndexMap<String, Value>,
}

impl Arguments {
    /// Reads the attributes that a rune knows: `class` and `id`, its preset's, its own, and those that every rune has.
    pub fn read(catalogue: &Catalogue, rune: &Rune, written: &Map) -> Arguments {
        let mut arguments = Arguments::default();
        for name in ["class", "id"] {
            arguments.put(name, written.get(name).and_then(|value| class_or_value(name, value)));
        }
        let own = catalogue.own_attributes(rune);
        for (name, attribute) in &own {
            arguments.put(name, argument(attribute, written.get(name)));
        }
        if rune.universal {
            for (name, attribute) in catalogue.universal() {
                arguments.put(name, argument(attribute, written.get(name)));
            }
        }
        arguments
    }

    fn put(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Sets an argument.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.values.insert(name.to_owned(), value.into());
    }

    /// Forgets an argument.
    pub fn remove(&mut self, name: &str) {
        self.values.shift_remove(name);
    }

    /// The value of an argument, if it has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The value of an argument, if it counts as given: not null, false, zero or the empty text.
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| truthy(value))
    }

    /// Whether an argument counts as given.
    pub fn is_given(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Whether an argument is `true` and nothing else.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// Whether an argument is `false` and nothing else.
    pub fn is_false(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(false))
    }

    /// An argument that counts as given, as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.given(name).map(to_text)
    }

    /// An argument as text, or this one where it does not count as given.
    pub fn text_or(&self, name: &str, otherwise: &str) -> String {
        self.text(name).unwrap_or_else(|| otherwise.to_owned())
    }

    /// An argument as it is, or this value where there is none (null is none).
    pub fn value_or(&self, name: &str, otherwise: impl Into<Value>) -> Value {
        self.get(name).filter(|value| !value.is_null()).cloned().unwrap_or_else(|| otherwise.into())
    }

    /// An argument as it is, or this value where it does not count as given.
    pub fn given_or(&self, name: &str, otherwise: impl Into<Value>) -> Value {
        self.given(name).cloned().unwrap_or_else(|| otherwise.into())
    }

    /// An argument as a number: a number, or a text that begins with one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => leading_number(text),
            _ => None,
        }
    }
}

fn argument(attribute: &Attribute, written: Option<&Written>) -> Option<Value> {
    if attribute.kind == AttributeType::List {
        // A list is never missing: without a value it is empty.
        let words = match written.and_then(Written::as_str) {
            Some(text) if !text.is_empty() => text.split(' ').map(|word| Value::from(word.trim())).collect(),
            _ => Vec::new(),
        };
        return Some(Value::Array(words));
    }
    written.map(json).or_else(|| attribute.default.clone())
}

/// `class` is a set of names where it is written as `.name`, and a text otherwise.
pub(crate) fn class_or_value(name: &str, value: &Written) -> Option<Value> {
    match value {
        Written::Hash(classes) if name == "class" => {
            let names = classes.iter().filter(|(_, on)| truthy(&json(on))).map(|(name, _)| name);
            Some(Value::from(names.collect::<Vec<_>>().join(" ")))
        }
        value => Some(json(value)),
    }
}

/// A written value as a plain one. Variables and functions are resolved before; one that is left is nothing.
pub fn json(value: &Written) -> Value {
    match value {
        Written::Null | Written::Variable(_) | Written::Function(_) => Value::Null,
        Written::Bool(value) => Value::Bool(*value),
        Written::Number(value) => number(*value),
        Written::String(text) => Value::from(text.as_str()),
        Written::Array(values) => values.iter().map(json).collect(),
        Written::Hash(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.to_owned(), json(value))).collect())
        }
    }
}

/// A plain value as if it had been written.
pub fn written(value: &Value) -> Written {
    match value {
        Value::Null => Written::Null,
        Value::Bool(value) => Written::Bool(*value),
        Value::Number(number) => Written::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => Written::String(text.clone()),
        Value::Array(values) => Written::Array(values.iter().map(written).collect()),
        Value::Object(object) => {
            let mut map = Map::new();
            for (name, value) in object {
                map.insert(name.clone(), written(value));
            }
            Written::Hash(map)
        }
    }
}
