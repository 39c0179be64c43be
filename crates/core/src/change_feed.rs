//! What changed, as subscribers hear of it.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::{Result, Tag, TenantId, Version};

/// One commit: its version and what it touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The tenant's version after the commit.
    pub version: Version,
    /// What it touched.
    pub tags: Vec<Tag>,
}

/// Where committed changes are announced, whichever process committed them.
#[async_trait::async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Changes of one tenant from now on, in version order: every change that commits after this call returns is
    /// delivered. A receiver that lags is told so and must look at everything it cares about again.
    async fn subscribe(&self, tenant: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>>;
}
