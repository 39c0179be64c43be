//! The syntax between `{%` and `%}`: tags, annotations, variables, functions, and values.
//!
//! The rules are those of the npm package's grammar, in which the first matching alternative is final. So `f(1) x` is a
//! function with invalid text behind it, and not a tag named `f`. This module knows nothing about Markdown.

mod value;

use crate::char_class::{is_identifier_byte, leading_whitespace_len, trim};
use crate::error::excerpt;
use crate::node::{Annotation, AnnotationKind, NodeType};
use crate::span::Span;
use crate::stage::Nesting;
use crate::value::Value;

/// What is between `{%` and `%}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TagSyntax {
    /// `$variable` or `function()`: a value that is rendered in its place.
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

impl TagSyntax {
    /// The attributes, if this kind of tag can have any.
    #[cfg(test)]
    pub(crate) fn attributes(&self) -> &[Annotation] {
        match self {
            TagSyntax::Annotation(attributes)
            | TagSyntax::Open { attributes, .. }
            | TagSyntax::SelfClosing { attributes, .. } => attributes,
            TagSyntax::Interpolation(_) | TagSyntax::Close { .. } => &[],
        }
    }

    /// Converts the spans: `start` maps where something begins, `end` where it ends.
    pub(crate) fn map_spans(
        mut self,
        map_start: impl Fn(u32) -> u32,
        map_end: impl Fn(u32) -> u32,
    ) -> TagSyntax {
        if let TagSyntax::Annotation(attributes)
        | TagSyntax::Open { attributes, .. }
        | TagSyntax::SelfClosing { attributes, .. } = &mut self
        {
            for span in
                attributes.iter_mut().flat_map(|attribute| [&mut attribute.span, &mut attribute.value_span])
            {
                *span = Span::new(map_start(span.start), map_end(span.end));
            }
        }
        self
    }
}

/// Why a text is not a tag. Offsets are bytes of that text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SyntaxError {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl SyntaxError {
    /// Converts the offset.
    pub(crate) fn map_spans(mut self, map_offset: impl Fn(u32) -> u32) -> SyntaxError {
        self.span = Span::new(map_offset(self.span.start), map_offset(self.span.end));
        self
    }
}

/// The type of node for a tag, and whether it opens, closes or is complete.
pub(crate) fn node_kind(syntax: &Result<TagSyntax, SyntaxError>) -> (NodeType, Nesting) {
    match syntax {
        Ok(TagSyntax::Open { .. }) => (NodeType::Tag, Nesting::Open),
        Ok(TagSyntax::Close { .. }) => (NodeType::Tag, Nesting::Close),
        Ok(TagSyntax::SelfClosing { .. } | TagSyntax::Annotation(_)) => (NodeType::Tag, Nesting::Leaf),
        Ok(TagSyntax::Interpolation(_)) => (NodeType::Text, Nesting::Leaf),
        Err(_) => (NodeType::Error, Nesting::Leaf),
    }
}

/// Parses the tag whose `{%` is at `open` and whose `%}` is at `close`. Spans are bytes of `text`.
pub(crate) fn parse_between(text: &str, open: usize, close: usize) -> Result<TagSyntax, SyntaxError> {
    let start = open + "{%".len();
    let inner = text.get(start..close).unwrap_or("");
    let offset = (start + leading_whitespace_len(inner)) as u32;
    match parse(trim(inner)) {
        Ok(syntax) => Ok(syntax.map_spans(|pos| pos + offset, |pos| pos + offset)),
        Err(error) => Err(error.map_spans(|pos| pos + offset)),
    }
}

/// Parses the trimmed text between `{%` and `%}`. Spans are bytes of `text`.
fn parse(text: &str) -> Result<TagSyntax, SyntaxError> {
    let mut parser =
        TagParser { text, bytes: text.as_bytes(), pos: 0, depth: 0, error_offset: 0, expected: Vec::new() };
    let syntax = parser.parse_tag();
    match syntax {
        Some(syntax) if parser.pos == text.len() => Ok(syntax),
        Some(_) => {
            parser.note_expected("the end of the tag");
            Err(parser.syntax_error())
        }
        None => Err(parser.syntax_error()),
    }
}

struct TagParser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    depth: usize,
    /// The furthest position at which parsing failed: errors report it.
    error_offset: usize,
    expected: Vec<&'static str>,
}

