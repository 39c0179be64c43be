//! The template parser: one pass without backtracking. Reports the first error.

use thiserror::Error;

use crate::limits::TEMPLATE_BYTES_MAX;
use crate::raw_uri::is_scheme;
use crate::template::Segment;

/// Why a string is not a supported template. Offsets are bytes of the source text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// Longer than [`TEMPLATE_BYTES_MAX`].
    #[error("the template is longer than {TEMPLATE_BYTES_MAX} bytes")]
    TooLong,
    /// No lower-case scheme and `://` at the start.
    #[error("the template does not begin with a lower-case scheme and `://`")]
    BadScheme,
    /// A segment that is empty, `.` or `..`.
    #[error("the path segment before byte {offset} is empty, `.` or `..`")]
    BadSegment {
        /// The offset of the end of the segment.
        offset: usize,
    },
    /// A brace without a matching one.
    #[error("the brace at byte {offset} has no partner")]
    UnmatchedBrace {
        /// Its offset.
        offset: usize,
    },
    /// A character that is not allowed in a literal, such as the `?` of a query that is not `{?…}`.
    #[error("the literal character at byte {offset} is not allowed in a template")]
    BadLiteral {
        /// Its offset.
        offset: usize,
    },
    /// An operator, modifier or list on which clients disagree.
    #[error("`{{{expression}}}` is not one of {{x}}, {{+x}}, {{/x}} and {{?a,b}}")]
    Unsupported {
        /// The text between the braces.
        expression: String,
    },
    /// Two variables in one segment, adjacent or not.
    #[error("`{name}` shares a segment with another expression, so a match would be ambiguous")]
    SharedSegment {
        /// The second variable.
        name: String,
    },
    /// Something other than `{?…}` after `{+x}` or `{/x}`, or anything after `{?…}`.
    #[error("only a query may follow `{{+x}}` or `{{/x}}`, and nothing a query (byte {offset})")]
    NotLast {
        /// The offset of what follows.
        offset: usize,
    },
    /// Two variables with one name.
    #[error("the variable `{name}` occurs twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

/// The parts of a template.
pub(crate) struct ParsedTemplate {
    pub(crate) scheme_len: usize,
    pub(crate) segments: Vec<Segment>,
    pub(crate) query: Vec<String>,
}

/// Parses a template. The caller checks that the names are distinct.
pub(crate) fn parse(source: &str) -> Result<ParsedTemplate, TemplateError> {
    if source.len() > TEMPLATE_BYTES_MAX {
        return Err(TemplateError::TooLong);
    }
    let (scheme, path) = source.split_once("://").ok_or(TemplateError::BadScheme)?;
    if !is_scheme(scheme) || scheme.contains(|c: char| c.is_ascii_uppercase()) {
        return Err(TemplateError::BadScheme);
    }
    let mut parser = Parser { offset: scheme.len() + "://".len(), ..Parser::default() };
    parser.parse_path(path)?;
    Ok(ParsedTemplate { scheme_len: scheme.len(), segments: parser.segments, query: parser.query })
}

/// Parses the text after `://` from left to right.
#[derive(Default)]
struct Parser {
    offset: usize,
    segments: Vec<Segment>,
    query: Vec<String>,
    /// The current segment: the literal before its variable, then the variable with the literal after
    /// it.
    prefix: String,
    variable: Option<(String, String)>,
    /// Whether only a query may follow.
    path_ended: bool,
    query_ended: bool,
}

impl Parser {
    fn parse_path(&mut self, mut rest: &str) -> Result<(), TemplateError> {
        while let Some(next) = rest.chars().next() {
            let consumed = if next == '{' {
                let Some((expression, _)) = rest[1..].split_once('}') else {
                    return Err(TemplateError::UnmatchedBrace { offset: self.offset });
                };
                self.push_expression(expression)?;
                expression.len() + 2
            } else {
                self.push_literal(next)?;
                next.len_utf8()
            };
            self.offset += consumed;
            rest = &rest[consumed..];
        }
        if self.path_ended { Ok(()) } else { self.end_segment() }
    }

