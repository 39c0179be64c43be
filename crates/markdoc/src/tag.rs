//! The syntax between `{%` and `%}`: tags, annotations, variables, functions, and the values of attributes.
//!
//! The rules are those of the original's grammar, in which the first alternative that fits is taken for good: `f(1) x` is a
//! function with rubbish after it and not a tag named `f`. Nothing here knows about Markdown.

use crate::characters::is_identifier;
use crate::error::shown;
use crate::limits::VALUE_DEPTH_MAX;
use crate::map::Map;
use crate::node::{Annotation, AnnotationType};
use crate::span::Span;
use crate::value::{Function, PathPart, Value, Variable};

/// What a pair of `{%` and `%}` holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Syntax {
    /// `$variable` or `function()`: a value that is shown in its place.
    Interpolation(Value),
    /// `.class #id name=value`
    Annotation(Vec<Annotation>),
    /// `name …`
    Open { name: String, attributes: Vec<Annotation> },
    /// `name … /`
    SelfClosing { name: String, attributes: Vec<Annotation> },
    /// `/name`
    Close { name: String },
}

impl Syntax {
    /// The attributes, if it is something that has any.
    #[cfg(test)]
    pub(crate) fn attributes(&self) -> &[Annotation] {
        match self {
            Syntax::Annotation(attributes)
            | Syntax::Open { attributes, .. }
            | Syntax::SelfClosing { attributes, .. } => attributes,
            Syntax::Interpolation(_) | Syntax::Close { .. } => &[],
        }
    }

    /// The same with other spans: `start` moves where something begins, `end` where it ends.
    pub(crate) fn moved(mut self, start: impl Fn(u32) -> u32, end: impl Fn(u32) -> u32) -> Syntax {
        if let Syntax::Annotation(attributes)
        | Syntax::Open { attributes, .. }
        | Syntax::SelfClosing { attributes, .. } = &mut self
        {
            for span in attributes.iter_mut().flat_map(|it| [&mut it.span, &mut it.value_span]) {
                *span = Span::new(start(span.start), end(span.end));
            }
        }
        self
    }
}

/// Why a text is no tag. Offsets are bytes of that text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SyntaxError {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl SyntaxError {
    /// The same elsewhere.
    pub(crate) fn moved(mut self, place: impl Fn(u32) -> u32) -> SyntaxError {
        self.span = Span::new(place(self.span.start), place(self.span.end));
        self
    }
}

/// Reads what stands between `{%` and `%}`, without the white space around it. Spans are bytes of `text`.
pub(crate) fn parse(text: &str) -> Result<Syntax, SyntaxError> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0, furthest: 0, expected: Vec::new() };
    let syntax = reader.top();
    match syntax {
        Some(syntax) if reader.at == text.len() => Ok(syntax),
        Some(_) => {
            reader.expect("the end of the tag");
            Err(reader.error())
        }
        None => Err(reader.error()),
    }
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    /// The furthest place at which something else was expected: what an error is about.
    furthest: usize,
    expected: Vec<&'static str>,
}

