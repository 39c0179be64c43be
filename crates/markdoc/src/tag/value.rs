//! The values within a tag: words, numbers, strings, arrays, hashes, variables and functions.

use super::Reader;
use crate::limits::VALUE_DEPTH_MAX;
use crate::map::Map;
use crate::value::{Function, PathPart, Value, Variable};

/// As in the parent module: every method either reads something and stands behind it, or gives `None` and stands where
/// it stood.
impl Reader<'_> {
    pub(super) fn value(&mut self) -> Option<Value> {
        if self.depth >= VALUE_DEPTH_MAX {
            self.expect("a value that nests less deep");
            return None;
        }
        self.depth += 1;
        let value = match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'[') => self.array(),
            Some(b'{') => self.hash(),
            Some(b'$' | b'@') => self.variable(),
            // A word comes before a function, and a number before both, even if more letters follow.
            _ => self.word().or_else(|| self.number().map(Value::Number)).or_else(|| self.function()),
        };
        self.depth -= 1;
        if value.is_none() {
            self.expect("a value");
        }
        value
    }

    fn word(&mut self) -> Option<Value> {
        let rest = self.bytes.get(self.at..)?;
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let mut at = start + usize::from(self.peek() == Some(b'-'));
        let digits = |from: usize| self.bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(at);
        if whole == 0 {
            return None;
        }
        at += whole;
        if self.bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if fraction > 0 {
                at += 1 + fraction;
            }
        }
        let number = self.text.get(start..at)?.parse().ok()?;
        self.at = at;
        Some(number)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let mut text = String::new();
        let mut at = start + 1;
        let mut copied = at;
        loop {
            let byte = self.bytes.get(at).copied();
            match byte {
                Some(b'"') => break,
                Some(b'\\') => {
                    let letter = match self.bytes.get(at + 1) {
                        Some(b'"') => '"',
                        Some(b'\\') => '\\',
                        Some(b'n') => '\n',
                        Some(b'r') => '\r',
                        Some(b't') => '\t',
                        _ => {
                            self.expect_at(
                                at + 1,
                                "one of the escapes `\\\"`, `\\\\`, `\\n`, `\\r` and `\\t`",
                            );
                            return None;
                        }
                    };
                    text.push_str(self.text.get(copied..at)?);
                    text.push(letter);
                    at += 2;
                    copied = at;
                }
                Some(0x20..) => at += 1,
                Some(_) | None => {
                    self.expect_at(at, "a `\"` before the line ends; a string is one line");
                    return None;
                }
            }
        }
        text.push_str(self.text.get(copied..at)?);
        self.at = at + 1;
        Some(text)
    }

    fn array(&mut self) -> Option<Value> {
        let start = self.at;
        self.at += 1;
        let mut values = Vec::new();
        self.spaces();
        if let Some(first) = self.value() {
            values.push(first);
            while self.comma() {
                match self.after_spaces(Self::value) {
                    Some(value) => values.push(value),
                    None => break,
                }
            }
        }
        self.spaces();
        if self.byte(b']', "`]`") {
            return Some(Value::Array(values));
        }
        self.at = start;
        None
    }

    fn hash(&mut self) -> Option<Value> {
        let start = self.at;
        self.at += 1;
        let mut map = Map::new();
        let mut add = |(key, value): (String, Value)| {
            // The name by which the tree marks variables and functions is not the author's to use.
            if key != "$$mdtype" {
                map.insert(key, value);
            }
        };
        self.spaces();
        if let Some(first) = self.hash_entry() {
            add(first);
            while self.comma() {
                match self.after_spaces(Self::hash_entry) {
                    Some(entry) => add(entry),
                    None => break,
                }
            }
        }
        self.spaces();
        if self.byte(b'}', "`}`") {
            return Some(Value::Hash(map));
        }
        self.at = start;
        None
    }

    fn hash_entry(&mut self) -> Option<(String, Value)> {
        let start = self.at;
        let key = match self.peek() {
            Some(b'"') => self.string(),
            _ => self.identifier("a key").map(str::to_owned),
        };
        let entry = key.filter(|_| self.byte(b':', "`:`")).and_then(|key| {
            self.spaces();
            self.value().map(|value| (key, value))
        });
        if entry.is_none() {
            self.at = start;
        }
        entry
    }

    pub(super) fn function(&mut self) -> Option<Value> {
        let start = self.at;
        let function = self.function_call();
        if function.is_none() {
            self.at = start;
        }
        function
    }

    fn function_call(&mut self) -> Option<Value> {
        let name = self.identifier("a name")?.to_owned();
        if !self.byte(b'(', "`(`") {
            return None;
        }
        self.spaces();
        let mut parameters = Map::new();
        let first = self.parameter();
        let has_first = first.is_some();
        let mut position = 0;
        let mut add = |(name, value): (Option<String>, Value)| {
            parameters.insert(name.unwrap_or_else(|| position.to_string()), value);
            position += 1;
        };
        if let Some(first) = first {
            add(first);
        }
        loop {
            let before = self.at;
            if !self.comma() {
                break;
            }
            match self.after_spaces(Self::parameter) {
                // Without a first parameter the others do not count, as in the original.
                Some(parameter) if has_first => add(parameter),
                Some(_) => {}
                None => {
                    self.at = before;
                    break;
                }
            }
        }
        self.byte(b')', "`)`").then(|| Value::Function(Box::new(Function { name, parameters })))
    }

    fn parameter(&mut self) -> Option<(Option<String>, Value)> {
        let start = self.at;
        let name = self.identifier("a parameter").map(str::to_owned).filter(|_| self.byte(b'=', "`=`"));
        if name.is_none() {
            self.at = start;
        }
        match self.value() {
            Some(value) => Some((name, value)),
            None => {
                self.at = start;
                None
            }
        }
    }

    pub(super) fn variable(&mut self) -> Option<Value> {
        let start = self.at;
        let prefix = self.peek().filter(|byte| matches!(byte, b'$' | b'@'));
        if prefix.is_none() {
            self.expect("a variable");
            return None;
        }
        self.at += 1;
        let Some(name) = self.identifier("a variable's name") else {
            self.at = start;
            return None;
        };
        let mut path = vec![PathPart::Name(name.to_owned())];
        while let Some(part) = self.path_part() {
            path.push(part);
        }
        if prefix == Some(b'@') {
            // A path that is a plain list: the original reads it so, and gives it no meaning.
            let parts = path.into_iter().map(|part| match part {
                PathPart::Name(name) => Value::String(name),
                PathPart::Index(index) => Value::Number(index),
            });
            return Some(Value::Array(parts.collect()));
        }
        Some(Value::Variable(Variable { path }))
    }

    fn path_part(&mut self) -> Option<PathPart> {
        let start = self.at;
        let part = match self.peek() {
            Some(b'.') => {
                self.at += 1;
                self.identifier("a name").map(|name| PathPart::Name(name.to_owned()))
            }
            Some(b'[') => {
                self.at += 1;
                let step = match self.peek() {
                    Some(b'"') => self.string().map(PathPart::Name),
                    _ => self.number().map(PathPart::Index),
                };
                if step.is_none() {
                    self.expect("a number or a string");
                }
                step.filter(|_| self.byte(b']', "`]`"))
            }
            _ => None,
        };
        if part.is_none() {
            self.at = start;
        }
        part
    }
}
