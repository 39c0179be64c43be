//! The errors of this scheme: a code, a message and a hint.
//!
//! Existing clients know the codes of [`CLIENT_ERROR_CODES`] and read them from `errorCode`. A more precise code is in
//! `detail`.

use quad_core::scheme::RequestTarget;
use quad_core::{Error, Kind};
use serde_json::Value;

use crate::plan::edit::EditError;
use crate::plan::{EntityNotFound, EntityType};
use crate::project::SiteError;

/// The code for a project without a plan folder.
pub(crate) const PLAN_DIR_MISSING: &str = "PLAN_DIR_MISSING";

/// The code for a project without a site.
pub(crate) const SITE_CONFIG_MISSING: &str = "SITE_CONFIG_MISSING";

/// The code for a request that names none of several sites.
const SITE_AMBIGUOUS: &str = "SITE_AMBIGUOUS";

/// The codes that existing clients know.
const CLIENT_ERROR_CODES: [&str; 5] =
    ["UNKNOWN_TOOL", "TOOL_FAILED", PLAN_DIR_MISSING, SITE_CONFIG_MISSING, "RESOURCE_FAILED"];

/// Adds the code that existing clients read. `tools` gives the names of the default tools, for the hint to an unknown
/// one.
pub(crate) fn with_client_error_code(
    asked: RequestTarget<'_>,
    tools: impl FnOnce() -> Vec<&'static str>,
    error: Error,
) -> Error {
    let error = match (error.code(), asked) {
        ("UNKNOWN_TOOL", _) => {
            let near = error.hint_text().map(|near| format!("{near}. ")).unwrap_or_default();
            error.hint(format!("{near}Use one of {}", tools().join(", ")))
        }
        (SITE_AMBIGUOUS, RequestTarget::Tool(_)) => {
            let sites = error.detail("sites").and_then(Value::as_array).into_iter().flatten();
            let sites: Vec<&str> = sites.filter_map(Value::as_str).collect();
            let hint = format!("Send the argument site, one of {}", sites.join(", "));
            error.hint(hint)
        }
        (SITE_CONFIG_MISSING, RequestTarget::Tool(_)) => {
            let declare = error.hint_text().unwrap_or_default();
            let hint = format!("{declare}. refrakt_render and refrakt_validate_content need no site");
            error.hint(hint)
        }
        (_, RequestTarget::Tool(_)) => match error.hint_text().map(for_tools) {
            Some(hint) => error.hint(hint),
            None => error,
        },
        _ => error,
    };
    let code = error.code().to_owned();
    if CLIENT_ERROR_CODES.contains(&code.as_str()) {
        return error.with_detail("errorCode", code);
    }
    let client_code = if matches!(asked, RequestTarget::Tool(_)) { "TOOL_FAILED" } else { "RESOURCE_FAILED" };
    error.with_detail("errorCode", client_code).with_detail("detail", code)
}

/// A hint with calls of tools in the place of addresses: a client that calls tools may have no way to read one.
fn for_tools(hint: &str) -> String {
    let mut text = hint.to_owned();
    for (address, call) in [
        ("refrakt://plan/index?type=milestone", "plan_index {\"type\": \"milestone\"}"),
        (PLAN_INDEX, "plan_index"),
        ("Read refrakt://runes for all runes", "Call refrakt_reference without rune for all runes"),
        ("read refrakt://runes for all runes", "call refrakt_reference without rune for all runes"),
    ] {
        text = text.replace(address, call);
    }
    text = replace_address(&text, "refrakt://pages/index", |query| match query.strip_prefix("?site=") {
        Some(site) => format!("refrakt_pages {{\"site\": \"{site}\"}}"),
        None => "refrakt_pages".to_owned(),
    });
    replace_address(&text, "Read refrakt://plan/", |path| match path.split_once('/') {
        Some((kind, _)) => format!("Send type {kind}"),
        None => "Call plan_index".to_owned(),
    })
}

/// Replaces each text that begins with `prefix`, up to the next space or colon. `replacement` gets what follows the
/// prefix.
fn replace_address(text: &str, prefix: &str, replacement: impl Fn(&str) -> String) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(prefix) {
        let end = after.find([' ', ':']).unwrap_or(after.len());
        replaced.push_str(before);
        replaced.push_str(&replacement(&after[..end]));
        rest = &after[end..];
    }
    replaced + rest
}

/// The project has no plan folder, or the caller has no project.
pub(crate) fn plan_missing(configured: Option<&str>) -> Error {
    let error = Error::new(Kind::NotFound, PLAN_DIR_MISSING, "The project has no plan folder");
    match configured {
        Some(dir) => {
            error.hint(format!("Create the folder {dir}, or change plan.dir in refrakt.config.json"))
        }
        None => {
            error.hint("Create a folder called plan in the project, or set plan.dir in refrakt.config.json")
        }
    }
}

/// No site can be selected.
pub(crate) fn site_error(error: &SiteError, config_error: Option<String>) -> Error {
    match error {
        SiteError::Missing => {
            let missing = Error::new(Kind::NotFound, SITE_CONFIG_MISSING, "The project declares no site");
            match config_error {
                Some(problem) => missing.hint(format!("Fix the configuration: {problem}")),
                None => missing.hint("Declare one in refrakt.config.json, under site or sites"),
            }
        }
        SiteError::Ambiguous { sites } => {
            Error::new(Kind::BadInput, SITE_AMBIGUOUS, capitalize(&error.to_string()))
                .hint(capitalize(&error.hint()))
                .with_detail("sites", sites.as_slice())
        }
        SiteError::Unknown { sites, .. } => {
            Error::new(Kind::BadInput, "SITE_UNKNOWN", capitalize(&error.to_string()))
                .hint(capitalize(&error.hint()))
                .with_detail("sites", sites.as_slice())
        }
    }
}

