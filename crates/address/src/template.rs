//! Templates: the RFC 6570 patterns that we advertise, and their expansion.
//!
//! Real clients expand only part of the RFC alike (`{a,b}` is encoded by some and not by others,
//! prefixes and explode are missing in most), so a template here has literals and
//!
//! | expression | stands for | when left out |
//! | --- | --- | --- |
//! | `{x}` | one segment, or part of one: `v{n}.json` | not possible |
//! | `{/x}` | one more segment, at the end of the path | the slash goes too |
//! | `{+x}` | the rest of the path, slashes included | not possible |
//! | `{?a,b}` | query keys, at the very end | each key by itself |
//!
//! Everything else is refused by [`Template::parse`], also what could match one URI in two ways:
//! two variables in a segment, or anything after `{+x}` or `{/x}` but the query. A template thus
//! matches a URI in one way at most, and expansion has an inverse.

use thiserror::Error;

use crate::encoding::{encode_simple, encode_tail};
use crate::limits::URI_BYTES_MAX;
use crate::path::has_dot_segment;
use crate::template_parser::{ParsedTemplate, TemplateError, parse};
use crate::variables::Variables;

/// A pattern that matches and expands addresses. Two are equal if their sources are.
#[derive(Clone, Debug)]
pub struct Template {
    source: String,
    scheme_len: usize,
    segments: Vec<Segment>,
    query: Vec<String>,
}

/// One step of a template's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Matches itself.
    Literal(String),
    /// `{name}` with literals around it, which may be empty.
    Variable { prefix: String, name: String, suffix: String },
    /// `{/name}`.
    Optional { name: String },
    /// `{+name}`.
    Tail { name: String },
}

/// Why variables do not fill a template.
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
    /// The address would be too long to be read again.
    #[error("the address is {bytes} bytes long, more than the {URI_BYTES_MAX} allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
}

impl Template {
    /// Reads a template; refuses what clients do not expand alike or what matches in two ways.
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

    /// The template as it is advertised.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The scheme, lower-case.
    pub fn scheme(&self) -> &str {
        &self.source[..self.scheme_len]
    }

    /// The names of the variables, those of the path first, then the query keys, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(Segment::name).chain(self.query.iter().map(String::as_str))
    }

    /// The address that these variables name. Variables that the template lacks are ignored, as the
    /// RFC has it; those of the path must be there (but for `{/x}`). The result always decodes to
    /// the same values, and nothing that [`Router::route`](crate::Router::route) refuses whatever
    /// the grammar is ever produced.
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

    /// Whether a variable is a segment of its own.
    pub(crate) fn is_whole_segment(&self, variable: &str) -> bool {
        self.segments.iter().any(|segment| {
            matches!(segment, Segment::Variable { prefix, name, suffix }
                if name == variable && prefix.is_empty() && suffix.is_empty())
        })
    }

    /// Expansion of variables that are known to be good. What `is_path` names keeps its slashes.
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

/// Appends `key=value` to a query; `separator` is what comes before it.
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
