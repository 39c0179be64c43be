//! Reading a template's source: one pass, no choice, the first fault is reported.

use thiserror::Error;

use crate::limits::TEMPLATE_BYTES_MAX;
use crate::raw_uri::is_scheme;
use crate::template::Segment;

/// Why a string is not one of our templates. Offsets are bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// Longer than any address.
    #[error("the template is longer than {TEMPLATE_BYTES_MAX} bytes")]
    TooLong,
    /// It does not begin with a lower-case scheme and `://`.
    #[error("the template does not begin with a lower-case scheme and `://`")]
    BadScheme,
    /// A segment that is empty, `.` or `..`.
    #[error("the path segment before byte {offset} is empty, `.` or `..`")]
    BadSegment {
        /// Where the segment ends.
        offset: usize,
    },
    /// A brace without its partner.
    #[error("the brace at byte {offset} has no partner")]
    UnmatchedBrace {
        /// Where it is.
        offset: usize,
    },
    /// A character that a literal may not hold, such as a query that is not `{?…}`.
    #[error("the literal character at byte {offset} is not allowed in a template")]
    BadLiteral {
        /// Where it is.
        offset: usize,
    },
    /// An operator, modifier or list that clients do not expand alike.
    #[error("`{{{expression}}}` is not one of {{x}}, {{+x}}, {{/x}} and {{?a,b}}")]
    Unsupported {
        /// What stands between the braces.
        expression: String,
    },
    /// Two variables in one segment, adjacent or not.
    #[error("`{name}` shares a segment with another expression, so a match would be ambiguous")]
    SharedSegment {
        /// The second of them.
        name: String,
    },
    /// Something other than `{?…}` after `{+x}` or `{/x}`, or anything after `{?…}`.
    #[error("only a query may follow `{{+x}}` or `{{/x}}`, and nothing a query: byte {offset}")]
    NotLast {
        /// Where the path goes on.
        offset: usize,
    },
    /// One name twice.
    #[error("the variable `{name}` occurs twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

/// What a source holds.
pub(crate) struct ParsedTemplate {
    pub(crate) scheme_len: usize,
    pub(crate) segments: Vec<Segment>,
    pub(crate) query: Vec<String>,
}

/// Reads a source; that names differ is left to the caller, who has them in order.
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

/// Reads what follows `://`, from left to right.
#[derive(Default)]
struct Parser {
    offset: usize,
    segments: Vec<Segment>,
    query: Vec<String>,
    /// The segment being read: the literal before its variable, and the variable with the literal
    /// after it.
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
            // What a path may hold unescaped, but for `@`, which in front looks like a user name.
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
