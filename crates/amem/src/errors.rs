//! The errors of this scheme: a code, a sentence, and a hint.
//!
//! A hint names only tools that `tools/list` shows by default, and addresses.

use quad_core::text::truncate;
use quad_core::{Error, Kind, closest};

use crate::node::NodeId;
use crate::session::SessionId;

/// Characters of a caller's input that an error message repeats.
const INPUT_CHARS: usize = 80;

/// How to find the id of a memory.
pub(crate) const FIND_NODES: &str =
    "Find memories with memory_search or memory_query, or read amem://graph/recent";

/// How to find the id of a session.
pub(crate) const FIND_SESSIONS: &str = "Read amem://sessions for the sessions that exist";

/// The node does not exist.
pub(crate) fn node_not_found(id: NodeId) -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no memory with the id {id}"))
        .hint(FIND_NODES)
        .with_detail("node_id", id.0)
}

/// The session does not exist.
pub(crate) fn session_not_found(id: SessionId) -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no session with the id {id}"))
        .hint(FIND_SESSIONS)
        .with_detail("session_id", id.0)
}

/// An argument that breaks a rule. The message is the argument's name and `fact`.
pub(crate) fn invalid_argument(
    argument: &str,
    fact: impl std::fmt::Display,
    hint: impl Into<String>,
) -> Error {
    Error::bad_input(format!("{argument} {fact}")).hint(hint).with_detail("field", argument)
}

/// An argument that is not what its name says.
pub(crate) fn not_a(argument: &str, expected: &str, value: &str, hint: impl Into<String>) -> Error {
    invalid_argument(argument, format!("is not {expected}: {}", truncate(value, INPUT_CHARS)), hint)
}

/// A session id that no session can have.
pub(crate) fn session_out_of_range(argument: &str, value: impl std::fmt::Display) -> Error {
    not_a(argument, "the id of a session, a whole number below 4294967296", &value.to_string(), FIND_SESSIONS)
}

/// A valid request that contradicts the current state.
pub(crate) fn conflict(message: impl Into<String>) -> Error {
    Error::new(Kind::Conflict, "CONFLICT", message)
}

/// The caller is in no session, and has named none.
pub(crate) fn no_current_session() -> Error {
    conflict("You have no current session, and no session_id is given")
        .hint("Start a session with session_start, or give a session_id that amem://sessions lists")
        .with_code("NO_SESSION")
}

/// A request beyond a named limit.
pub(crate) fn limit_exceeded(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Limit, code, message)
}

/// A value that is not in a closed list. The hint has the whole list, the nearest value first.
pub(crate) fn unknown_value(kind: &str, value: &str, allowed: &[&'static str]) -> Error {
    let nearest = closest(value, allowed.iter().copied());
    let others = allowed.iter().copied().filter(|name| Some(*name) != nearest);
    let names: Vec<&str> = nearest.into_iter().chain(others).collect();
    Error::bad_input(format!("There is no {kind} {}", truncate(value, INPUT_CHARS)))
        .hint(format!("Use one of {}", names.join(", ")))
        .with_detail("field", kind)
}

/// A vector that cannot be compared with those of the memory.
pub(crate) fn other_dimension(argument: &str, numbers: usize, dimension: usize) -> Error {
    invalid_argument(
        argument,
        format!("has {numbers} numbers, but the vectors of this memory have {dimension}"),
        format!("Give a vector of {dimension} numbers, from the model that made the others"),
    )
}

/// An edge from a node to itself.
pub(crate) fn self_edge() -> Error {
    invalid_argument("target_id", "names the memory itself, which cannot be linked to itself", FIND_NODES)
}

/// An edge that would close a cycle of corrections.
pub(crate) fn supersede_cycle(source: NodeId, target: NodeId) -> Error {
    conflict(format!("Memory {source} cannot supersede memory {target}, which supersedes it already"))
        .hint("Link the newer memory to the older one, or store what is right with memory_correct")
        .with_code("SUPERSEDES_CYCLE")
}
