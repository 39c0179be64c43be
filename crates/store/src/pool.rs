//! Connections that wait to be used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quad_core::{Error, Result};
use tokio::sync::Semaphore;

use crate::connection::Connection;

type Connect = dyn Fn() -> Result<Connection> + Send + Sync;

/// A bounded set of connections of one kind.
#[derive(Clone)]
pub(crate) struct Pool {
    connect: Arc<Connect>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(
        max_connections: usize,
        connect: impl Fn() -> Result<Connection> + Send + Sync + 'static,
    ) -> Pool {
        Pool {
            connect: Arc::new(connect),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(max_connections)),
        }
    }

    /// Runs `work` on a blocking thread with a connection of its own.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(Error::internal)?;
        let pool = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let mut connection = pool.take()?;
            let outcome = f(&mut connection);
            pool.put_back(connection);
            outcome
        });
        task.await.map_err(|error| Error::internal(format!("a database task failed: {error}")))?
    }

    /// Runs short work on the thread that asks for it, with a connection that happens to be idle. `None` where there is none, where
    /// the statements would take longer than `time`, or where somebody was in their way: then nothing has come of it.
    pub(crate) fn try_run_inline<T>(
        &self,
        budget: Duration,
        f: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Option<Result<T>> {
        let _permit = self.permits.try_acquire().ok()?;
        let mut connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        if !connection.set_time_budget(Some(budget)) {
            self.put_back(connection);
            return None;
        }
        connection.take_retryable();
        // A connection is not given back after a panic: who knows what is still open on it.
        let outcome = catch_unwind(AssertUnwindSafe(|| f(&mut connection)));
        let Ok(outcome) = outcome else { return Some(Err(Error::internal("a database task panicked"))) };
        connection.set_time_budget(None);
        let has_failed = connection.take_timed_out() | connection.take_retryable();
        self.put_back(connection);
        (!has_failed).then_some(outcome)
    }

    fn take(&self) -> Result<Connection> {
        while let Some(connection) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            if connection.is_alive() {
                return Ok(connection);
            }
        }
        (self.connect)()
    }

    fn put_back(&self, connection: Connection) {
        if connection.is_alive() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
