//! Running blocking work from asynchronous code.

use quad_core::{Error, Result};

/// Runs work that may wait for the disk on a thread of the blocking pool.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}
