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
    pub(crate) fn new(most: usize, connect: impl Fn() -> Result<Connection> + Send + Sync + 'static) -> Pool {
        Pool { connect: Arc::new(connect), idle: Arc::default(), permits: Arc::new(Semaphore::new(most)) }
    }

    /// Runs `work` on a blocking thread with a connection of its own.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(Error::internal)?;
        let pool = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let mut connection = pool.take()?;
            let outcome = work(&mut connection);
            pool.give_back(connection);
            outcome
        });
        task.await.map_err(|error| Error::internal(format!("a database task failed: {error}")))?
    }

    /// Runs short work on the thread that asks for it, with a connection that happens to be idle. `None` where there is none, where
    /// the statements would take longer than `time`, or where somebody was in their way: then nothing has come of it.
    pub(crate) fn run_here<T>(
        &self,
        time: Duration,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Option<Result<T>> {
        let _permit = self.permits.try_acquire().ok()?;
        let mut connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        if !connection.allow(Some(time)) {
            self.give_back(connection);
            return None;
        }
        connection.take_was_busy();
        // A connection is not given back after a panic: who knows what is still open on it.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut connection)));
        let Ok(outcome) = outcome else { return Some(Err(Error::internal("a database task panicked"))) };
        connection.allow(None);
        let has_failed = connection.take_was_cut_short() | connection.take_was_busy();
        self.give_back(connection);
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

    fn give_back(&self, connection: Connection) {
        if connection.is_alive() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
