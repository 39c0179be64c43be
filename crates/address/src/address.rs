//! An address: a parsed, validated URI.
//!
//! Only the router makes one, so whoever holds one need check nothing again.

use std::hash::{Hash, Hasher};

use crate::route::RouteId;
use crate::variables::Variables;

/// A URI that one template matched and whose values lie within their grammars. Two are equal if
/// their canonical forms are, however they were spelled.
#[derive(Clone, Debug)]
pub struct Address {
    pub(crate) requested: String,
    pub(crate) canonical: String,
    pub(crate) scheme_len: usize,
    pub(crate) route: RouteId,
    pub(crate) variables: Variables,
    pub(crate) extra_query: Variables,
}

impl Address {
    /// The string as it was sent, unchanged: what an answer repeats, since clients key by it.
    pub fn requested(&self) -> &str {
        &self.requested
    }

    /// The one spelling of this address: scheme lower-case, values encoded in one way, query keys
    /// in the template's order, then open ones sorted. Keys that were left out stay out. It routes
    /// to an equal address, and is what caches and subscriptions key by.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The scheme, lower-case.
    pub fn scheme(&self) -> &str {
        &self.canonical[..self.scheme_len]
    }

    /// The route whose template matched.
    pub fn route(&self) -> RouteId {
        self.route
    }

    /// The decoded value of a variable of the template. Those of the path are there (but for
    /// `{/x}`), those of the query if they were sent.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name)
    }

    /// All variables of the template that have a value, in its order.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// On a route with an open query, the keys that the template does not declare, sorted.
    pub fn extra_query(&self) -> &Variables {
        &self.extra_query
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Address) -> bool {
        self.canonical == other.canonical
    }
}

impl Eq for Address {}

impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical.hash(state);
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.canonical)
    }
}