/// Every method either parses something and advances behind it, or returns `None` and does not move.
impl TagParser<'_> {
    fn parse_tag(&mut self) -> Option<TagSyntax> {
        if let Some(value) = self.parse_variable().or_else(|| self.parse_function()) {
            return Some(TagSyntax::Interpolation(value));
        }
        if let Some(attributes) = self.parse_attributes() {
            self.skip_spaces();
            return Some(TagSyntax::Annotation(attributes));
        }
        self.parse_open_or_self_closing().or_else(|| self.parse_close())
    }

    fn parse_open_or_self_closing(&mut self) -> Option<TagSyntax> {
        let name = self.parse_identifier("a tag name")?.to_owned();
        self.skip_spaces();
        let mut attributes = Vec::new();
        let start = self.pos;
        if let Some(value) = self.parse_value() {
            let span = self.span_from(start);
            // Exactly one space, as in the npm package: after two spaces no attribute is recognised.
            if self.peek().is_some_and(is_tag_space) {
                self.pos += 1;
            }
            if !value.is_falsy() {
                attributes.push(Annotation {
                    kind: AnnotationKind::Attribute,
                    name: "primary".to_owned(),
                    value,
                    span,
                    value_span: span,
                });
            }
        }
        attributes.extend(self.parse_attributes().unwrap_or_default());
        self.skip_spaces();
        if self.consume_byte(b'/', "`/`") {
            return Some(TagSyntax::SelfClosing { name, attributes });
        }
        Some(TagSyntax::Open { name, attributes })
    }

    fn parse_close(&mut self) -> Option<TagSyntax> {
        let start = self.pos;
        if !self.consume_byte(b'/', "`/`") {
            return None;
        }
        let Some(name) = self.parse_identifier("a tag name") else {
            self.pos = start;
            return None;
        };
        Some(TagSyntax::Close { name: name.to_owned() })
    }

    /// One attribute, then others, each after white space.
    fn parse_attributes(&mut self) -> Option<Vec<Annotation>> {
        let mut attributes = vec![self.parse_attribute()?];
        loop {
            let start = self.pos;
            self.skip_spaces();
            let next = if self.pos > start { self.parse_attribute() } else { None };
            match next {
                Some(attribute) => attributes.push(attribute),
                None => {
                    self.pos = start;
                    return Some(attributes);
                }
            }
        }
    }

    fn parse_attribute(&mut self) -> Option<Annotation> {
        let start = self.pos;
        let attribute = match self.peek() {
            Some(b'#') => {
                self.pos += 1;
                let value_start = self.pos;
                self.parse_identifier("an id").map(|id| {
                    let value = Value::String(id.to_owned());
                    (AnnotationKind::Attribute, "id".to_owned(), value, value_start)
                })
            }
            Some(b'.') => {
                self.pos += 1;
                let value_start = self.pos;
                self.parse_identifier("a class")
                    .map(|class| (AnnotationKind::Class, class.to_owned(), Value::Bool(true), value_start))
            }
            _ => self.parse_named_value(),
        };
        let Some((kind, name, value, value_start)) = attribute else {
            self.pos = start;
            return None;
        };
        let (span, value_span) = (self.span_from(start), self.span_from(value_start));
        Some(Annotation { kind, name, value, span, value_span })
    }

    fn parse_named_value(&mut self) -> Option<(AnnotationKind, String, Value, usize)> {
        let name = self.parse_identifier("an attribute")?.to_owned();
        if !self.consume_byte(b'=', "`=`") {
            return None;
        }
        let value_start = self.pos;
        let value = self.parse_value()?;
        Some((AnnotationKind::Attribute, name, value, value_start))
    }

    /// A comma with optional white space before it.
    fn consume_comma(&mut self) -> bool {
        let start = self.pos;
        self.skip_spaces();
        let matched = self.consume_byte(b',', "`,`");
        if !matched {
            self.pos = start;
        }
        matched
    }

    /// Parses an item behind white space. Does not move if there is none.
    fn skip_spaces_then<T>(&mut self, parse_item: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.pos;
        self.skip_spaces();
        let parsed = parse_item(self);
        if parsed.is_none() {
            self.pos = start;
        }
        parsed
    }

    fn parse_identifier(&mut self, expectation: &'static str) -> Option<&str> {
        let rest = self.bytes.get(self.pos..)?;
        let length = rest.iter().take_while(|byte| is_identifier_byte(**byte)).count();
        if length == 0 {
            self.note_expected(expectation);
            return None;
        }
        let start = self.pos;
        self.pos += length;
        self.text.get(start..self.pos)
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_tag_space) {
            self.pos += 1;
        }
    }

    fn consume_byte(&mut self, byte: u8, expectation: &'static str) -> bool {
        let matched = self.peek() == Some(byte);
        if matched {
            self.pos += 1;
        } else {
            self.note_expected(expectation);
        }
        matched
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.pos as u32)
    }

    fn note_expected(&mut self, expectation: &'static str) {
        self.note_expected_at(self.pos, expectation);
    }

    fn note_expected_at(&mut self, pos: usize, expectation: &'static str) {
        if pos > self.error_offset {
            self.error_offset = pos;
            self.expected.clear();
        }
        if pos == self.error_offset && !self.expected.contains(&expectation) {
            self.expected.push(expectation);
        }
    }

    fn syntax_error(&self) -> SyntaxError {
        let rest = self.text.get(self.error_offset..).unwrap_or("");
        let next_char = rest.chars().next();
        let (length, found) = match next_char {
            Some(c) if c.is_whitespace() => (c.len_utf8(), "white space".to_owned()),
            Some(c) => (c.len_utf8(), format!("`{}`", excerpt(c.encode_utf8(&mut [0; 4])))),
            None => (0, "the end of the tag".to_owned()),
        };
        let mut expected: Vec<&str> =
            self.expected.iter().copied().filter(|expectation| !found.ends_with(expectation)).collect();
        // Many things can begin a value, so the message says only "a value".
        if expected.contains(&"a value") {
            expected = vec!["a value"];
        }
        let start = self.error_offset as u32;
        SyntaxError {
            span: Span::new(start, start + length as u32),
            message: format!("{found} does not fit in this tag; expected {}", expected.join(", or ")),
        }
    }
}

