//! Templates: the advertised RFC 6570 patterns, and their expansion.
//!
//! Clients agree on only part of the RFC: some encode `{a,b}` and some do not, and most lack prefixes
//! and explode. So a template consists of literals and these expressions:
//!
//! | expression | matches | if it has no value |
//! | --- | --- | --- |
//! | `{x}` | one segment, or part of one: `v{n}.json` | error |
//! | `{/x}` | one more segment, at the end of the path | the slash is omitted too |
//! | `{+x}` | the rest of the path, with its slashes | error |
//! | `{?a,b}` | query keys, at the end | that key is omitted |
//!
//! [`Template::parse`] rejects everything else, and templates that could match one URI in two ways:
//! two variables in a segment, or anything but a query after `{+x}` or `{/x}`. So a template matches
//! a URI in at most one way, and routing an expanded template returns the same variables.

use thiserror::Error;

use crate::encoding::{encode_simple, encode_tail};
use crate::limits::URI_BYTES_MAX;
use crate::path::has_dot_segment;
use crate::template_parser::{ParsedTemplate, TemplateError, parse};
use crate::variables::Variables;

/// A pattern that matches and expands addresses. Two templates are equal if their source texts are.
#[derive(Clone, Debug)]
pub struct Template {
    source: String,
    scheme_len: usize,
    segments: Vec<Segment>,
    query: Vec<String>,
}

/// One segment of a template's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Matches its own text.
    Literal(String),
    /// `{name}` with literal text around it, which may be empty.
    Variable { prefix: String, name: String, suffix: String },
    /// `{/name}`.
    Optional { name: String },
    /// `{+name}`.
    Tail { name: String },
}

/// Why a template cannot be expanded with some variables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpandError {
    /// A variable of the path has no value.
    #[error("the variable `{name}` has no value")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A variable of the path is empty.
    #[error("the variable `{name}` is empty")]
    Empty {
        /// Its name.
        name: String,
    },
    /// A variable would make a `.` or `..` segment.
    #[error("the variable `{name}` makes a `.` or `..` segment")]
    DotSegment {
        /// Its name.
        name: String,
    },
    /// A variable has a control character.
    #[error("the variable `{name}` has a control character")]
    ControlCharacter {
        /// Its name.
        name: String,
    },
    /// The address is longer than [`URI_BYTES_MAX`].
    #[error("the address is {bytes} bytes long, more than the {URI_BYTES_MAX} allowed")]
    TooLong {
        /// The length.
        bytes: usize,
    },
}

impl Template {
    /// Parses a template. Rejects expressions on which clients disagree, and ambiguous templates.
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        let ParsedTemplate { scheme_len: scheme_bytes, segments, query } = parse(source)?;
        let template = Template { source: source.to_owned(), scheme_len: scheme_bytes, segments, query };
        let mut names: Vec<&str> = template.variables().collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(TemplateError::DuplicateName { name: pair[0].to_owned() }),
            None => Ok(template),
        }
    }

    /// The source text, as advertised.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The scheme in lower case.
    pub fn scheme(&self) -> &str {
        &self.source[..self.scheme_len]
    }

    /// The names of the variables in order: those of the path, then the query keys.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(Segment::name).chain(self.query.iter().map(String::as_str))
    }

    /// The URI with these variables. Ignores variables that the template does not have, as the RFC
    /// requires. All path variables except `{/x}` must have a value. The result decodes to the same
    /// values, and [`Router::route`](crate::Router::route) rejects it only if a grammar does.
    pub fn expand(&self, variables: &Variables) -> Result<String, ExpandError> {
        for segment in &self.segments {
            segment.check(variables)?;
        }
        let has_control = |name: &&str| variables.get(name).is_some_and(|v| v.contains(char::is_control));
        if let Some(name) = self.variables().find(has_control) {
            return Err(ExpandError::ControlCharacter { name: name.to_owned() });
        }
        let uri = self.write_uri(variables, &|_| false);
        if uri.len() > URI_BYTES_MAX {
            return Err(ExpandError::TooLong { bytes: uri.len() });
        }
        Ok(uri)
    }

    /// Whether a variable is a whole segment.
    pub(crate) fn is_whole_segment(&self, variable: &str) -> bool {
        self.segments.iter().any(|segment| {
            matches!(segment, Segment::Variable { prefix, name, suffix }
                if name == variable && prefix.is_empty() && suffix.is_empty())
        })
    }

    /// Expands the template with variables that are already checked. Variables for which `is_path` is true
    /// keep their slashes.
    pub(crate) fn write_uri(&self, variables: &Variables, is_path: &dyn Fn(&str) -> bool) -> String {
        let mut uri = String::with_capacity(self.source.len() + 32);
        uri.push_str(self.scheme());
        uri.push_str(":/");
        for segment in &self.segments {
            let value = segment.name().and_then(|name| variables.get(name));
            match (segment, value) {
                (Segment::Literal(literal), _) => {
                    uri.push('/');
                    uri.push_str(literal);
                }
                (Segment::Variable { prefix, name, suffix }, value) => {
                    uri.push('/');
                    uri.push_str(prefix);
                    let encode = if is_path(name) { encode_tail } else { encode_simple };
                    encode(value.unwrap_or_default(), &mut uri);
                    uri.push_str(suffix);
                }
                (Segment::Optional { .. }, Some(value)) => {
                    uri.push('/');
                    encode_simple(value, &mut uri);
                }
                (Segment::Optional { .. }, None) => {}
                (Segment::Tail { .. }, value) => {
                    uri.push('/');
                    encode_tail(value.unwrap_or_default(), &mut uri);
                }
            }
        }
        let mut separator = '?';
        for key in &self.query {
            if let Some(value) = variables.get(key) {
                push_query_pair(&mut uri, &mut separator, key, value);
            }
        }
        uri
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The query keys, in order.
    pub(crate) fn query(&self) -> &[String] {
        &self.query
    }
}

