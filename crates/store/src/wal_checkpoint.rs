//! The write-ahead log of SQLite, copied into the database file off the commit path.
//!
//! A passive checkpoint waits for nobody. But while somebody keeps writing it never reaches the log's end, and only a log that was
//! copied to its end begins anew: it would grow without limit, and each commit would pay for fresh space on the disk. So where the
//! log has become long the writer is asked to copy what is left, which is little, between two commits. Its next commit then
//! begins at the log's start, in space that the disk has given already.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use quad_core::{Error, Result};

use crate::connection::Connection;
use crate::{DbError, limits};

/// How long the checkpointer sleeps at most before it looks whether the store is still there.
const IDLE_POLL: Duration = Duration::from_secs(5);

/// What the writer and the checkpointer tell each other.
#[derive(Default)]
pub(crate) struct CheckpointSignal {
    dirty: Mutex<bool>,
    changed: Condvar,
    checkpoint_requested: AtomicBool,
}

impl CheckpointSignal {
    /// Tells that something was committed; copies the log's end if it has become too long.
    pub(crate) fn on_commit(&self, connection: &mut Connection) {
        *self.dirty.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
        if self.checkpoint_requested.swap(false, Ordering::Relaxed)
            && let Err(error) = checkpoint_passive(connection)
        {
            tracing::debug!(%error, "the end of the log could not be copied");
        }
    }

    /// Waits until something was written, or for a while; says whether anything was.
    fn wait_for_commit(&self) -> bool {
        let dirty = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.changed.wait_timeout_while(dirty, IDLE_POLL, |dirty| !*dirty);
        let (mut dirty, _) = result.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *dirty)
    }
}

/// Starts the checkpointer. It ends when the log's other holders are gone.
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
                // The second time only what came in during the first is left to copy, and even less to the writer.
                Ok(pages) if pages >= limits::WAL_PAGES_MAX => {
                    if checkpoint_passive(connection).is_ok()
                        && let Some(signal) = weak_signal.upgrade()
                    {
                        signal.checkpoint_requested.store(true, Ordering::Relaxed);
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "a checkpoint failed"),
            }
        }
    };
    std::thread::Builder::new().name("quad-checkpoint".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(())
}

/// Copies what can be copied without waiting for anybody; returns the length of the log in pages.
fn checkpoint_passive(connection: &mut Connection) -> Result<i64, DbError> {
    let row = connection.query_opt("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
    row.map_or(Ok(0), |row| row.int(1))
}
