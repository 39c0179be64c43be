//! The rules for granting: subject, scopes and lifetime of a new token.
//!
//! Pure. Every error names the field and the accepted values.

use quad_core::{Error, PrincipalKind, Result, ScopeSet, closest, id, scope, text};

use crate::limits;

/// The scope that approves payments. Only a person can have it.
const HUMAN_ONLY_SCOPE: &str = "payment_intent:approve";

/// Parses the scopes of a new token. Each must be a known scope, or a wildcard that covers one.
pub fn parse_scopes(text: &str, kind: PrincipalKind, known_scopes: &[&str]) -> Result<ScopeSet> {
    let requested = ScopeSet::parse(text);
    if requested.is_empty() {
        return Err(invalid_field("scopes", "A token needs at least one scope")
            .hint(format!("Use one of {}", known_scopes.join(", "))));
    }
    for candidate in requested.iter() {
        check_known(candidate, known_scopes)?;
        if !is_allowed_for(candidate, kind) {
            return Err(invalid_field(
                "scopes",
                format!("An agent cannot be granted {HUMAN_ONLY_SCOPE}: a person approves payments"),
            )
            .hint("Leave the scope out, or mint the token for a person, with the kind user"));
        }
    }
    Ok(requested)
}

/// Whether a principal of this kind may have the scope.
pub fn is_allowed_for(candidate: &str, kind: PrincipalKind) -> bool {
    candidate != HUMAN_ONLY_SCOPE || kind == PrincipalKind::User
}

fn check_known(candidate: &str, known_scopes: &[&str]) -> Result<()> {
    let grant: ScopeSet = [candidate].into_iter().collect();
    if scope::is_scope(candidate) && known_scopes.iter().any(|scope| grant.allows(scope)) {
        return Ok(());
    }
    let truncated = text::truncate(candidate, limits::QUOTED_CHARS_MAX);
    let problem = if scope::is_scope(candidate) {
        "is not a scope of this server"
    } else {
        "does not have the form layer:verb"
    };
    let error = invalid_field("scopes", format!("The scope {truncated} {problem}"));
    Err(match closest(candidate, known_scopes.iter().copied()) {
        Some(nearest_scope) => error.hint(format!("Use {nearest_scope}, the nearest scope")),
        None => error.hint(format!("Use one of {}", known_scopes.join(", "))),
    })
}

/// The scopes that both sets grant. `table:*` and `*:read` intersect in `table:read`. A wildcard never covers the
/// approval of payments: that scope is granted by name only.
pub fn intersection(claimed: &ScopeSet, granted: &ScopeSet) -> ScopeSet {
    let mut shared: Vec<String> = Vec::new();
    for (claim, grant) in claimed.iter().flat_map(|claim| granted.iter().map(move |grant| (claim, grant))) {
        let (Some((layer, verb)), Some((grant_layer, grant_verb))) =
            (claim.rsplit_once(':'), grant.rsplit_once(':'))
        else {
            continue;
        };
        let (Some(layer), Some(verb)) =
            (intersect_part(layer, grant_layer), intersect_part(verb, grant_verb))
        else {
            continue;
        };
        let scope = format!("{layer}:{verb}");
        if scope != HUMAN_ONLY_SCOPE || claim == grant {
            shared.push(scope);
        }
    }
    shared.iter().map(String::as_str).collect()
}

/// The narrower of two parts of a scope, if they intersect.
fn intersect_part<'s>(a: &'s str, b: &'s str) -> Option<&'s str> {
    match (a, b) {
        ("*", side) | (side, "*") => Some(side),
        _ => (a == b).then_some(a),
    }
}

/// Checks a subject: letters, digits and `_-.@:`.
pub fn check_subject(subject: &str) -> Result<()> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@:".contains(&byte);
    if (1..=limits::SUBJECT_BYTES_MAX).contains(&subject.len()) && subject.bytes().all(fits) {
        return Ok(());
    }
    Err(invalid_field("subject", "The subject is not valid")
        .hint(format!("Use 1 to {} letters, digits or characters of _-.@:", limits::SUBJECT_BYTES_MAX)))
}

/// Checks a tenant id.
pub fn check_tenant(tenant: &str) -> Result<()> {
    if id::is_id(tenant) {
        return Ok(());
    }
    Err(invalid_field("tenant", "The tenant id is not valid").hint("Use 1 to 64 letters, digits, _ or -"))
}

