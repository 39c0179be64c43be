//! The errors of this scheme: a code, a sentence and a hint.

use quad_core::{Error, Kind, closest};
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

/// The error for an unknown id and for a path whose parts do not belong together: both get the same answer.
pub(crate) fn not_found(resource: &'static str) -> Error {
    let hint = match resource {
        "Organization" => "List them with backend_org_list or bkend://orgs",
        "Project" => "List them with backend_project_list or bkend://projects",
        "Environment" => "List them with backend_env_list or bkend://environments",
        "Table" => "List them with backend_table_list or bkend://tables",
        "Record" => "List the rows with backend_data_list",
        "Version" => "List the versions with backend_schema_version_list or backend_index_version_list",
        "Access token" => "List them with backend_access_token_list or bkend://access-tokens",
        _ => "Check the ids",
    };
    Error::new(Kind::NotFound, "NOT_FOUND", format!("{resource} not found")).hint(hint)
}

/// A required parameter is missing.
pub(crate) fn missing(parameter: &str) -> Error {
    Error::bad_input(format!("{parameter} is required"))
        .with_detail("details", json!([{"field": parameter, "reason": "required"}]))
}

/// A parameter has an invalid value.
pub(crate) fn invalid(parameter: &str, message: impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{parameter}: {message}"))
        .with_detail("details", json!([{"field": parameter, "reason": message.to_string()}]))
}

/// The request is valid but conflicts with stored data.
pub(crate) fn conflict(message: impl Into<String>) -> Error {
    Error::new(Kind::Conflict, "CONFLICT", message)
}

/// A limit is exceeded.
pub(crate) fn limit(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Limit, code, message)
}

/// A record violates rules of its table.
pub(crate) fn record_invalid(violations: &[Violation]) -> Error {
    let details: Vec<Value> = violations
        .iter()
        .map(|violation| json!({"field": violation.field, "reason": violation.reason, "message": violation.message}))
        .collect();
    let message = violations
        .first()
        .map_or("The record does not fit the table", |violation| violation.message.as_str());
    Error::new(Kind::BadInput, "data/validation-error", message)
        .hint("backend_table_get shows the table's fields and their rules")
        .with_detail("details", details)
}

/// A system field was used where a user's field is expected.
pub(crate) fn system_field(name: &str) -> Error {
    Error::new(
        Kind::BadInput,
        "SYSTEM_FIELD_PROTECTED",
        format!("{name} is a system field and cannot be changed"),
    )
    .hint("id, createdBy, createdAt and updatedAt are set by the server; choose another name")
    .with_detail("details", json!([{"field": name, "reason": "system"}]))
}

/// A name is not in a closed list; the hint suggests the closest one.
pub(crate) fn unknown<'a>(
    item_kind: &str,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Error {
    let error = Error::bad_input(format!("There is no {item_kind} {}", truncate_for_message(name)))
        .with_detail("details", json!([{"field": truncate_for_message(name), "reason": "unknown"}]));
    match closest(name, candidates.clone()) {
        Some(closest) => error.hint(format!("The nearest is {closest}")),
        None => {
            let mut names: Vec<&str> = candidates.into_iter().take(30).collect();
            names.sort_unstable();
            if names.is_empty() { error } else { error.hint(format!("Known are {}", names.join(", "))) }
        }
    }
}

/// Shortens a caller's value for use in a message.
pub(crate) fn truncate_for_message(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    quad_core::text::truncate(text, MAX_CHARS)
}
