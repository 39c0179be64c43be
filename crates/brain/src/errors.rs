//! Error constructors with the codes that clients of this scheme know, and the mapping to wire errors.

use std::borrow::Cow;

use quad_core::scheme::RequestTarget;
use quad_core::text::truncate;
use quad_core::{Error, Kind, Principal, nearest_first};
use serde_json::{Value, json};

use crate::wiki;

/// Invalid input.
pub(crate) const PARAMS_INVALID: &str = "request_params_invalid";

/// The credential lacks a scope.
pub(crate) const SCOPE_INSUFFICIENT: &str = "auth_scope_insufficient";

/// No such ledger row.
pub(crate) const ROW_NOT_FOUND: &str = "ledger_row_not_found";

/// An argument or field with an invalid value. The hint is general; a caller that knows more sets its own.
pub(crate) fn invalid(field: &str, message: impl std::fmt::Display) -> Error {
    Error::new(Kind::BadInput, PARAMS_INVALID, format!("{field}: {message}"))
        .hint(format!("Correct {field} and try again"))
        .with_detail("field", field)
}

/// A missing argument or field.
pub(crate) fn missing(field: &str) -> Error {
    Error::new(Kind::BadInput, PARAMS_INVALID, format!("'{field}' is required"))
        .hint(format!("Add {field} and try again"))
        .with_detail("field", field)
}

/// A value that is not in a closed list.
pub(crate) fn unknown(what: &str, field: &str, value: &str, allowed: &[&'static str]) -> Error {
    invalid(field, format!("unknown {what} '{}'", truncate(value, 80)))
        .hint(format!("Use one of {}", nearest_first(value, allowed.iter().copied()).join(", ")))
}

/// A row that does not exist.
pub(crate) fn row_not_found(what: &str, id: &str) -> Error {
    Error::new(Kind::NotFound, ROW_NOT_FOUND, format!("There is no {what} {}", truncate(id, 80)))
        .hint(rows_hint(what))
        .with_detail("id", id)
}

/// How to find the rows of a kind that exist.
pub(crate) fn rows_hint(kind: &str) -> &'static str {
    match kind {
        "account" => "List the accounts with ledger_accounts_list",
        "transaction" => "List the transactions with ledger_transactions_list",
        "obligation" => "List the obligations with ledger_obligations_list",
        "counterparty" => "List the counterparties with ledger_counterparties_list",
        "invoice" => "Read brain://wiki/invoices/all for the newest invoices",
        "payment_intent" => "List your own payment intents with payment_intent_list",
        "policy" => "Read brain://wiki/policies/active for the policy in force",
        _ => "Load the row before the rows that refer to it",
    }
}

/// How to find the evidence that exists. The ids of other artifacts are in the rows that cite them.
pub(crate) const ARTIFACTS_HINT: &str =
    "Take the id from the source_ids of a ledger row, or list your own evidence with resource_list";

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
        Kind::NotFound if error.code() == "NOT_FOUND" => {
            let (code, hint) = not_found_facts(requested);
            error.with_code(code).hint(hint)
        }
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

/// The not-found code and hint for an address. They depend on the shape of its URI alone: the answer for a row of
/// another tenant equals that for a missing row.
fn not_found_facts(requested: RequestTarget<'_>) -> (&'static str, Cow<'static, str>) {
    let RequestTarget::Address(uri) = requested else { return (ROW_NOT_FOUND, Cow::Borrowed(rows_hint(""))) };
    let path = uri.split_once("://").map_or(uri, |(_, path)| path);
    if let Some(slug) = path.strip_prefix("wiki/") {
        return ("wiki_page_not_found", Cow::Owned(wiki::not_found::hint(slug)));
    }
    if path.starts_with("raw/") {
        return ("raw_artifact_not_found", Cow::Borrowed(ARTIFACTS_HINT));
    }
    let (code, kind) = match path.strip_prefix("ledger/").and_then(|path| path.split('/').next()) {
        Some("payment-intents") => ("payment_intent_not_found", "payment_intent"),
        Some("accounts") => (ROW_NOT_FOUND, "account"),
        Some("transactions") => (ROW_NOT_FOUND, "transaction"),
        Some("obligations") => (ROW_NOT_FOUND, "obligation"),
        Some("counterparties") => (ROW_NOT_FOUND, "counterparty"),
        Some("invoices") => (ROW_NOT_FOUND, "invoice"),
        _ => (ROW_NOT_FOUND, ""),
    };
    (code, Cow::Borrowed(rows_hint(kind)))
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
        let missing =
            to_wire_error(&caller, account, &[], Error::not_found("brain://ledger/accounts/acct_1"));
        assert_eq!(missing.hint_text(), Some("List the accounts with ledger_accounts_list"));
        check(account, Error::scope_missing(ScopeRequirement(&["ledger:read"])), SCOPE_INSUFFICIENT);
        check(account, Error::internal("disk full"), "internal_server_error");
        check(RequestTarget::Tool("x"), Error::bad_input("no"), PARAMS_INVALID);
        let unknown = Error::new(Kind::BadInput, "UNKNOWN_TOOL", "Unknown tool: x");
        let unknown = to_wire_error(&caller, RequestTarget::Tool("x"), &["a.b"], unknown);
        assert_eq!(unknown.code(), "UNKNOWN_TOOL");
        assert_eq!(unknown.detail("details"), Some(&json!({"available": ["a.b"]})));
    }

    #[test]
    fn allowed_words_are_listed_nearest_first() {
        let error = unknown("status", "status", "activ", &["closed", "frozen", "active"]);
        assert!(error.hint_text().unwrap().starts_with("Use one of active, "), "{:?}", error.hint_text());
    }

    #[test]
    fn missing_argument_is_reported_as_field() {
        let violation = json!({"field": "", "reason": "\"account_id\" is a required property"});
        assert_eq!(first_field(&violation).as_deref(), Some("account_id"));
        assert_eq!(first_field(&json!({"field": "limit", "reason": "x"})).as_deref(), Some("limit"));
    }
}
