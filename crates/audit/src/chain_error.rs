//! Errors of a damaged chain. They name the first broken event.

use quad_core::{Error, Kind};

/// The code of every failed verification.
pub const AUDIT_BROKEN: &str = "AUDIT_BROKEN";

/// An event is changed, missing or out of order.
pub(crate) fn event(sequence: u64, id: Option<&str>, reason: &str) -> Error {
    let name = id.map_or_else(|| format!("Event {sequence}"), |id| format!("Event {sequence} ({id})"));
    let error = Error::new(Kind::Conflict, AUDIT_BROKEN, format!("{name} {reason}"))
        .with_detail("sequence", sequence);
    match id {
        Some(id) => error.with_detail("event", id),
        None => error,
    }
}

/// A checkpoint is invalid or does not match the events.
pub(crate) fn checkpoint(size: u64, reason: &str) -> Error {
    Error::new(Kind::Conflict, AUDIT_BROKEN, format!("The checkpoint over {size} events {reason}"))
        .with_detail("checkpoint", size)
}

/// A file is damaged outside of its events.
pub(crate) fn file(line: u64, reason: &str) -> Error {
    Error::new(Kind::Conflict, AUDIT_BROKEN, format!("Line {line} {reason}")).with_detail("line", line)
}

/// A proof or receipt is invalid.
pub(crate) fn document(reason: &str) -> Error {
    Error::new(Kind::Conflict, AUDIT_BROKEN, reason)
}

/// The stored chain is inconsistent.
pub(crate) fn stored_chain(reason: &str) -> Error {
    Error::new(Kind::Internal, AUDIT_BROKEN, "The stored audit chain is damaged")
        .hint("`quad audit verify` names the first broken event")
        .with_cause(reason.to_owned())
}
