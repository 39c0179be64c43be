//! The checkpoint thread: copies SQLite's write-ahead log (WAL) into the database file, off the commit path.
//!
//! A passive checkpoint does not block writers. But under constant writes it never reaches the end of the log, and
//! SQLite restarts the log at its beginning only after it was copied completely. The log would grow without limit,
//! and every commit would need new disk space. So when the log is longer than
//! [`WAL_PAGES_MAX`](limits::WAL_PAGES_MAX), the commit thread copies the short rest itself, between two commits. Its
//! next commit then reuses the space at the start of the log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Result};

use crate::connection::Connection;
use crate::{DbError, limits};

/// Longest sleep of the checkpoint thread before it checks whether the store still exists.
const IDLE_POLL: Duration = Duration::from_secs(5);

/// State shared by the commit thread and the checkpoint thread.
#[derive(Default)]
pub(crate) struct CheckpointSignal {
    dirty: Mutex<bool>,
    changed: Condvar,
    checkpoint_requested: AtomicBool,
}

impl CheckpointSignal {
    /// Called after each commit. Copies the rest of the log if the checkpoint thread has asked for it.
    pub(crate) fn on_commit(&self, connection: &mut Connection) {
        *self.dirty.lock_unpoisoned() = true;
        self.changed.notify_one();
        if self.checkpoint_requested.swap(false, Ordering::Relaxed)
            && let Err(error) = checkpoint_passive(connection)
        {
            tracing::debug!(%error, "checkpoint by the commit thread failed");
        }
    }

    /// Waits for a commit, at most [`IDLE_POLL`]; returns whether there was one.
    fn wait_for_commit(&self) -> bool {
        let dirty = self.dirty.lock_unpoisoned();
        let result = self.changed.wait_timeout_while(dirty, IDLE_POLL, |dirty| !*dirty);
        let (mut dirty, _) = result.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *dirty)
    }
}

/// Starts the checkpoint thread. It ends when the store is dropped.
pub(crate) fn start(
    connect: impl Fn() -> Result<Connection> + Send + 'static,
    signal: &Arc<CheckpointSignal>,
) -> Result<()> {
    let weak_signal = Arc::downgrade(signal);
    let run = move || {
        let mut connection = None;
        loop {
            let Some(signal) = weak_signal.upgrade() else { return };
            let dirty = signal.wait_for_commit();
            drop(signal);
            if !dirty {
                continue;
            }
            std::thread::sleep(limits::CHECKPOINT_INTERVAL);
            if connection.is_none() {
                connection = connect().ok();
            }
            let Some(connection) = connection.as_mut() else { continue };
            match checkpoint_passive(connection) {
                // The second run copies only what was written during the first, so little is left to the commit
                // thread.
                Ok(pages) if pages >= limits::WAL_PAGES_MAX => {
                    if checkpoint_passive(connection).is_ok()
                        && let Some(signal) = weak_signal.upgrade()
                    {
                        signal.checkpoint_requested.store(true, Ordering::Relaxed);
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "checkpoint failed"),
            }
        }
    };
    std::thread::Builder::new().name("quad-checkpoint".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(())
}

/// Copies what can be copied without blocking; returns the length of the log in pages.
fn checkpoint_passive(connection: &mut Connection) -> Result<i64, DbError> {
    let row = connection.query_opt("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
    row.map_or(Ok(0), |row| row.int(1))
}