fn is_tag_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute_map::AttributeMap;
    use crate::limits::VALUE_DEPTH_MAX;

    fn tag_json(text: &str) -> String {
        match parse(text) {
            Ok(TagSyntax::Interpolation(value)) => serde_json::to_string(&value).unwrap(),
            Ok(syntax) => {
                let attributes: AttributeMap = syntax
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
    fn tag_parses_values_of_every_type() {
        assert_eq!(
            tag_json(r#"t a=null b=true c=-1.5 d="x\"\n" e=[1, [2],] f={k: 1, "l m": $v} g=f(1, k=2) h=$a.b["c"][0]"#),
            r#"{"a":null,"b":true,"c":-1.5,"d":"x\"\n","e":[1,[2]],"f":{"k":1,"l m":{"$$mdtype":"Variable","path":["v"]}},"#
                .to_owned()
                + r#""g":{"$$mdtype":"Function","name":"f","parameters":{"0":1,"k":2}},"#
                + r#""h":{"$$mdtype":"Variable","path":["a","b","c",0]}}"#
        );
    }

    #[test]
    fn tag_grammar_does_not_backtrack() {
        assert_eq!(tag_json("t nullable=1"), r#"{"able":1}"#);
        assert_eq!(tag_json("t \"a\" b=1"), r#"{"primary":"a","b":1}"#);
        assert!(tag_json("t \"a\"  b=1").starts_with("7..8 `b` does not fit"));
        assert!(tag_json("f(1) x").starts_with("4..5 white space does not fit"));
        assert!(tag_json("a=1 b").contains("expected"));
    }

    #[test]
    fn tag_drops_falsy_primary_values() {
        for text in ["t 0", "t false", "t null", "t \"\"", "t -0"] {
            assert_eq!(tag_json(text), "{}", "{text}");
        }
        assert_eq!(tag_json("t []"), r#"{"primary":[]}"#);
    }

    #[test]
    fn attribute_spans_cover_name_and_value() {
        let text = r#"t "p" #i .c a = b="x y""#.replace(" = ", "=1 ");
        let syntax = parse(&text).unwrap();
        let spans: Vec<(&str, &str)> =
            syntax.attributes().iter().map(|a| (a.span.slice(&text), a.value_span.slice(&text))).collect();
        assert_eq!(
            spans,
            [("\"p\"", "\"p\""), ("#i", "i"), (".c", "c"), ("a=1", "1"), ("b=\"x y\"", "\"x y\"")]
        );
    }

    #[test]
    fn tag_rejects_too_deeply_nested_values() {
        let nested = |depth: usize| format!("t a={}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(VALUE_DEPTH_MAX)).is_ok());
        let error = parse(&nested(100_000)).unwrap_err();
        assert!(error.message.contains("nests less deep") || error.message.contains("a value"), "{error:?}");
    }
}
