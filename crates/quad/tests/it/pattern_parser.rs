//! Parses patterns. [`crate::pattern`] describes the language.

use serde_json::Value;

use crate::pattern::{Element, Member, Pattern, ValueKind};

/// Parses a text that is one pattern.
pub fn parse(source: &str) -> Result<Pattern, String> {
    let mut parser = Parser { source, position: 0 };
    let pattern = parser.parse_pattern()?;
    parser.skip_whitespace();
    if parser.rest().is_empty() { Ok(pattern) } else { Err(parser.unexpected("the end")) }
}

struct Parser<'a> {
    source: &'a str,
    position: usize,
}

impl<'a> Parser<'a> {
    fn parse_pattern(&mut self) -> Result<Pattern, String> {
        let mut pattern = self.parse_simple()?;
        while self.take_word_if("as") {
            pattern = Pattern::Capture(Box::new(pattern), self.parse_variable()?);
        }
        Ok(pattern)
    }

    fn parse_simple(&mut self) -> Result<Pattern, String> {
        self.skip_whitespace();
        match self.rest().chars().next() {
            Some('…') => {
                self.position += '…'.len_utf8();
                Ok(Pattern::Any)
            }
            Some('"') => Ok(Pattern::Text(self.parse_string()?)),
            Some('[') => self.parse_array(),
            Some('{') => self.parse_object(false),
            Some('$') => Ok(Pattern::Reference(self.parse_variable()?)),
            Some('-' | '0'..='9') => self.parse_number(),
            Some(c) if c.is_ascii_alphabetic() => self.parse_keyword(),
            _ => Err(self.unexpected("a pattern")),
        }
    }

    fn parse_keyword(&mut self) -> Result<Pattern, String> {
        let word = self.take_word();
        Ok(match word {
            "null" => Pattern::Literal(Value::Null),
            "true" => Pattern::Literal(true.into()),
            "false" => Pattern::Literal(false.into()),
            "any" => Pattern::Any,
            "absent" => Pattern::Absent,
            "not" => Pattern::Not(Box::new(self.parse_pattern()?)),
            "each" => Pattern::Each(Box::new(self.parse_pattern()?)),
            "exactly" => {
                self.skip_whitespace();
                self.parse_object(true)?
            }
            _ => Pattern::Kind(
                ValueKind::parse(word).ok_or_else(|| format!("`{word}` is not a word of patterns"))?,
            ),
        })
    }

    fn parse_array(&mut self) -> Result<Pattern, String> {
        self.expect_token('[')?;
        let mut elements = Vec::new();
        while !self.take_token_if(']') {
            self.skip_whitespace();
            if self.rest().starts_with('…') {
                self.position += '…'.len_utf8();
                elements.push(Element::Wildcard);
            } else {
                elements.push(Element::Item(self.parse_pattern()?));
            }
            if !self.take_token_if(',') {
                self.expect_token(']')?;
                break;
            }
        }
        Ok(Pattern::Array(elements))
    }

    fn parse_object(&mut self, exact: bool) -> Result<Pattern, String> {
        self.expect_token('{')?;
        let mut members = Vec::new();
        while !self.take_token_if('}') {
            self.skip_whitespace();
            let name = self.parse_string()?;
            self.expect_token(':')?;
            let pattern = self.parse_pattern()?;
            let (name, as_json) = match name.strip_suffix(":json") {
                Some(name) => (name.to_owned(), true),
                None => (name, false),
            };
            members.push(Member { name, as_json, pattern });
            if !self.take_token_if(',') {
                self.expect_token('}')?;
                break;
            }
        }
        Ok(Pattern::Object { members, exact })
    }

    fn parse_string(&mut self) -> Result<String, String> {
        let mut escaped = false;
        let mut chars = self.rest().char_indices().skip(1);
        let end = chars.find(|(_, c)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        });
        let (Some((end, _)), true) = (end, self.rest().starts_with('"')) else {
            return Err(self.unexpected("a string"));
        };
        let source = &self.rest()[..=end];
        self.position += source.len();
        serde_json::from_str(source).map_err(|error| format!("{source}: {error}"))
    }

    fn parse_number(&mut self) -> Result<Pattern, String> {
        let length = self.rest().find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
        let source = &self.rest()[..length.unwrap_or(self.rest().len())];
        self.position += source.len();
        serde_json::from_str(source).map(Pattern::Literal).map_err(|error| format!("{source}: {error}"))
    }

    fn parse_variable(&mut self) -> Result<String, String> {
        self.expect_token('$')?;
        let word = self.take_word();
        if word.is_empty() { Err(self.unexpected("a name")) } else { Ok(word.to_owned()) }
    }

    fn take_word(&mut self) -> &'a str {
        let rest = &self.source[self.position..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    fn take_word_if(&mut self, word: &str) -> bool {
        self.skip_whitespace();
        let start = self.position;
        if self.take_word() == word {
            return true;
        }
        self.position = start;
        false
    }

    fn take_token_if(&mut self, token: char) -> bool {
        self.skip_whitespace();
        let is_match = self.rest().starts_with(token);
        if is_match {
            self.position += token.len_utf8();
        }
        is_match
    }

    fn expect_token(&mut self, token: char) -> Result<(), String> {
        if self.take_token_if(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    fn skip_whitespace(&mut self) {
        self.position += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.source[self.position..]
    }

    fn unexpected(&self, expected: &str) -> String {
        let snippet: String = self.rest().chars().take(30).collect();
        if snippet.is_empty() {
            format!("expected {expected} at the end")
        } else {
            format!("expected {expected} at `{snippet}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_pattern() {
        let check = |source: &str, expect: &str| assert_eq!(parse(source).unwrap_err(), expect, "{source}");
        check("{", "expected a string at the end");
        check("[1", "expected `]` at the end");
        check("[1] 2", "expected the end at `2`");
        check("frob", "`frob` is not a word of patterns");
        check(r#"{"a" 1}"#, "expected `:` at `1}`");
        check("1 as b", "expected `$` at `b`");
        check("exactly []", "expected `{` at `[]`");
    }

    #[test]
    fn plain_json_parses_to_same_value() {
        for json in [r#"{"a":[1,-2.5e3,"x\"y",null,true,{}],"b":[]}"#, "[]", "\"é\""] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(parse(json).unwrap().fill(&Default::default()).unwrap(), value);
        }
    }
}
