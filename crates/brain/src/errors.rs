//! Error constructors with the codes that clients of this scheme know, and the mapping to wire errors.

use quad_core::scheme::RequestTarget;
use quad_core::text::truncate;
use quad_core::{Error, Kind, Principal, closest};
use serde_json::{Value, json};

/// Invalid input.
pub(crate) const PARAMS_INVALID: &str = "request_params_invalid";

/// The credential lacks a scope.
pub(crate) const SCOPE_INSUFFICIENT: &str = "auth_scope_insufficient";

/// No such ledger row.
pub(crate) const ROW_NOT_FOUND: &str = "ledger_row_not_found";

/// An argument or field with an invalid value.
pub(crate) fn invalid(field: &str, message: impl std::fmt::Display) -> Error {
    Error::new(Kind::BadInput, PARAMS_INVALID, format!("{field}: {message}")).with_detail("field", field)
}

/// A missing argument or field.
pub(crate) fn missing(field: &str) -> Error {
    Error::new(Kind::BadInput, PARAMS_INVALID, format!("'{field}' is required")).with_detail("field", field)
}

/// A value that is not in a closed list.
pub(crate) fn unknown(what: &str, field: &str, value: &str, allowed: &[&'static str]) -> Error {
    let error = invalid(field, format!("unknown {what} '{}'", truncate(value, 80)));
    match closest(value, allowed.iter().copied()) {
        Some(suggestion) => error.hint(format!("Use {suggestion}, or another of {}", allowed.join(", "))),
        None => error.hint(format!("Use one of {}", allowed.join(", "))),
    }
}

/// A row that does not exist.
pub(crate) fn row_not_found(what: &str, id: &str) -> Error {
    Error::new(Kind::NotFound, ROW_NOT_FOUND, format!("There is no {what} {}", truncate(id, 80)))
        .with_detail("id", id)
}

/// Valid input that conflicts with stored rows.
pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Conflict, code, message)
}

/// A limit is exceeded.
pub(crate) fn limit(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Limit, code, message)
}

