//! The errors of this scheme: a code, a sentence, and a hint.

use quad_core::text::truncate;
use quad_core::{Error, Kind, closest};

use crate::node::NodeId;
use crate::session::SessionId;

/// Characters of a caller's input that an error message repeats.
const INPUT_CHARS: usize = 80;

/// The node does not exist.
pub(crate) fn node_not_found(id: NodeId) -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", "Node not found")
        .hint("Find nodes with memory_search or memory_query, or read amem://graph/recent")
        .with_detail("node_id", id.0)
}

/// The session does not exist.
pub(crate) fn session_not_found(id: SessionId) -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", "Session not found")
        .hint("List the sessions with amem://sessions")
        .with_detail("session_id", id.0)
}

/// An argument that breaks a rule.
pub(crate) fn invalid_argument(argument: &str, message: impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{argument}: {message}")).with_detail("field", argument)
}

/// A valid request that contradicts the current state.
pub(crate) fn conflict(message: impl Into<String>) -> Error {
    Error::new(Kind::Conflict, "CONFLICT", message)
}

/// A request beyond a named limit.
pub(crate) fn limit_exceeded(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Limit, code, message)
}

/// A value that is not in a closed list.
pub(crate) fn unknown_value(kind: &str, value: &str, allowed: &[&'static str]) -> Error {
    let error = Error::bad_input(format!("There is no {kind} {}", truncate(value, INPUT_CHARS)))
        .with_detail("field", kind);
    match closest(value, allowed.iter().copied()) {
        Some(nearest) => error.hint(format!("Did you mean {nearest}? Use one of {}", allowed.join(", "))),
        None => error.hint(format!("Use one of {}", allowed.join(", "))),
    }
}

/// An edge from a node to itself.
pub(crate) fn self_edge() -> Error {
    invalid_argument("edges", "a node cannot have an edge to itself")
}

/// An edge that would close a cycle of corrections.
pub(crate) fn supersede_cycle() -> Error {
    conflict("The edge would close a cycle: its target already supersedes its source")
        .hint("Find the latest node with memory_resolve")
        .with_code("SUPERSEDES_CYCLE")
}