/// The lifetime of a token, in milliseconds.
pub fn resolve_ttl_ms(requested: Option<i64>) -> Result<i64> {
    match requested {
        None => Ok(limits::TOKEN_TTL_MS),
        Some(ttl_ms) if (1_000..=limits::TOKEN_TTL_MS_MAX).contains(&ttl_ms) => Ok(ttl_ms),
        Some(_) => {
            Err(invalid_field("ttl", "The lifetime of a token must be between one second and ten years")
                .hint("Omit it for one year"))
        }
    }
}

fn invalid_field(field: &str, message: impl Into<String>) -> Error {
    Error::bad_input(message).with_detail("field", field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN_SCOPES: [&str; 5] = [
        "table:read",
        "table:data:read",
        "payment_intent:propose",
        "payment_intent:approve",
        "organization:read",
    ];

    #[test]
    fn parse_accepts_known_scopes_and_covering_wildcards() {
        let check = |text: &str, expect: &str| {
            let scopes = parse_scopes(text, PrincipalKind::Agent, &KNOWN_SCOPES).unwrap();
            assert_eq!(scopes.to_string(), expect);
        };
        check("table:read", "table:read");
        check("table:read,table:read table:data:*", "table:data:* table:read");
        check("*:*", "*:*");
        check("*:read", "*:read");
        check("payment_intent:*", "payment_intent:*");
    }

    #[test]
    fn unknown_scope_error_suggests_the_nearest() {
        let check = |text: &str, message: &str, hint: &str| {
            let error = parse_scopes(text, PrincipalKind::User, &KNOWN_SCOPES).unwrap_err();
            assert_eq!(error.message(), message);
            assert!(error.hint_text().unwrap().starts_with(hint), "{:?}", error.hint_text());
            assert_eq!(error.detail("field").unwrap(), "scopes");
        };
        check(
            "tabel:read",
            "The scope tabel:read is not a scope of this server",
            "Use table:read, the nearest scope",
        );
        check(
            "Table:read",
            "The scope Table:read does not have the form layer:verb",
            "Use table:read, the nearest scope",
        );
        check(
            "weather:forecast",
            "The scope weather:forecast is not a scope of this server",
            "Use one of table:read, ",
        );
        check("*:drop", "The scope *:drop is not a scope of this server", "Use one of");
        // No wildcard covers the approval of payments, so `*:approve` covers no known scope.
        check("*:approve", "The scope *:approve is not a scope of this server", "Use one of");
        check(" , ", "A token needs at least one scope", "Use one of");
    }

    #[test]
    fn intersection_keeps_scopes_granted_by_both() {
        let check = |claimed: &str, granted: &str, expect: &str| {
            let (claimed, granted) = (ScopeSet::parse(claimed), ScopeSet::parse(granted));
            let shared = intersection(&claimed, &granted);
            assert_eq!(shared.to_string(), expect, "{claimed} and {granted}");
            assert_eq!(intersection(&granted, &claimed), shared, "{claimed} and {granted}");
            assert!(shared.iter().all(|scope| claimed.allows(scope) && granted.allows(scope)));
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
    fn approval_scope_is_only_for_users() {
        let error = parse_scopes("table:read payment_intent:approve", PrincipalKind::Agent, &KNOWN_SCOPES)
            .unwrap_err();
        assert!(error.message().contains("a person approves"), "{error}");
        assert!(parse_scopes("payment_intent:approve", PrincipalKind::User, &KNOWN_SCOPES).is_ok());
    }

    #[test]
    fn check_subject_accepts_only_valid_names() {
        for good in ["a", "agent_1", "jo.doe@example.com", "ci:build-7", &"x".repeat(128)] {
            assert!(check_subject(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "a\n", &"x".repeat(129)] {
            assert!(check_subject(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ttl_is_bounded() {
        assert_eq!(resolve_ttl_ms(None).unwrap(), 31_536_000_000);
        assert_eq!(resolve_ttl_ms(Some(1_000)).unwrap(), 1_000);
        for bad in [0, -1, 999, i64::MAX] {
            assert!(resolve_ttl_ms(Some(bad)).is_err(), "{bad}");
        }
    }
}
