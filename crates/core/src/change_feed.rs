//! Committed changes, for subscribers.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::{Result, Tag, TenantId, Version};

/// One commit: its version and the tags that it invalidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The tenant's version after the commit.
    pub version: Version,
    /// The tags that it invalidates.
    pub tags: Vec<Tag>,
}

/// The feed of committed changes of all processes.
#[async_trait::async_trait]
pub trait ChangeFeed: Send + Sync {
    /// The changes of one tenant in version order: every change that commits after this call returns is
    /// delivered. A receiver that lags gets an error and must check everything that it depends on again.
    async fn subscribe(&self, tenant: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>>;
}
