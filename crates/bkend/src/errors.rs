//! The errors of this scheme: a code, the fact, and a hint that says what to do.
//!
//! Hints name only tools of the default profile and addresses: a caller may see no other tools.

use quad_core::{Error, Kind, nearest_first};
use serde_json::{Value, json};

/// An error in one field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The path of the field.
    pub field: String,
    /// The rule for programs: `required`, `type`, `minLength`, ….
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
}

/// The error for an unknown id or name and for ids that do not belong together: both get the same answer.
pub(crate) fn not_found(resource: &'static str, sent: &str) -> Error {
    let message = format!("{resource} not found: {}", truncate_for_message(sent));
    Error::new(Kind::NotFound, "NOT_FOUND", message).hint(listing_hint(resource))
}

/// What lists the existing things.
pub(crate) fn listing_hint(resource: &str) -> &'static str {
    match resource {
        "Organization" => "List the organizations with get_context or bkend://orgs",
        "Project" => "List the projects with get_context or bkend://projects",
        "Environment" => "List the environments with get_context or bkend://environments",
        "Record" => "List the rows with backend_data_list",
        "Access token" => "List the tokens with bkend://access-tokens",
        _ => "List the tables with backend_table_list or bkend://tables",
    }
}

/// A required parameter is missing. The hint says what to send.
pub(crate) fn missing(parameter: &str, hint: impl Into<String>) -> Error {
    Error::bad_input(format!("{parameter} is missing"))
        .hint(hint)
        .with_detail("details", json!([{"field": parameter, "reason": "required"}]))
}

/// A parameter has an invalid value: the fact, and what to send instead.
pub(crate) fn invalid(parameter: &str, problem: impl std::fmt::Display, hint: impl Into<String>) -> Error {
    let parameter = truncate_for_message(parameter);
    Error::bad_input(format!("{parameter} {problem}"))
        .hint(hint)
        .with_detail("details", json!([{"field": parameter, "reason": problem.to_string()}]))
}

/// The request is valid but conflicts with stored data.
pub(crate) fn conflict(message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(Kind::Conflict, "CONFLICT", message).hint(hint)
}

/// A limit is exceeded.
pub(crate) fn limit(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Limit, code, message)
}

/// A record violates rules of its table. The message has the first violations, for clients that show nothing else.
pub(crate) fn record_invalid(violations: &[Violation]) -> Error {
    const IN_MESSAGE: usize = 5;
    let details: Vec<Value> = violations
        .iter()
        .map(|violation| json!({"field": violation.field, "reason": violation.reason, "message": violation.message}))
        .collect();
    let messages: Vec<&str> =
        violations.iter().take(IN_MESSAGE).map(|violation| violation.message.as_str()).collect();
    let mut message = messages.join("; ");
    if violations.len() > IN_MESSAGE {
        message.push_str(&format!("; and {} more", violations.len() - IN_MESSAGE));
    }
    Error::new(Kind::BadInput, "data/validation-error", message)
        .hint("Correct the data; backend_table_get shows the fields and their rules")
        .with_detail("details", details)
}

/// A system field was used where a user's field is expected.
pub(crate) fn system_field(name: &str) -> Error {
    Error::new(
        Kind::BadInput,
        "SYSTEM_FIELD_PROTECTED",
        format!("{name} is a system field and cannot be changed"),
    )
    .hint("Choose another name; the server sets id, createdBy, createdAt and updatedAt")
    .with_detail("details", json!([{"field": name, "reason": "system"}]))
}

/// A name is not in a closed list; the hint has the allowed ones, the nearest first.
pub(crate) fn unknown<'a>(
    item_kind: &str,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Error {
    let name = truncate_for_message(name);
    let error = Error::bad_input(format!("There is no {item_kind} {name}"))
        .with_detail("details", json!([{"field": name, "reason": "unknown"}]));
    let options = options_text(&name, candidates);
    if options.is_empty() { error.hint("Add one first") } else { error.hint(format!("Use one of {options}")) }
}

/// Names of a closed list in a message: all values of every enumeration that is published.
const OPTIONS_SHOWN_MAX: usize = 40;

/// The names of a closed list, the nearest first, with the number of those that are left out.
pub(crate) fn options_text<'a>(sent: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let sorted = nearest_first(sent, candidates);
    let shown = sorted[..sorted.len().min(OPTIONS_SHOWN_MAX)].join(", ");
    match sorted.len().saturating_sub(OPTIONS_SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Shortens a caller's value for use in a message.
pub(crate) fn truncate_for_message(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    quad_core::text::truncate(text, MAX_CHARS)
}
