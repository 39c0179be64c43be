//! The syntax between `{%` and `%}`: tags, annotations, variables, functions, and the values of attributes.
//!
//! The rules are those of the original's grammar, in which the first alternative that fits is taken for good. So
//! `f(1) x` is a function with rubbish after it, and not a tag named `f`. Nothing here knows about Markdown.

mod value;

use crate::characters::{is_identifier, leading_space, trim};
use crate::error::shown;
use crate::node::{Annotation, AnnotationType, NodeType};
use crate::span::Span;
use crate::value::Value;

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

/// What a tag becomes: the type of its node, and whether it opens (1), closes (−1) or is one piece (0).
pub(crate) fn shape(syntax: &Result<Syntax, SyntaxError>) -> (NodeType, i8) {
    match syntax {
        Ok(Syntax::Open { .. }) => (NodeType::Tag, 1),
        Ok(Syntax::Close { .. }) => (NodeType::Tag, -1),
        Ok(Syntax::SelfClosing { .. } | Syntax::Annotation(_)) => (NodeType::Tag, 0),
        Ok(Syntax::Interpolation(_)) => (NodeType::Text, 0),
        Err(_) => (NodeType::Error, 0),
    }
}

/// Reads the tag whose `{%` is at `open` and whose `%}` is at `close`. Spans are bytes of `text`.
pub(crate) fn between(text: &str, open: usize, close: usize) -> Result<Syntax, SyntaxError> {
    let start = open + "{%".len();
    let inner = text.get(start..close).unwrap_or("");
    let offset = (start + leading_space(inner)) as u32;
    match parse(trim(inner)) {
        Ok(syntax) => Ok(syntax.moved(|at| at + offset, |at| at + offset)),
        Err(error) => Err(error.moved(|at| at + offset)),
    }
}

/// Reads what stands between `{%` and `%}`, without the white space around it. Spans are bytes of `text`.
fn parse(text: &str) -> Result<Syntax, SyntaxError> {
    let mut reader =
        Reader { text, bytes: text.as_bytes(), at: 0, depth: 0, furthest: 0, expected: Vec::new() };
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
            Some(c) if c.is_whitespace() => (c.len_utf8(), "white space".to_owned()),
            Some(c) => (c.len_utf8(), format!("`{}`", shown(c.encode_utf8(&mut [0; 4])))),
            None => (0, "the end of the tag".to_owned()),
        };
        let mut expected: Vec<&str> =
            self.expected.iter().copied().filter(|what| !found.ends_with(what)).collect();
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
    use crate::limits::VALUE_DEPTH_MAX;
    use crate::map::Map;

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
        assert!(json("f(1) x").starts_with("4..5 white space does not fit"));
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
