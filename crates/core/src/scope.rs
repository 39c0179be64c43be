//! Scopes: what a credential grants, and what an address or a tool requires.

use std::sync::Arc;

/// The scope that no wildcard covers: the right to approve a payment must be granted by name.
const EXPLICIT_ONLY: &str = "payment_intent:approve";

/// The scopes that a credential grants, sorted and without duplicates.
///
/// A scope is `layer:verb`, split at the last colon. `*` matches a whole side. So `table:*` does not cover
/// `table:data:read`, whose layer is `table:data`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScopeSet(Arc<[Box<str>]>);

impl ScopeSet {
    /// Parses scopes separated by white space or commas.
    pub fn parse(text: &str) -> ScopeSet {
        text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
    }

    /// Whether a granted scope covers `needed`.
    pub fn allows(&self, needed: &str) -> bool {
        let is_exact = self.0.binary_search_by(|grant| (**grant).cmp(needed)).is_ok();
        is_exact || self.0.iter().any(|grant| covers(grant, needed))
    }

    /// The granted scopes, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether no scope is granted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> FromIterator<&'a str> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> ScopeSet {
        let mut scopes: Vec<Box<str>> = scopes.into_iter().map(Box::from).collect();
        scopes.sort_unstable();
        scopes.dedup();
        ScopeSet(scopes.into())
    }
}

impl std::fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// Whether `text` has the form of a scope: `layer:verb`, where either side may be `*`.
pub fn is_scope(text: &str) -> bool {
    let side = |s: &str| {
        s == "*"
            || (!s.is_empty()
                && s.split(':').all(|part| {
                    !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-')
                }))
    };
    text.rsplit_once(':').is_some_and(|(layer, verb)| side(layer) && side(verb) && text.len() <= 64)
}

fn covers(grant: &str, needed: &str) -> bool {
    if grant == needed {
        return true;
    }
    if needed == EXPLICIT_ONLY {
        return false;
    }
    let (Some((grant_layer, grant_verb)), Some((layer, verb))) =
        (grant.rsplit_once(':'), needed.rsplit_once(':'))
    else {
        return false;
    };
    (grant_layer == "*" || grant_layer == layer) && (grant_verb == "*" || grant_verb == verb)
}

/// The scopes of which a caller needs one. An empty list requires none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeRequirement(pub &'static [&'static str]);

impl ScopeRequirement {
    /// Open to every authenticated caller.
    pub const NONE: ScopeRequirement = ScopeRequirement(&[]);

    /// Whether `scopes` cover one of the required scopes.
    pub fn is_satisfied_by(&self, scopes: &ScopeSet) -> bool {
        self.0.is_empty() || self.0.iter().any(|scope| scopes.allows(scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_one_whole_side() {
        let check = |grants: &str, needed: &str, expect: bool| {
            assert_eq!(ScopeSet::parse(grants).allows(needed), expect, "{grants} → {needed}");
        };
        check("table:read", "table:read", true);
        check("table:*", "table:read", true);
        check("table:*", "table:data:read", false);
        check("table:data:*", "table:data:read", true);
        check("*:read", "table:data:read", true);
        check("*:read", "table:data:create", false);
        check("*:*", "organization:read", true);
        check("*:*", "payment_intent:approve", false);
        check("payment_intent:*", "payment_intent:approve", false);
        check("payment_intent:approve", "payment_intent:approve", true);
        check("", "table:read", false);
    }

    #[test]
    fn is_scope_accepts_only_layer_colon_verb() {
        for good in
            ["table:read", "table:data:read", "*:*", "*:read", "access-token:read", "payment_intent:approve"]
        {
            assert!(is_scope(good), "{good}");
        }
        for bad in ["", "table", ":", "table:", ":read", "Table:read", "table::read", "a b:c"] {
            assert!(!is_scope(bad), "{bad}");
        }
    }
}
