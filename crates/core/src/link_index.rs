//! What an address cites and what cites it, for a scheme that shows this beside what it holds itself.
//!
//! The scheme that keeps the links and the one that shows them meet here; neither knows the other.

use serde_json::Value;

use crate::{Principal, ReadSet, Result};

/// Whoever keeps the links.
#[async_trait::async_trait]
pub trait LinkIndex: Send + Sync {
    /// The links of an address, in both directions, as far as the caller can read both ends. `uri` is canonical, and the caller
    /// has been found to be able to read it.
    async fn links_of(&self, caller: &Principal, uri: &str) -> Result<VisibleLinks>;
}

/// The links of one address.
#[derive(Clone, Debug, Default)]
pub struct VisibleLinks {
    /// Each as the keeper shows it, those that start at the address first.
    pub links: Vec<Value>,
    /// Whether the keeper stopped before it had looked at all.
    pub is_truncated: bool,
    /// What they rest on, all of it veiled: a link that is hidden from the caller may change.
    pub read_set: ReadSet,
}
