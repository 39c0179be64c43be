//! Reads patterns. The language is described in [`crate::pattern`].

use serde_json::Value;

use crate::pattern::{Element, Member, Pattern, Sort};

/// Reads one pattern, which must be all of the text.
pub fn parse(source: &str) -> Result<Pattern, String> {
    let mut parser = Parser { source, at: 0 };
    let pattern = parser.pattern()?;
    parser.space();
    if parser.rest().is_empty() { Ok(pattern) } else { Err(parser.unexpected("the end")) }
}

struct Parser<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn pattern(&mut self) -> Result<Pattern, String> {
        let mut pattern = self.simple()?;
        while self.word_is("as") {
            pattern = Pattern::Keep(Box::new(pattern), self.name()?);
        }
        Ok(pattern)
    }

    fn simple(&mut self) -> Result<Pattern, String> {
        self.space();
        match self.rest().chars().next() {
            Some('…') => {
                self.at += '…'.len_utf8();
                Ok(Pattern::Any)
            }
            Some('"') => Ok(Pattern::Text(self.string()?)),
            Some('[') => self.array(),
            Some('{') => self.object(false),
            Some('$') => Ok(Pattern::Kept(self.name()?)),
            Some('-' | '0'..='9') => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.word_pattern(),
            _ => Err(self.unexpected("a pattern")),
        }
    }

    fn word_pattern(&mut self) -> Result<Pattern, String> {
        let word = self.word();
        Ok(match word {
            "null" => Pattern::Literal(Value::Null),
            "true" => Pattern::Literal(true.into()),
            "false" => Pattern::Literal(false.into()),
            "any" => Pattern::Any,
            "absent" => Pattern::Absent,
            "not" => Pattern::Not(Box::new(self.pattern()?)),
            "each" => Pattern::Each(Box::new(self.pattern()?)),
            "exactly" => {
                self.space();
                self.object(true)?
            }
            _ => {
                Pattern::Sort(Sort::parse(word).ok_or_else(|| format!("`{word}` is not a word of patterns"))?)
            }
        })
    }

    fn array(&mut self) -> Result<Pattern, String> {
        self.token('[')?;
        let mut elements = Vec::new();
        while !self.takes(']') {
            self.space();
            if self.rest().starts_with('…') {
                self.at += '…'.len_utf8();
                elements.push(Element::Run);
            } else {
                elements.push(Element::One(self.pattern()?));
            }
            if !self.takes(',') {
                self.token(']')?;
                break;
            }
        }
        Ok(Pattern::Array(elements))
    }

    fn object(&mut self, exact: bool) -> Result<Pattern, String> {
        self.token('{')?;
        let mut members = Vec::new();
        while !self.takes('}') {
            self.space();
            let name = self.string()?;
            self.token(':')?;
            let pattern = self.pattern()?;
            let (name, as_json) = match name.strip_suffix(":json") {
                Some(name) => (name.to_owned(), true),
                None => (name, false),
            };
            members.push(Member { name, as_json, pattern });
            if !self.takes(',') {
                self.token('}')?;
                break;
            }
        }
        Ok(Pattern::Object { members, exact })
    }

    fn string(&mut self) -> Result<String, String> {
        let mut escaped = false;
        let mut inside = self.rest().char_indices().skip(1);
        let end = inside.find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let (Some((end, _)), true) = (end, self.rest().starts_with('"')) else {
            return Err(self.unexpected("a string"));
        };
        let source = &self.rest()[..=end];
        self.at += source.len();
        serde_json::from_str(source).map_err(|error| format!("{source}: {error}"))
    }

    fn number(&mut self) -> Result<Pattern, String> {
        let length = self.rest().find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
        let source = &self.rest()[..length.unwrap_or(self.rest().len())];
        self.at += source.len();
        serde_json::from_str(source).map(Pattern::Literal).map_err(|error| format!("{source}: {error}"))
    }

    fn name(&mut self) -> Result<String, String> {
        self.token('$')?;
        let word = self.word();
        if word.is_empty() { Err(self.unexpected("a name")) } else { Ok(word.to_owned()) }
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.source[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word_is(&mut self, word: &str) -> bool {
        self.space();
        let before = self.at;
        if self.word() == word {
            return true;
        }
        self.at = before;
        false
    }

    fn takes(&mut self, token: char) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len_utf8();
        }
        found
    }

    fn token(&mut self, token: char) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn unexpected(&self, wanted: &str) -> String {
        let near: String = self.rest().chars().take(30).collect();
        if near.is_empty() {
            format!("expected {wanted} at the end")
        } else {
            format!("expected {wanted} at `{near}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_pattern() {
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
    fn reads_plain_json_as_itself() {
        for json in [r#"{"a":[1,-2.5e3,"x\"y",null,true,{}],"b":[]}"#, "[]", "\"é\""] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(parse(json).unwrap().fill(&Default::default()).unwrap(), value);
        }
    }
}