/// Maps an error to the codes that clients of this scheme know, and repeats the code as `brain_code`.
pub(crate) fn to_wire_error(
    caller: &Principal,
    requested: RequestTarget<'_>,
    tools: &[&'static str],
    error: Error,
) -> Error {
    let error = match error.kind() {
        Kind::Scope => scope_error(caller, requested, error),
        Kind::NotFound if error.code() == "NOT_FOUND" => error.with_code(not_found_code(requested)),
        _ => error,
    };
    // The protocol layer recognises unknown tools and prompts by their code, so the code stays and only `brain_code` is
    // added.
    let code = match error.code() {
        "INVALID_URI" | "VALIDATION_ERROR" | "INVALID_CURSOR" => PARAMS_INVALID.to_owned(),
        "INTERNAL" => "internal_server_error".to_owned(),
        "UNKNOWN_TOOL" => {
            return error
                .with_detail("brain_code", PARAMS_INVALID)
                .with_detail("details", json!({"available": tools}));
        }
        "UNKNOWN_PROMPT" => {
            let names: Vec<&str> = crate::prompt::PROMPTS.iter().map(|prompt| prompt.name).collect();
            return error
                .with_detail("brain_code", PARAMS_INVALID)
                .with_detail("details", json!({"available": names}));
        }
        code => code.to_owned(),
    };
    let error = match error_details(&error) {
        Some(details) => error.with_detail("details", details),
        None => error,
    };
    error.with_code(code.clone()).with_detail("brain_code", code)
}

/// The `details` that clients expect: the invalid field, or the missing argument of a prompt.
fn error_details(error: &Error) -> Option<Value> {
    if let Some(missing) = error.detail("missing") {
        return Some(json!({"missing": missing}));
    }
    if let Some(Value::Array(violations)) = error.detail("details") {
        return Some(json!({"field": violations.first().and_then(first_field), "faults": violations}));
    }
    error.detail("field").map(|field| json!({"field": field}))
}

/// The field that a schema violation is about. A missing field is named only in the reason.
fn first_field(violation: &Value) -> Option<String> {
    let field = violation["field"].as_str().unwrap_or_default();
    if !field.is_empty() {
        return Some(field.to_owned());
    }
    let reason = violation["reason"].as_str()?;
    let (name, rest) = reason.strip_prefix('"')?.split_once('"')?;
    rest.contains("required").then(|| name.to_owned())
}

/// The not-found code for an address, by the shape of its URI.
fn not_found_code(requested: RequestTarget<'_>) -> &'static str {
    let RequestTarget::Address(uri) = requested else { return ROW_NOT_FOUND };
    let path = uri.split_once("://").map_or(uri, |(_, path)| path);
    if path.starts_with("wiki/") {
        "wiki_page_not_found"
    } else if path.starts_with("raw/") {
        "raw_artifact_not_found"
    } else if path.starts_with("ledger/payment-intents/") {
        "payment_intent_not_found"
    } else {
        ROW_NOT_FOUND
    }
}

fn scope_error(caller: &Principal, requested: RequestTarget<'_>, error: Error) -> Error {
    let needed = error.detail("scope").and_then(Value::as_str).unwrap_or_default().to_owned();
    let granted: Vec<&str> = caller.scopes.iter().collect();
    let message = match requested {
        RequestTarget::Tool(name) => format!("tool '{name}' requires scope '{needed}'"),
        RequestTarget::Prompt(name) => format!("prompt '{name}' requires scope '{needed}'"),
        _ => format!("This needs the scope {needed}"),
    };
    let wire_error = Error::new(Kind::Scope, SCOPE_INSUFFICIENT, message)
        .with_detail("scope", needed.as_str())
        .with_detail("details", json!({"required": [needed], "held": granted}));
    let wire_error = match error.hint_text() {
        Some(hint) => wire_error.hint(hint),
        None => wire_error,
    };
    match error.uri() {
        Some(uri) => wire_error.with_uri(uri),
        None => wire_error,
    }
}

#[cfg(test)]
mod tests {
    use quad_core::{ScopeRequirement, TenantId};

    use super::*;

    #[test]
    fn wire_errors_have_stable_codes() {
        let caller = Principal::local_agent(TenantId::new("t"), ["wiki:read"]);
        let check = |requested: RequestTarget<'_>, error: Error, code: &str| {
            let wire_error = to_wire_error(&caller, requested, &["a.b"], error);
            assert_eq!(wire_error.detail("brain_code").and_then(Value::as_str), Some(code));
        };
        let account = RequestTarget::Address("brain://ledger/accounts/acct_1");
        check(account, Error::not_found("brain://ledger/accounts/acct_1"), ROW_NOT_FOUND);
        check(
            RequestTarget::Address("brain://wiki/x"),
            Error::not_found("brain://wiki/x"),
            "wiki_page_not_found",
        );
        check(
            RequestTarget::Address("brain://raw/x"),
            Error::not_found("brain://raw/x"),
            "raw_artifact_not_found",
        );
        check(account, Error::scope_missing(ScopeRequirement(&["ledger:read"])), SCOPE_INSUFFICIENT);
        check(account, Error::internal("disk full"), "internal_server_error");
        check(RequestTarget::Tool("x"), Error::bad_input("no"), PARAMS_INVALID);
        let unknown = Error::new(Kind::BadInput, "UNKNOWN_TOOL", "Unknown tool: x");
        let unknown = to_wire_error(&caller, RequestTarget::Tool("x"), &["a.b"], unknown);
        assert_eq!(unknown.code(), "UNKNOWN_TOOL");
        assert_eq!(unknown.detail("details"), Some(&json!({"available": ["a.b"]})));
    }

    #[test]
    fn missing_argument_is_reported_as_field() {
        let violation = json!({"field": "", "reason": "\"account_id\" is a required property"});
        assert_eq!(first_field(&violation).as_deref(), Some("account_id"));
        assert_eq!(first_field(&json!({"field": "limit", "reason": "x"})).as_deref(), Some("limit"));
    }
}