/// No entity of this type has this id.
pub(crate) fn entity_not_found(missing: &EntityNotFound) -> Error {
    let hint = match (&missing.other_type, missing.nearest.as_slice()) {
        (Some(other), _) => {
            format!("Read refrakt://plan/{other}/{}: the id belongs to a {other}", excerpt(&missing.id))
        }
        (None, near) if missing.kind == EntityType::Milestone => {
            nearest_hint(near, "refrakt://plan/index?type=milestone")
        }
        (None, near) => nearest_hint(near, PLAN_INDEX),
    };
    entity_not_found_error(&missing.id).hint(hint)
}

/// No entity has this id.
pub(crate) fn id_not_found(id: &str, nearest: &[&str]) -> Error {
    entity_not_found_error(id).hint(nearest_hint(nearest, PLAN_INDEX))
}

/// Several entities have this title.
pub(crate) fn entity_ambiguous(name: &str, ids: &[&str]) -> Error {
    const IDS_SHOWN_MAX: usize = 10;
    let shown = ids.iter().take(IDS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    Error::new(
        Kind::NotFound,
        "ENTITY_NOT_FOUND",
        format!("plan entity {} not found: {} entities have this title", excerpt(name), ids.len()),
    )
    .hint(format!("Send the id, such as one of {shown}"))
}

/// The resource that lists all entities.
const PLAN_INDEX: &str = "refrakt://plan/index";

/// A hint that names similar ids or URLs, and the resource that lists all of them.
pub(super) fn nearest_hint<S: AsRef<str>>(nearest: &[S], index_uri: &str) -> String {
    let nearest: Vec<&str> = nearest.iter().map(AsRef::as_ref).collect();
    match nearest.as_slice() {
        [] => format!("List all with {index_uri}"),
        near => format!("Did you mean {}? List all with {index_uri}", near.join(" or ")),
    }
}

fn entity_not_found_error(id: &str) -> Error {
    Error::new(Kind::NotFound, "ENTITY_NOT_FOUND", format!("plan entity {} not found", excerpt(id)))
}

/// No rune has this name.
pub(crate) fn rune_unknown(name: &str, hint: &str) -> Error {
    Error::new(Kind::NotFound, "RUNE_UNKNOWN", format!("There is no rune called {}", excerpt(name)))
        .hint(capitalize(hint))
}

/// An update that cannot be applied.
pub(crate) fn edit_failed(id: &str, error: EditError) -> Error {
    match error {
        EditError::NoEntity(reason) => {
            Error::new(Kind::Conflict, "ENTITY_UNREADABLE", format!("{id}: {reason}"))
                .hint("Run plan_validate to see what is wrong with the file")
        }
        EditError::UnknownAttribute { name, kind, hint } => {
            let message = format!("{id}: a {kind} has no attribute called {}", excerpt(&name));
            invalid_attribute(name, message, &hint)
        }
        EditError::Attribute { name, message, hint } => {
            invalid_attribute(name, format!("{id}: {message}"), &hint)
        }
        EditError::Criterion { selector, candidates, ambiguous } => {
            let reason = if ambiguous { "matches several criteria" } else { "matches no criterion" };
            let message = format!("{id}: {} {reason}", excerpt(&selector));
            let kind = if ambiguous { Kind::BadInput } else { Kind::NotFound };
            let numbered: Vec<String> =
                candidates.iter().enumerate().map(|(index, text)| format!("{}. {text}", index + 1)).collect();
            let hint = match (ambiguous, numbered.is_empty()) {
                (_, true) => "Add criteria to the file as a list of checkboxes: - [ ] text".to_owned(),
                (true, _) => format!("Send the whole text of one: {}", candidates.join("; ")),
                (false, _) => format!("Choose one of {}", numbered.join("; ")),
            };
            Error::new(kind, "CRITERION_NOT_FOUND", message).hint(hint).with_detail("criteria", candidates)
        }
        EditError::AlreadyResolved => {
            let message = format!("{id} has several sections called Resolution");
            Error::new(Kind::Conflict, "ALREADY_RESOLVED", message)
                .hint("Keep one of them in the file, then send resolve again")
        }
        EditError::WouldNotParse => Error::new(
            Kind::BadInput,
            "ENTITY_BROKEN",
            format!("{id} would not parse to the requested entity after this change"),
        )
        .hint("Close every tag that the text opens, and do not include the entity's own tag"),
    }
}

fn invalid_attribute(name: String, message: String, hint: &str) -> Error {
    Error::new(Kind::BadInput, "INVALID_ATTRIBUTE", message)
        .hint(capitalize(hint))
        .with_detail("attribute", name)
}

/// The file has changed since the caller read it.
pub(crate) fn entity_changed(id: &str, file: &str, current_hash: Option<&str>) -> Error {
    Error::new(Kind::Conflict, "ENTITY_CHANGED", format!("{id} has changed since it was read"))
        .hint("Read the entity again with plan_context, and send its hash as ifHash")
        .with_detail("file", file)
        .with_detail("hash", current_hash)
}

/// A file could not be read or written.
pub(crate) fn io_error(error: std::io::Error) -> Error {
    Error::internal(error)
}

/// Text of the caller, shortened for use in a message.
pub(crate) fn excerpt(text: &str) -> String {
    const EXCERPT_CHARS_MAX: usize = 80;
    quad_core::text::truncate(text, EXCERPT_CHARS_MAX)
}

/// The text with its first letter in upper case.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
