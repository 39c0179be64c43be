//! What may be granted, and to whom: the rules for a new token's subject, scopes and life.
//!
//! Pure. Every refusal names the field and says what would be right.

use quad_core::{Error, PrincipalKind, Result, ScopeSet, id, closest, scope};

use crate::limits;

/// The decision that only a person can take.
const APPROVAL: &str = "payment_intent:approve";

/// Reads the scopes that a new token shall have. Each must be a known scope, or a wildcard that covers one.
pub fn scopes(text: &str, kind: PrincipalKind, known: &[&str]) -> Result<ScopeSet> {
    let wanted = ScopeSet::parse(text);
    if wanted.is_empty() {
        return Err(refused("scopes", "A token needs at least one scope")
            .hint(format!("Known are {}", known.join(", "))));
    }
    for one in wanted.iter() {
        check_known(one, known)?;
        if !is_for(one, kind) {
            return Err(refused(
                "scopes",
                format!("An agent cannot be granted {APPROVAL}: a person approves payments"),
            )
            .hint("Leave the scope out, or mint the token for a person, with the kind user"));
        }
    }
    Ok(wanted)
}

/// Whether somebody of that kind may have the scope at all.
pub fn is_for(one: &str, kind: PrincipalKind) -> bool {
    one != APPROVAL || kind == PrincipalKind::User
}

fn check_known(one: &str, known: &[&str]) -> Result<()> {
    let grant: ScopeSet = [one].into_iter().collect();
    if scope::is_scope(one) && known.iter().any(|scope| grant.allows(scope)) {
        return Ok(());
    }
    let shown: String = one.chars().take(64).collect();
    let what =
        if scope::is_scope(one) { "is not a scope of this server" } else { "does not look like layer:verb" };
    let unknown = refused("scopes", format!("The scope {shown} {what}"));
    Err(match closest(one, known.iter().copied()) {
        Some(near) => unknown.hint(format!("The nearest is {near}")),
        None => unknown.hint(format!("Known are {}", known.join(", "))),
    })
}

/// What both sets grant. A claim of `table:*` and a grant of `*:read` meet in `table:read`; but a wildcard never meets the
/// decision that is granted by name alone.
pub fn intersection(claimed: &ScopeSet, granted: &ScopeSet) -> ScopeSet {
    let mut both: Vec<String> = Vec::new();
    for (claim, grant) in claimed.iter().flat_map(|claim| granted.iter().map(move |grant| (claim, grant))) {
        let (Some((layer, verb)), Some((grant_layer, grant_verb))) =
            (claim.rsplit_once(':'), grant.rsplit_once(':'))
        else {
            continue;
        };
        let (Some(layer), Some(verb)) = (narrower(layer, grant_layer), narrower(verb, grant_verb)) else {
            continue;
        };
        let scope = format!("{layer}:{verb}");
        if scope != APPROVAL || claim == grant {
            both.push(scope);
        }
    }
    both.iter().map(String::as_str).collect()
}

/// The narrower of two sides of a scope, if they meet.
fn narrower<'s>(one: &'s str, other: &'s str) -> Option<&'s str> {
    match (one, other) {
        ("*", side) | (side, "*") => Some(side),
        _ => (one == other).then_some(one),
    }
}

/// Checks a subject: letters, digits and `_-.@:`.
pub fn check_subject(subject: &str) -> Result<()> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@:".contains(&byte);
    if (1..=limits::SUBJECT_BYTES).contains(&subject.len()) && subject.bytes().all(fits) {
        return Ok(());
    }
    Err(refused("subject", "The subject is not a name that a token can carry")
        .hint(format!("Use 1 to {} letters, digits or characters of _-.@:", limits::SUBJECT_BYTES)))
}

/// Checks a tenant's id.
pub fn check_tenant(tenant: &str) -> Result<()> {
    if id::is_id(tenant) {
        return Ok(());
    }
    Err(refused("tenant", "The tenant is not an id").hint("Use 1 to 64 letters, digits, _ or -"))
}