    fn push_literal(&mut self, character: char) -> Result<(), TemplateError> {
        if self.path_ended {
            return Err(TemplateError::NotLast { offset: self.offset });
        }
        match character {
            '/' => self.end_segment()?,
            '}' => return Err(TemplateError::UnmatchedBrace { offset: self.offset }),
            // The characters that a path may have unescaped, except `@`, which looks like a user name.
            c if c.is_ascii_alphanumeric() || "-._~:!$&'()*+,;=".contains(c) => match &mut self.variable {
                Some((_, suffix)) => suffix.push(c),
                None => self.prefix.push(c),
            },
            _ => return Err(TemplateError::BadLiteral { offset: self.offset }),
        }
        Ok(())
    }

    fn push_expression(&mut self, expression: &str) -> Result<(), TemplateError> {
        let unsupported = || TemplateError::Unsupported { expression: expression.to_owned() };
        let (operator, names) = match expression.chars().next() {
            Some(operator @ ('?' | '/' | '+')) => (operator, &expression[1..]),
            _ => (' ', expression),
        };
        let is_query = operator == '?';
        if self.query_ended || (self.path_ended && !is_query) {
            return Err(TemplateError::NotLast { offset: self.offset });
        }
        if is_query {
            if !names.split(',').all(is_variable_name) {
                return Err(unsupported());
            }
            if !self.path_ended {
                self.end_segment()?;
            }
            self.query = names.split(',').map(str::to_owned).collect();
            self.path_ended = true;
            self.query_ended = true;
            return Ok(());
        }
        if !is_variable_name(names) {
            return Err(unsupported());
        }
        let name = names.to_owned();
        match operator {
            '/' => {
                self.end_segment()?;
                self.segments.push(Segment::Optional { name });
                self.path_ended = true;
            }
            '+' if self.variable.is_some() || !self.prefix.is_empty() => {
                return Err(TemplateError::SharedSegment { name });
            }
            '+' => {
                self.segments.push(Segment::Tail { name });
                self.path_ended = true;
            }
            _ if self.variable.is_some() => return Err(TemplateError::SharedSegment { name }),
            _ => self.variable = Some((name, String::new())),
        }
        Ok(())
    }

    fn end_segment(&mut self) -> Result<(), TemplateError> {
        let prefix = std::mem::take(&mut self.prefix);
        let segment = match self.variable.take() {
            Some((name, suffix)) => Segment::Variable { prefix, name, suffix },
            None if matches!(prefix.as_str(), "" | "." | "..") => {
                return Err(TemplateError::BadSegment { offset: self.offset });
            }
            None => Segment::Literal(prefix),
        };
        self.segments.push(segment);
        Ok(())
    }
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[test]
    fn parse_rejects_unsupported_templates() {
        use TemplateError::*;
        let check = |source: &str, expect: TemplateError| {
            assert_eq!(Template::parse(source), Err(expect), "{source}");
        };
        let unsupported = |expression: &str| Unsupported { expression: expression.to_owned() };
        check("node/{id}", BadScheme);
        check("Amem://node", BadScheme);
        check("a://", BadSegment { offset: 4 });
        check("a://b/", BadSegment { offset: 6 });
        check("a://b//c", BadSegment { offset: 6 });
        check("a://b/../c", BadSegment { offset: 8 });
        check("a://b/{/c}", BadSegment { offset: 6 });
        check("a://b/{id", UnmatchedBrace { offset: 6 });
        check("a://b/id}", UnmatchedBrace { offset: 8 });
        check("a://b?x=1", BadLiteral { offset: 5 });
        check("a://b%20", BadLiteral { offset: 5 });
        check("a://é", BadLiteral { offset: 4 });
        for expression in ["#x", ".x", ";x", "&x", "a,b", "x*", "x:3", "?x*", "", "?", "?a,", "+", "a b", "é"]
        {
            check(&format!("a://b/{{{expression}}}"), unsupported(expression));
        }
        let shared = |name: &str| SharedSegment { name: name.to_owned() };
        check("a://{x}{y}", shared("y"));
        check("a://{x}-{y}", shared("y"));
        check("a://b-{+y}", shared("y"));
        check("a://{x}{+y}", shared("y"));
        check("a://{+x}/b", NotLast { offset: 8 });
        check("a://{+x}{+y}", NotLast { offset: 8 });
        check("a://b{/x}{/y}", NotLast { offset: 9 });
        check("a://b{?x}/c", NotLast { offset: 9 });
        check("a://b{?x}{?y}", NotLast { offset: 9 });
        check("a://{x}/{x}", DuplicateName { name: "x".to_owned() });
        check("a://{x}{?y,x}", DuplicateName { name: "x".to_owned() });
        check(&format!("a://{}", "b".repeat(9000)), TooLong);
    }
}