/// Every method either reads something and stands behind it, or gives `None` and stands where it stood.
impl Reader<'_> {
    fn top(&mut self) -> Option<Syntax> {
        if let Some(value) = self.variable().or_else(|| self.function()) {
            return Some(Syntax::Interpolation(value));
        }
        if let Some(attributes) = self.attributes() {
            self.spaces();
            return Some(Syntax::Annotation(attributes));
        }
        self.open_or_self_closing().or_else(|| self.close())
    }

    fn open_or_self_closing(&mut self) -> Option<Syntax> {
        let name = self.identifier("a tag name")?.to_owned();
        self.spaces();
        let mut attributes = Vec::new();
        let start = self.at;
        if let Some(value) = self.value() {
            let span = self.span_from(start);
            // One space and no more, as in the original: after two of them no attribute is found.
            if self.peek().is_some_and(is_space) {
                self.at += 1;
            }
            if !value.is_falsy() {
                attributes.push(Annotation {
                    kind: AnnotationType::Attribute,
                    name: "primary".to_owned(),
                    value,
                    span,
                    value_span: span,
                });
            }
        }
        attributes.extend(self.attributes().unwrap_or_default());
        self.spaces();
        if self.byte(b'/', "`/`") {
            return Some(Syntax::SelfClosing { name, attributes });
        }
        Some(Syntax::Open { name, attributes })
    }

    fn close(&mut self) -> Option<Syntax> {
        let start = self.at;
        if !self.byte(b'/', "`/`") {
            return None;
        }
        let Some(name) = self.identifier("a tag name") else {
            self.at = start;
            return None;
        };
        Some(Syntax::Close { name: name.to_owned() })
    }

    /// One attribute, then others with white space before each.
    fn attributes(&mut self) -> Option<Vec<Annotation>> {
        let mut attributes = vec![self.attribute()?];
        loop {
            let start = self.at;
            self.spaces();
            let next = if self.at > start { self.attribute() } else { None };
            match next {
                Some(attribute) => attributes.push(attribute),
                None => {
                    self.at = start;
                    return Some(attributes);
                }
            }
        }
    }

    fn attribute(&mut self) -> Option<Annotation> {
        let start = self.at;
        let attribute = match self.peek() {
            Some(b'#') => {
                self.at += 1;
                let value_start = self.at;
                self.identifier("an id").map(|id| {
                    let value = Value::String(id.to_owned());
                    (AnnotationType::Attribute, "id".to_owned(), value, value_start)
                })
            }
            Some(b'.') => {
                self.at += 1;
                let value_start = self.at;
                self.identifier("a class")
                    .map(|class| (AnnotationType::Class, class.to_owned(), Value::Bool(true), value_start))
            }
            _ => self.named_value(),
        };
        let Some((kind, name, value, value_start)) = attribute else {
            self.at = start;
            return None;
        };
        let (span, value_span) = (self.span_from(start), self.span_from(value_start));
        Some(Annotation { kind, name, value, span, value_span })
    }

    fn named_value(&mut self) -> Option<(AnnotationType, String, Value, usize)> {
        let name = self.identifier("an attribute")?.to_owned();
        if !self.byte(b'=', "`=`") {
            return None;
        }
        let value_start = self.at;
        let value = self.value()?;
        Some((AnnotationType::Attribute, name, value, value_start))
    }

    fn value(&mut self) -> Option<Value> {
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
                            self.expect_at(at + 1, "one of the escapes `\\\"`, `\\\\`, `\\n`, `\\r` and `\\t`");
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

    fn function(&mut self) -> Option<Value> {
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
        self.byte(b')', "`)`").then_some(Value::Function(Function { name, parameters }))
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

    fn variable(&mut self) -> Option<Value> {
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

    /// A comma with white space before it.
    fn comma(&mut self) -> bool {
        let start = self.at;
        self.spaces();
        let found = self.byte(b',', "`,`");
        if !found {
            self.at = start;
        }
        found
    }

    /// Reads something behind white space; stands before that white space if there is nothing.
    fn after_spaces<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        self.spaces();
        let found = read(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    fn identifier(&mut self, what: &'static str) -> Option<&str> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().take_while(|byte| is_identifier(**byte)).count();
        if length == 0 {
            self.expect(what);
            return None;
        }
        let start = self.at;
        self.at += length;
        self.text.get(start..self.at)
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn byte(&mut self, byte: u8, what: &'static str) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        } else {
            self.expect(what);
        }
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    fn expect(&mut self, what: &'static str) {
        self.expect_at(self.at, what);
    }

    fn expect_at(&mut self, at: usize, what: &'static str) {
        if at > self.furthest {
            self.furthest = at;
            self.expected.clear();
        }
        if at == self.furthest && !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    fn error(&self) -> SyntaxError {
        let rest = self.text.get(self.furthest..).unwrap_or("");
        let found = rest.chars().next();
        let (length, found) = match found {
            Some(c) => (c.len_utf8(), format!("`{}`", shown(c.encode_utf8(&mut [0; 4])))),
            None => (0, "the end of the tag".to_owned()),
        };
        let mut expected: Vec<&str> = self.expected.iter().copied().filter(|what| !found.ends_with(what)).collect();
        // A value can be so many things that only the word helps.
        if expected.contains(&"a value") {
            expected = vec!["a value"];
        }
        let start = self.furthest as u32;
        SyntaxError {
            span: Span::new(start, start + length as u32),
            message: format!("{found} does not fit in this tag; expected {}", expected.join(", or ")),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        match parse(text) {
            Ok(Syntax::Interpolation(value)) => serde_json::to_string(&value).unwrap(),
            Ok(syntax) => {
                let attributes: Map = syntax
                    .attributes()
                    .iter()
                    .map(|attribute| (attribute.name.clone(), attribute.value.clone()))
                    .collect();
                serde_json::to_string(&attributes).unwrap()
            }
            Err(error) => format!("{}..{} {}", error.span.start, error.span.end, error.message),
        }
    }

    #[test]
    fn values_of_every_type() {
        assert_eq!(
            json(r#"t a=null b=true c=-1.5 d="x\"\n" e=[1, [2],] f={k: 1, "l m": $v} g=f(1, k=2) h=$a.b["c"][0]"#),
            r#"{"a":null,"b":true,"c":-1.5,"d":"x\"\n","e":[1,[2]],"f":{"k":1,"l m":{"$$mdtype":"Variable","path":["v"]}},"#
                .to_owned()
                + r#""g":{"$$mdtype":"Function","name":"f","parameters":{"0":1,"k":2}},"#
                + r#""h":{"$$mdtype":"Variable","path":["a","b","c",0]}}"#
        );
    }

    #[test]
    fn the_first_alternative_is_taken_for_good() {
        assert_eq!(json("t nullable=1"), r#"{"able":1}"#);
        assert_eq!(json("t \"a\" b=1"), r#"{"primary":"a","b":1}"#);
        assert!(json("t \"a\"  b=1").starts_with("7..8 `b` does not fit"));
        assert!(json("f(1) x").starts_with("4..5 ` ` does not fit"));
        assert!(json("a=1 b").contains("expected"));
    }

    #[test]
    fn falsy_primary_values_are_dropped() {
        for text in ["t 0", "t false", "t null", "t \"\"", "t -0"] {
            assert_eq!(json(text), "{}", "{text}");
        }
        assert_eq!(json("t []"), r#"{"primary":[]}"#);
    }

    #[test]
    fn spans_of_attributes_and_values() {
        let text = r#"t "p" #i .c a = b="x y""#.replace(" = ", "=1 ");
        let syntax = parse(&text).unwrap();
        let spans: Vec<(&str, &str)> =
            syntax.attributes().iter().map(|a| (a.span.of(&text), a.value_span.of(&text))).collect();
        assert_eq!(
            spans,
            [("\"p\"", "\"p\""), ("#i", "i"), (".c", "c"), ("a=1", "1"), ("b=\"x y\"", "\"x y\"")]
        );
    }

    #[test]
    fn deep_values_are_refused_and_not_recursed_into() {
        let nested = |depth: usize| format!("t a={}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(VALUE_DEPTH_MAX)).is_ok());
        let error = parse(&nested(100_000)).unwrap_err();
        assert!(error.message.contains("nests less deep") || error.message.contains("a value"), "{error:?}");
    }
}