/// Appends `separator` and `key=value` to a query; later pairs get `&` as separator.
pub(crate) fn push_query_pair(uri: &mut String, separator: &mut char, key: &str, value: &str) {
    uri.push(std::mem::replace(separator, '&'));
    encode_simple(key, uri);
    uri.push('=');
    encode_simple(value, uri);
}

impl PartialEq for Template {
    fn eq(&self, other: &Template) -> bool {
        self.source == other.source
    }
}

impl Eq for Template {}

impl Segment {
    /// The name of the variable in this segment.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Segment::Literal(_) => None,
            Segment::Variable { name, .. } | Segment::Optional { name } | Segment::Tail { name } => {
                Some(name)
            }
        }
    }

    fn check(&self, variables: &Variables) -> Result<(), ExpandError> {
        let Some(name) = self.name() else { return Ok(()) };
        let value = match variables.get(name) {
            Some("") => return Err(ExpandError::Empty { name: name.to_owned() }),
            Some(value) => value,
            None if matches!(self, Segment::Optional { .. }) => return Ok(()),
            None => return Err(ExpandError::Missing { name: name.to_owned() }),
        };
        let has_dots = match self {
            Segment::Variable { prefix, suffix, .. } => has_dot_segment(&format!("{prefix}{value}{suffix}")),
            _ => has_dot_segment(value),
        };
        if has_dots { Err(ExpandError::DotSegment { name: name.to_owned() }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_supported_expressions() {
        let check = |source: &str, expect: &[&str]| {
            let template = Template::parse(source).unwrap();
            assert_eq!(template.variables().collect::<Vec<_>>(), expect, "{source}");
            assert_eq!(template.as_str(), source);
        };
        check("amem://graph/stats", &[]);
        check("amem://node/{id}", &["id"]);
        check("amem://types/{type}{?limit,cursor}", &["type", "limit", "cursor"]);
        check("bkend://tables{/id}{?page}", &["id", "page"]);
        check("brain://wiki/{+slug}{?rev}", &["slug", "rev"]);
        check("a://v{n}.json", &["n"]);
        check("a://{x}{/y}", &["x", "y"]);
        check("link://{+uri}", &["uri"]);
    }

    #[test]
    fn expand_encodes_values_and_rejects_bad_ones() {
        let check = |source: &str, variables: &[(&str, &str)], expect: Result<&str, ExpandError>| {
            let variables: Variables = variables.iter().copied().collect();
            let expanded = Template::parse(source).unwrap().expand(&variables);
            assert_eq!(expanded.as_deref(), expect.as_deref(), "{source}");
        };
        check("a://b/{x}", &[("x", "c/d é")], Ok("a://b/c%2Fd%20%C3%A9"));
        check("a://b/{+x}", &[("x", "c/d?e")], Ok("a://b/c/d%3Fe"));
        check("a://b{/x}", &[], Ok("a://b"));
        check("a://b{/x}", &[("x", "c")], Ok("a://b/c"));
        check("a://v{x}.json", &[("x", "2")], Ok("a://v2.json"));
        check("a://b{?p,q}", &[("q", "1+1"), ("p", "")], Ok("a://b?p=&q=1%2B1"));
        check("a://b{?p,q}", &[("q", "1"), ("other", "2")], Ok("a://b?q=1"));
        let name = || "x".to_owned();
        check("a://b/{x}", &[], Err(ExpandError::Missing { name: name() }));
        check("a://b{/x}", &[("x", "")], Err(ExpandError::Empty { name: name() }));
        check("a://b/{x}", &[("x", "..")], Err(ExpandError::DotSegment { name: name() }));
        check("a://b/{+x}", &[("x", "c/./d")], Err(ExpandError::DotSegment { name: name() }));
        check("a://b/.{x}", &[("x", ".")], Err(ExpandError::DotSegment { name: name() }));
        check("a://b{?x}", &[("x", "..")], Ok("a://b?x=.."));
        check("a://b{?x}", &[("x", "\n")], Err(ExpandError::ControlCharacter { name: name() }));
        let long = "é".repeat(3000);
        check("a://b{?x}", &[("x", &long)], Err(ExpandError::TooLong { bytes: 18_008 }));
    }
}
