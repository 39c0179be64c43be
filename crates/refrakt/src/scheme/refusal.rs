//! The refusals of this scheme: a code, a sentence, and what to do next.
//!
//! Existing clients know six codes, and look for them in `errorCode`; a finer one stands beside, as `detail`.

use quad_core::scheme::Asked;
use quad_core::{Error, Kind};

use crate::plan::NotFound;
use crate::plan::edit::EditError;
use crate::project::SiteError;

/// There is no plan folder.
pub(crate) const PLAN_DIR_MISSING: &str = "PLAN_DIR_MISSING";

/// There is no site.
pub(crate) const SITE_CONFIG_MISSING: &str = "SITE_CONFIG_MISSING";

/// The codes that existing clients know.
const DOCUMENTED: [&str; 6] = [
    "UNKNOWN_TOOL",
    "TOOL_FAILED",
    "CLI_INVOCATION_FAILED",
    PLAN_DIR_MISSING,
    SITE_CONFIG_MISSING,
    "RESOURCE_FAILED",
];

/// A refusal of the shared path or of ours, with the code that existing clients look for.
pub(crate) fn spelt(asked: Asked<'_>, tools: &[&'static str], error: Error) -> Error {
    let error = match error.code() {
        "UNKNOWN_TOOL" => {
            let near = error.next_step().map(|near| format!("{near}. ")).unwrap_or_default();
            error.hint(format!("{near}The tools are {}", tools.join(", ")))
        }
        _ => error,
    };
    let code = error.code().to_owned();
    if DOCUMENTED.contains(&code.as_str()) {
        return error.fact("errorCode", code);
    }
    let documented = if matches!(asked, Asked::Tool(_)) { "TOOL_FAILED" } else { "RESOURCE_FAILED" };
    error.fact("errorCode", documented).fact("detail", code)
}

/// Nobody's folder has a plan.
pub(crate) fn no_plan(configured: Option<&str>) -> Error {
    let refused = Error::new(Kind::NotFound, PLAN_DIR_MISSING, "The project has no plan folder");
    match configured {
        Some(dir) => {
            refused.hint(format!("The configuration names {dir}, which is not there; make the folder"))
        }
        None => refused.hint(
            "Make a folder called plan in the project, or name another as plan.dir in refrakt.config.json",
        ),
    }
}

/// No site can be chosen.
pub(crate) fn site(error: &SiteError, config_error: Option<String>) -> Error {
    match error {
        SiteError::Missing => {
            let refused = Error::new(Kind::NotFound, SITE_CONFIG_MISSING, "The project declares no site");
            match config_error {
                Some(mistake) => refused.hint(format!("Its configuration cannot be used: {mistake}")),
                None => refused.hint("Declare one in refrakt.config.json, under site or sites"),
            }
        }
        SiteError::Ambiguous { sites } => {
            Error::new(Kind::BadInput, "SITE_AMBIGUOUS", sentence(&error.to_string()))
                .hint(sentence(&error.hint()))
                .fact("sites", sites.as_slice())
        }
        SiteError::Unknown { sites, .. } => {
            Error::new(Kind::BadInput, "SITE_UNKNOWN", sentence(&error.to_string()))
                .hint(sentence(&error.hint()))
                .fact("sites", sites.as_slice())
        }
    }
}

/// No entity of that type has that id.
pub(crate) fn no_entity(missing: &NotFound) -> Error {
    let hint = match (&missing.other_type, missing.nearest.as_slice()) {
        (Some(other), _) => {
            format!("There is a {other} of that id: refrakt://plan/{other}/{}", shown(&missing.id))
        }
        (None, []) => "refrakt://plan/index has them all".to_owned(),
        (None, near) => format!("Nearest ids: {}; refrakt://plan/index has them all", near.join(", ")),
    };
    entity_not_found(&missing.id).hint(hint)
}

/// No entity has that id.
pub(crate) fn no_such_id(id: &str, nearest: &[&str]) -> Error {
    let hint = if nearest.is_empty() {
        "refrakt://plan/index has them all".to_owned()
    } else {
        format!("Nearest ids: {}; refrakt://plan/index has them all", nearest.join(", "))
    };
    entity_not_found(id).hint(hint)
}

fn entity_not_found(id: &str) -> Error {
    Error::new(Kind::NotFound, "ENTITY_NOT_FOUND", format!("plan entity {} not found", shown(id)))
}

/// No rune has that name.
pub(crate) fn no_rune(name: &str, hint: &str) -> Error {
    Error::new(Kind::NotFound, "RUNE_UNKNOWN", format!("There is no rune called {}", shown(name)))
        .hint(sentence(hint))
}

/// A change that cannot be carried out.
pub(crate) fn edit(id: &str, error: EditError) -> Error {
    match error {
        EditError::NoEntity(reason) => {
            Error::new(Kind::Conflict, "ENTITY_UNREADABLE", format!("{id}: {reason}"))
                .hint("plan.validate says what is wrong with the file")
        }
        EditError::Attribute { name, message, hint } => {
            Error::new(Kind::BadInput, "INVALID_ATTRIBUTE", format!("{id}: {message}"))
                .hint(sentence(&hint))
                .fact("attribute", name)
        }
        EditError::Criterion { which, candidates, ambiguous } => {
            let what = if ambiguous { "fits several criteria" } else { "fits no criterion" };
            let message = format!("{id}: {} {what}", shown(&which));
            let kind = if ambiguous { Kind::BadInput } else { Kind::NotFound };
            let listed: Vec<String> =
                candidates.iter().enumerate().map(|(at, text)| format!("{}. {text}", at + 1)).collect();
            let hint = match (ambiguous, listed.is_empty()) {
                (_, true) => "It has no criteria; write them as a list of boxes: - [ ] text".to_owned(),
                (true, _) => format!("Say more of it, or its number: {}", listed.join("; ")),
                (false, _) => format!("It has {}", listed.join("; ")),
            };
            Error::new(kind, "CRITERION_NOT_FOUND", message).hint(hint).fact("criteria", candidates)
        }
        EditError::Resolved => {
            Error::new(Kind::Conflict, "ALREADY_RESOLVED", format!("{id} says already how it ended"))
                .hint("Change its section Resolution in the file itself")
        }
        EditError::Broken => Error::new(
            Kind::BadInput,
            "ENTITY_BROKEN",
            format!("{id} would not be read as it is meant after this change"),
        )
        .hint("Close every tag that a text opens, and leave the entity's own tag out of it"),
    }
}

/// The file is not what the caller saw.
pub(crate) fn changed(id: &str, file: &str, now: Option<&str>) -> Error {
    Error::new(Kind::Conflict, "ENTITY_CHANGED", format!("{id} has changed since it was read"))
        .hint("Read it again and decide anew; its hash is now that of the fact hash")
        .fact("file", file)
        .fact("hash", now)
}

/// A file cannot be read or written.
pub(crate) fn disk(error: std::io::Error) -> Error {
    Error::internal(error)
}

/// What a caller sent, cut to what a sentence can hold.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A text that begins with a capital letter.
pub(crate) fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}
