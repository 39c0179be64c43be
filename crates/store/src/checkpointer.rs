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
const LOOK: Duration = Duration::from_secs(5);

/// What the writer and the checkpointer tell each other.
#[derive(Default)]
pub(crate) struct Log {
    written: Mutex<bool>,
    changed: Condvar,
    is_long: AtomicBool,
}

impl Log {
    /// Tells that something was committed; copies the log's end if it has become too long.
    pub(crate) fn committed(&self, connection: &mut Connection) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
        if self.is_long.swap(false, Ordering::Relaxed)
            && let Err(error) = copy(connection)
        {
            tracing::debug!(%error, "the end of the log could not be copied");
        }
    }

    /// Waits until something was written, or for a while; says whether anything was.
    fn wait(&self) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(written, LOOK, |written| !*written);
        let (mut written, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *written)
    }
}

/// Starts the checkpointer. It ends when the log's other holders are gone.
pub(crate) fn start(connect: impl Fn() -> Result<Connection> + Send + 'static, log: &Arc<Log>) -> Result<()> {
    let log = Arc::downgrade(log);
    let run = move || {
        let mut connection = None;
        loop {
            let Some(held) = log.upgrade() else { return };
            let written = held.wait();
            drop(held);
            if !written {
                continue;
            }
            std::thread::sleep(limits::CHECKPOINT_INTERVAL);
            if connection.is_none() {
                connection = connect().ok();
            }
            let Some(connection) = connection.as_mut() else { continue };
            match copy(connection) {
                // The second time only what came in during the first is left to copy, and even less to the writer.
                Ok(pages) if pages >= limits::LOG_PAGES_LONG => {
                    if copy(connection).is_ok()
                        && let Some(log) = log.upgrade()
                    {
                        log.is_long.store(true, Ordering::Relaxed);
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
fn copy(connection: &mut Connection) -> Result<i64, DbError> {
    let row = connection.query_opt("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
    row.map_or(Ok(0), |row| row.int(1))
}
