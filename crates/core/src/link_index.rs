//! The interface to the index of links between addresses, for a scheme that shows links with its own data.
//!
//! The crate that keeps the index and the scheme that shows the links depend on this trait, not on each
//! other.

use serde_json::Value;

use crate::{Principal, ReadSet, Result};

/// The index of links.
#[async_trait::async_trait]
pub trait LinkIndex: Send + Sync {
    /// The links of an address in both directions. Includes only links whose two ends the caller can read.
    /// `uri` is canonical, and the caller must have been checked to be able to read it.
    async fn links_of(&self, caller: &Principal, uri: &str) -> Result<VisibleLinks>;
}

/// The links of one address.
#[derive(Clone, Debug, Default)]
pub struct VisibleLinks {
    /// The links as JSON. Those that start at the address come first.
    pub links: Vec<Value>,
    /// Whether a limit stopped the search before all links were checked.
    pub is_truncated: bool,
    /// The read set of the links. All its tags are hidden: a change may concern a link that the caller cannot
    /// see.
    pub read_set: ReadSet,
}
