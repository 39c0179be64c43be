//! The values in a tag: literals, numbers, strings, arrays, hashes, variables and functions.

use super::TagParser;
use crate::attribute_map::AttributeMap;
use crate::limits::VALUE_DEPTH_MAX;
use crate::value::{Function, PathPart, Value, Variable};

/// As in the parent module, every method either parses something and advances behind it, or returns `None` and does not
/// move.
impl TagParser<'_> {
    pub(super) fn parse_value(&mut self) -> Option<Value> {
        if self.depth >= VALUE_DEPTH_MAX {
            self.note_expected("a value that nests less deep");
            return None;
        }
        self.depth += 1;
        let value = match self.peek() {
            Some(b'"') => self.parse_string().map(Value::String),
            Some(b'[') => self.parse_array(),
            Some(b'{') => self.parse_hash(),
            Some(b'$' | b'@') => self.parse_variable(),
            // A literal is tried before a function, and a number before both, even if more letters follow.
            _ => self
                .parse_keyword()
                .or_else(|| self.parse_number().map(Value::Number))
                .or_else(|| self.parse_function()),
        };
        self.depth -= 1;
        if value.is_none() {
            self.note_expected("a value");
        }
        value
    }

    fn parse_keyword(&mut self) -> Option<Value> {
        let rest = self.bytes.get(self.pos..)?;
        for (keyword, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if rest.starts_with(keyword.as_bytes()) {
                self.pos += keyword.len();
                return Some(value);
            }
        }
        None
    }

    fn parse_number(&mut self) -> Option<f64> {
        let start = self.pos;
        let mut pos = start + usize::from(self.peek() == Some(b'-'));
        let count_digits =
            |from: usize| self.bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let integer_digits = count_digits(pos);
        if integer_digits == 0 {
            return None;
        }
        pos += integer_digits;
        if self.bytes.get(pos) == Some(&b'.') {
            let fraction_digits = count_digits(pos + 1);
            if fraction_digits > 0 {
                pos += 1 + fraction_digits;
            }
        }
        let number = self.text.get(start..pos)?.parse().ok()?;
        self.pos = pos;
        Some(number)
    }

    fn parse_string(&mut self) -> Option<String> {
        let start = self.pos;
        let mut text = String::new();
        let mut pos = start + 1;
        let mut copied = pos;
        loop {
            let byte = self.bytes.get(pos).copied();
            match byte {
                Some(b'"') => break,
                Some(b'\\') => {
                    let unescaped = match self.bytes.get(pos + 1) {
                        Some(b'"') => '"',
                        Some(b'\\') => '\\',
                        Some(b'n') => '\n',
                        Some(b'r') => '\r',
                        Some(b't') => '\t',
                        _ => {
                            self.note_expected_at(
                                pos + 1,
                                "one of the escapes `\\\"`, `\\\\`, `\\n`, `\\r` and `\\t`",
                            );
                            return None;
                        }
                    };
                    text.push_str(self.text.get(copied..pos)?);
                    text.push(unescaped);
                    pos += 2;
                    copied = pos;
                }
                Some(0x20..) => pos += 1,
                Some(_) | None => {
                    self.note_expected_at(pos, "a `\"` before the line ends; a string is one line");
                    return None;
                }
            }
        }
        text.push_str(self.text.get(copied..pos)?);
        self.pos = pos + 1;
        Some(text)
    }

    fn parse_array(&mut self) -> Option<Value> {
        let start = self.pos;
        self.pos += 1;
        let mut values = Vec::new();
        self.skip_spaces();
        if let Some(first) = self.parse_value() {
            values.push(first);
            while self.consume_comma() {
                match self.skip_spaces_then(Self::parse_value) {
                    Some(value) => values.push(value),
                    None => break,
                }
            }
        }
        self.skip_spaces();
        if self.consume_byte(b']', "`]`") {
            return Some(Value::Array(values));
        }
        self.pos = start;
        None
    }

    fn parse_hash(&mut self) -> Option<Value> {
        let start = self.pos;
        self.pos += 1;
        let mut map = AttributeMap::new();
        let mut add = |(key, value): (String, Value)| {
            // The tree marks variables and functions with this key, so authors cannot use it.
            if key != "$$mdtype" {
                map.insert(key, value);
            }
        };
        self.skip_spaces();
        if let Some(first) = self.parse_hash_entry() {
            add(first);
            while self.consume_comma() {
                match self.skip_spaces_then(Self::parse_hash_entry) {
                    Some(entry) => add(entry),
                    None => break,
                }
            }
        }
        self.skip_spaces();
        if self.consume_byte(b'}', "`}`") {
            return Some(Value::Hash(map));
        }
        self.pos = start;
        None
    }

    fn parse_hash_entry(&mut self) -> Option<(String, Value)> {
        let start = self.pos;
        let key = match self.peek() {
            Some(b'"') => self.parse_string(),
            _ => self.parse_identifier("a key").map(str::to_owned),
        };
        let entry = key.filter(|_| self.consume_byte(b':', "`:`")).and_then(|key| {
            self.skip_spaces();
            self.parse_value().map(|value| (key, value))
        });
        if entry.is_none() {
            self.pos = start;
        }
        entry
    }

    pub(super) fn parse_function(&mut self) -> Option<Value> {
        let start = self.pos;
        let function = self.parse_function_call();
        if function.is_none() {
            self.pos = start;
        }
        function
    }

    fn parse_function_call(&mut self) -> Option<Value> {
        let name = self.parse_identifier("a name")?.to_owned();
        if !self.consume_byte(b'(', "`(`") {
            return None;
        }
        self.skip_spaces();
        let mut parameters = AttributeMap::new();
        let first = self.parse_parameter();
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
            let before = self.pos;
            if !self.consume_comma() {
                break;
            }
            match self.skip_spaces_then(Self::parse_parameter) {
                // As in the npm package, the other parameters count only if there is a first one.
                Some(parameter) if has_first => add(parameter),
                Some(_) => {}
                None => {
                    self.pos = before;
                    break;
                }
            }
        }
        self.consume_byte(b')', "`)`").then(|| Value::Function(Box::new(Function { name, parameters })))
    }

    fn parse_parameter(&mut self) -> Option<(Option<String>, Value)> {
        let start = self.pos;
        let name = self
            .parse_identifier("a parameter")
            .map(str::to_owned)
            .filter(|_| self.consume_byte(b'=', "`=`"));
        if name.is_none() {
            self.pos = start;
        }
        match self.parse_value() {
            Some(value) => Some((name, value)),
            None => {
                self.pos = start;
                None
            }
        }
    }

    pub(super) fn parse_variable(&mut self) -> Option<Value> {
        let start = self.pos;
        let prefix = self.peek().filter(|byte| matches!(byte, b'$' | b'@'));
        if prefix.is_none() {
            self.note_expected("a variable");
            return None;
        }
        self.pos += 1;
        let Some(name) = self.parse_identifier("a variable's name") else {
            self.pos = start;
            return None;
        };
        let mut path = vec![PathPart::Name(name.to_owned())];
        while let Some(part) = self.parse_path_part() {
            path.push(part);
        }
        if prefix == Some(b'@') {
            // The npm package parses a path that is a plain list, but gives it no meaning.
            let parts = path.into_iter().map(|part| match part {
                PathPart::Name(name) => Value::String(name),
                PathPart::Index(index) => Value::Number(index),
            });
            return Some(Value::Array(parts.collect()));
        }
        Some(Value::Variable(Variable { path }))
    }

    fn parse_path_part(&mut self) -> Option<PathPart> {
        let start = self.pos;
        let part = match self.peek() {
            Some(b'.') => {
                self.pos += 1;
                self.parse_identifier("a name").map(|name| PathPart::Name(name.to_owned()))
            }
            Some(b'[') => {
                self.pos += 1;
                let step = match self.peek() {
                    Some(b'"') => self.parse_string().map(PathPart::Name),
                    _ => self.parse_number().map(PathPart::Index),
                };
                if step.is_none() {
                    self.note_expected("a number or a string");
                }
                step.filter(|_| self.consume_byte(b']', "`]`"))
            }
            _ => None,
        };
        if part.is_none() {
            self.pos = start;
        }
        part
    }
}
