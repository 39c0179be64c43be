//! The result of a verification.

use std::collections::BTreeSet;

use crate::hash::Hash;

/// The result of a successful verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The tenant of the chain.
    pub tenant: String,
    /// The first verified event. A signed anchor covers the events before it.
    pub first_sequence: u64,
    /// The last event.
    pub last_sequence: u64,
    /// The hash of the last event.
    pub last_hash: Option<Hash>,
    /// Checkpoints among the events that match them.
    pub checkpoints: u64,
    /// The last event that one of these checkpoints covers.
    pub covered_to: u64,
    /// Trusted checkpoints that match.
    pub trusted_matched: u64,
    /// Trusted checkpoints of events before the first; they cannot be compared.
    pub trusted_before_start: u64,
    /// The ids of the keys that signed.
    pub keys: BTreeSet<String>,
}
