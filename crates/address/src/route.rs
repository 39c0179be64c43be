//! A route: one template with the grammars of its variables.
//!
//! The trie finds the route of a path. The route then reads the values from path and query, checks
//! each against its grammar, and writes the canonical form.

use std::borrow::Cow;

use thiserror::Error;

use crate::closest::closest;
use crate::error::{AddressError, sanitize};
use crate::grammar::Grammar;
use crate::path::UriPath;
use crate::raw_uri::RawUri;
use crate::template::{Segment, Template, push_query_pair};
use crate::template_parser::TemplateError;
use crate::trie::strip_affixes;
use crate::variables::Variables;

/// What the router needs to know of a route.
#[derive(Clone, Debug)]
pub struct RouteSpec {
    /// The template.
    pub template: Template,
    /// The grammars of its variables. The default is [`Grammar::Slug`] for `{+x}`, else
    /// [`Grammar::Id`].
    pub grammars: Vec<(&'static str, Grammar)>,
    /// Whether query keys that the template does not declare are accepted. They are then in
    /// [`Address::extra_query`](crate::Address::extra_query); keys must match [`Grammar::Name`] and
    /// values [`Grammar::Text`].
    pub allows_extra_query: bool,
}

/// The index of a route in its router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteId(usize);

/// Why a route cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Another template matches the same paths.
    #[error("`{added}` matches the same paths as `{existing}`")]
    SameShape {
        /// The template that was added before.
        existing: String,
        /// The template that cannot be added.
        added: String,
    },
    /// A grammar for a variable that the template does not have, or a second one for a variable.
    #[error("`{template}` has no variable `{name}`, or it has a grammar already")]
    StrayGrammar {
        /// The name that the grammar was given for.
        name: &'static str,
        /// The template.
        template: String,
    },
    /// A path grammar for part of a segment, a `{+x}` whose grammar is not a path, or a word with upper case
    /// in [`Grammar::OneOfAnyCase`].
    #[error("the grammar of `{name}` is not allowed at its position in `{template}`")]
    UnsuitableGrammar {
        /// The variable.
        name: String,
        /// The template.
        template: String,
    },
}

/// A template with its grammars, as the router keeps it.
#[derive(Debug)]
pub(crate) struct Route<T> {
    pub(crate) template: Template,
    /// The grammars, in the order of the template's variables.
    pub(crate) grammars: Vec<Grammar>,
    pub(crate) allows_extra_query: bool,
    pub(crate) value: T,
}

impl RouteSpec {
    /// A template with the default grammars and a closed query.
    pub fn new(template: Template) -> RouteSpec {
        RouteSpec { template, grammars: Vec::new(), allows_extra_query: false }
    }

    /// Parses a template and gives it the default grammars and a closed query.
    pub fn parse(source: &str) -> Result<RouteSpec, TemplateError> {
        Template::parse(source).map(RouteSpec::new)
    }

    /// Sets the grammar of a variable.
    pub fn with_grammar(mut self, name: &'static str, grammar: Grammar) -> RouteSpec {
        self.grammars.push((name, grammar));
        self
    }

    /// Accepts query keys that the template does not declare.
    pub fn allow_extra_query(mut self) -> RouteSpec {
        self.allows_extra_query = true;
        self
    }

    /// The grammars in the order of the template's variables.
    pub(crate) fn ordered_grammars(&self) -> Result<Vec<Grammar>, RouteError> {
        let template = || self.template.as_str().to_owned();
        for (index, &(name, _)) in self.grammars.iter().enumerate() {
            let repeated = self.grammars[..index].iter().any(|(earlier, _)| *earlier == name);
            if repeated || !self.template.variables().any(|variable| variable == name) {
                return Err(RouteError::StrayGrammar { name, template: template() });
            }
        }
        let tail = self.template.segments().iter().find_map(|segment| match segment {
            Segment::Tail { name } => Some(name.as_str()),
            _ => None,
        });
        self.template
            .variables()
            .map(|name| {
                let is_tail = tail == Some(name);
                let default = if is_tail { Grammar::Slug } else { Grammar::Id };
                let declared = self.grammars.iter().find(|(variable, _)| *variable == name);
                let grammar = declared.map_or(default, |(_, grammar)| *grammar);
                let in_query = self.template.query().iter().any(|key| key == name);
                let is_suitable = match grammar {
                    // In one segment a path has escaped slashes; the canonical form has plain ones.
                    Grammar::Slug => is_tail || in_query || self.template.is_whole_segment(name),
                    Grammar::Text => true,
                    // Lower-case words make the canonical form stable when it is routed again.
                    Grammar::OneOfAnyCase(words) => {
                        !is_tail && words.iter().all(|word| *word == word.to_ascii_lowercase())
                    }
                    _ => !is_tail,
                };
                if is_suitable {
                    Ok(grammar)
                } else {
                    Err(RouteError::UnsuitableGrammar { name: name.to_owned(), template: template() })
                }
            })
            .collect()
    }
}

