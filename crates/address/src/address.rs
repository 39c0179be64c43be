//! An address: a parsed, validated URI.
//!
//! Only the router creates addresses, so code that has one need not validate it again.

use std::hash::{Hash, Hasher};

use crate::route::RouteId;
use crate::variables::Variables;

/// A URI that matches one template and whose values match their grammars. Two addresses are equal
/// if their canonical forms are equal, whatever was sent.
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
    /// The URI as sent, unchanged. Replies repeat it, because clients use it as a key.
    pub fn requested(&self) -> &str {
        &self.requested
    }

    /// The canonical form: scheme in lower case, values encoded in one way, query keys in the
    /// template's order, then undeclared ones sorted. Absent keys stay absent. It routes to an equal
    /// address; caches and subscriptions use it as their key.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The scheme in lower case.
    pub fn scheme(&self) -> &str {
        &self.canonical[..self.scheme_len]
    }

    /// The route whose template matches.
    pub fn route(&self) -> RouteId {
        self.route
    }

    /// The decoded value of a variable of the template. Path variables always have one, except
    /// `{/x}`; query variables have one if they were sent.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name)
    }

    /// The variables of the template that have a value, in the template's order.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// The query keys that the template does not declare, sorted. Only on a route that allows them.
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