/// How long a token shall live, in milliseconds.
pub fn ttl_ms(asked: Option<i64>) -> Result<i64> {
    match asked {
        None => Ok(limits::TOKEN_TTL_MS),
        Some(ttl_ms) if (1_000..=limits::TOKEN_TTL_MS_MAX).contains(&ttl_ms) => Ok(ttl_ms),
        Some(_) => Err(refused("ttl", "A token lives from one second to ten years")
            .hint("Leave the time out for one year")),
    }
}

fn refused(field: &str, message: impl Into<String>) -> Error {
    Error::bad_input(message).with_detail("field", field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = [
        "table:read",
        "table:data:read",
        "payment_intent:propose",
        "payment_intent:approve",
        "organization:read",
    ];

    #[test]
    fn grants_known_scopes_and_wildcards_that_cover_one() {
        let check = |text: &str, expect: &str| {
            let scopes = scopes(text, PrincipalKind::Agent, &KNOWN).unwrap();
            assert_eq!(scopes.to_string(), expect);
        };
        check("table:read", "table:read");
        check("table:read,table:read table:data:*", "table:data:* table:read");
        check("*:*", "*:*");
        check("*:read", "*:read");
        check("payment_intent:*", "payment_intent:*");
    }

    #[test]
    fn names_the_nearest_of_an_unknown_scope() {
        let check = |text: &str, message: &str, hint: &str| {
            let error = scopes(text, PrincipalKind::User, &KNOWN).unwrap_err();
            assert_eq!(error.message(), message);
            assert!(error.hint_text().unwrap().starts_with(hint), "{:?}", error.hint_text());
            assert_eq!(error.detail("field").unwrap(), "scopes");
        };
        check(
            "tabel:read",
            "The scope tabel:read is not a scope of this server",
            "The nearest is table:read",
        );
        check(
            "Table:read",
            "The scope Table:read does not look like layer:verb",
            "The nearest is table:read",
        );
        check(
            "weather:forecast",
            "The scope weather:forecast is not a scope of this server",
            "Known are table:read, ",
        );
        check("*:drop", "The scope *:drop is not a scope of this server", "Known are");
        // A wildcard never covers the approval, so a wildcard that could only mean it covers nothing.
        check("*:approve", "The scope *:approve is not a scope of this server", "Known are");
        check(" , ", "A token needs at least one scope", "Known are");
    }

    #[test]
    fn two_sets_meet_where_both_grant() {
        let check = |claimed: &str, granted: &str, expect: &str| {
            let (claimed, granted) = (ScopeSet::parse(claimed), ScopeSet::parse(granted));
            let both = intersection(&claimed, &granted);
            assert_eq!(both.to_string(), expect, "{claimed} and {granted}");
            assert_eq!(intersection(&granted, &claimed), both, "{claimed} and {granted}");
            assert!(both.iter().all(|scope| claimed.allows(scope) && granted.allows(scope)));
        };
        check("table:read", "table:read project:read", "table:read");
        check("table:*", "*:read", "table:read");
        check("*:*", "table:data:* project:read", "project:read table:data:*");
        check("table:*", "table:data:read", "");
        check("table:read", "", "");
        check("table", "table:read", "");
        check("payment_intent:approve", "payment_intent:approve", "payment_intent:approve");
        check("payment_intent:approve", "*:*", "");
        check("payment_intent:*", "*:approve", "");
        check("payment_intent:*", "payment_intent:*", "payment_intent:*");
    }

    #[test]
    fn only_a_person_approves() {
        let error = scopes("table:read payment_intent:approve", PrincipalKind::Agent, &KNOWN).unwrap_err();
        assert!(error.message().contains("a person approves"), "{error}");
        assert!(scopes("payment_intent:approve", PrincipalKind::User, &KNOWN).is_ok());
    }

    #[test]
    fn subjects_have_a_grammar() {
        for good in ["a", "agent_1", "jo.doe@example.com", "ci:build-7", &"x".repeat(128)] {
            assert!(check_subject(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "a\n", &"x".repeat(129)] {
            assert!(check_subject(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_life_has_bounds() {
        assert_eq!(ttl_ms(None).unwrap(), 31_536_000_000);
        assert_eq!(ttl_ms(Some(1_000)).unwrap(), 1_000);
        for bad in [0, -1, 999, i64::MAX] {
            assert!(ttl_ms(Some(bad)).is_err(), "{bad}");
        }
    }
}