impl RouteId {
    pub(crate) fn new(index: usize) -> RouteId {
        RouteId(index)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

impl<T> Route<T> {
    pub(crate) fn read_path(&self, path: &UriPath<'_>) -> Result<Variables, AddressError> {
        let mut variables = Variables::new();
        let named_segments = self.template.segments().iter().enumerate();
        let named_segments =
            named_segments.filter_map(|(index, segment)| Some((index, segment, segment.name()?)));
        for ((index, segment, name), grammar) in named_segments.zip(&self.grammars) {
            let value = match segment {
                Segment::Tail { .. } => self.read_tail(path, index, name, grammar)?,
                Segment::Variable { prefix, suffix, .. } => {
                    let text = path.segments.get(index).map_or("", |segment| &segment.text);
                    accept_value(name, grammar, strip_affixes(text, prefix, suffix).unwrap_or_default())?
                }
                Segment::Optional { .. } => match path.segments.get(index) {
                    Some(segment) => accept_value(name, grammar, &segment.text)?,
                    None => continue,
                },
                Segment::Literal(_) => continue,
            };
            variables.insert(name, value);
        }
        Ok(variables)
    }

    fn read_tail(
        &self,
        path: &UriPath<'_>,
        index: usize,
        name: &str,
        grammar: &Grammar,
    ) -> Result<String, AddressError> {
        let (value, offset) = path.decode_tail(index)?;
        if value.is_empty() {
            return Err(AddressError::EmptySegment { offset });
        }
        let relative = value.strip_prefix('/').unwrap_or(&value);
        if *grammar == Grammar::Slug && relative.split('/').any(str::is_empty) {
            return Err(AddressError::EmptySegment { offset: path.empty_part_offset(index) });
        }
        accept_value(name, grammar, &value)
    }

    /// Adds the declared keys to `variables`, in the template's order. Returns the undeclared ones.
    pub(crate) fn read_query(
        &self,
        raw: &RawUri<'_>,
        variables: &mut Variables,
    ) -> Result<Variables, AddressError> {
        if raw.query.is_empty() {
            return Ok(Variables::new());
        }
        let keys = self.template.query();
        let mut declared: Vec<Option<String>> = vec![None; keys.len()];
        let mut extra = Vec::new();
        for (key, value) in raw.query_pairs()? {
            match keys.iter().position(|name| *name == key) {
                Some(index) if declared[index].is_some() => {
                    return Err(AddressError::DuplicateKey { key: sanitize(&key) });
                }
                Some(index) => declared[index] = Some(value),
                None if self.allows_extra_query => extra.push((key, value)),
                None => {
                    return Err(AddressError::UnknownKey {
                        closest: closest(&key, keys.iter().map(String::as_str)).map(str::to_owned),
                        declared: keys.to_vec(),
                        key: sanitize(&key),
                    });
                }
            }
        }
        let query_grammars = &self.grammars[self.grammars.len() - keys.len()..];
        for ((key, grammar), value) in keys.iter().zip(query_grammars).zip(declared) {
            if let Some(value) = value {
                variables.insert(key, accept_value(key, grammar, &value)?);
            }
        }
        extra.sort_unstable();
        if let Some(pair) = extra.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(AddressError::DuplicateKey { key: sanitize(&pair[0].0) });
        }
        for (key, value) in &extra {
            if Grammar::Name.canonicalize(key).is_none() {
                let expected = format!("a query key that is {}", Grammar::Name.expected());
                return Err(AddressError::BadVariable { name: sanitize(key), expected, closest: None });
            }
            accept_value(key, &Grammar::Text, value)?;
        }
        Ok(extra.into_iter().collect())
    }

    pub(crate) fn canonical(&self, variables: &Variables, extra: &Variables) -> String {
        let is_path = |name: &str| {
            let pairs = self.template.variables().zip(&self.grammars);
            pairs.into_iter().any(|(variable, grammar)| variable == name && *grammar == Grammar::Slug)
        };
        let mut uri = self.template.write_uri(variables, &is_path);
        let has_declared = self.template.query().iter().any(|key| variables.get(key).is_some());
        let mut separator = if has_declared { '&' } else { '?' };
        for (key, value) in extra.iter() {
            push_query_pair(&mut uri, &mut separator, key, value);
        }
        uri
    }
}

fn accept_value(name: &str, grammar: &Grammar, value: &str) -> Result<String, AddressError> {
    grammar.canonicalize(value).map(Cow::into_owned).ok_or_else(|| AddressError::BadVariable {
        name: sanitize(name),
        expected: grammar.expected(),
        closest: closest(value, grammar.words().iter().copied()).map(str::to_owned),
    })
}
