//! A bounded pool of connections, and the two ways to run a closure on one of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Result};
use tokio::sync::Semaphore;

use crate::connection::Connection;
use crate::limits;
use crate::tx_error::TxError;

type Connect = dyn Fn() -> Result<Connection> + Send + Sync;

/// A bounded pool of connections to one database.
#[derive(Clone)]
pub(crate) struct Pool {
    connect: Arc<Connect>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    max_connections: usize,
}

/// The error of a call that waited too long for a connection.
pub(crate) fn all_in_use() -> Error {
    Error::busy("The database does not answer: all connections to it are in use")
}

/// How busy a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUsage {
    /// Connections that run a closure.
    pub in_use: usize,
    /// Connections that may do so at the same time.
    pub max: usize,
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
            max_connections,
        }
    }

    /// Runs `f` on a blocking thread, with a connection of its own.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = tokio::time::timeout(limits::POOL_WAIT_MAX, self.permits.clone().acquire_owned()).await;
        let permit = permit.map_err(|_| all_in_use())?.map_err(Error::internal)?;
        let pool = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let mut connection = pool.take()?;
            let outcome = f(&mut connection);
            pool.put_back(connection);
            outcome
        });
        task.await.map_err(|error| Error::internal(format!("a database closure failed: {error}")))?
    }

    /// Runs a short closure on the calling thread, on an idle connection. `None` if no connection is idle, if its
    /// statements exceed `budget`, or if it conflicted with another transaction: the caller then uses
    /// [`run`](Pool::run).
    pub(crate) fn try_run_inline<T>(
        &self,
        budget: Duration,
        f: impl FnOnce(&mut Connection) -> Result<T, TxError>,
    ) -> Option<Result<T>> {
        let _permit = self.permits.try_acquire().ok()?;
        let mut connection = self.idle.lock_unpoisoned().pop()?;
        if !connection.set_time_budget(Some(budget)) {
            self.put_back(connection);
            return None;
        }
        // After a panic the connection is dropped: a transaction may still be open on it.
        let outcome = catch_unwind(AssertUnwindSafe(|| f(&mut connection)));
        let Ok(outcome) = outcome else { return Some(Err(Error::internal("a database closure panicked"))) };
        connection.set_time_budget(None);
        let timed_out = connection.take_timed_out();
        self.put_back(connection);
        match outcome {
            Err(TxError::Retry(_)) => None,
            outcome => (!timed_out).then_some(outcome.map_err(TxError::into_error)),
        }
    }

    /// How many connections are in use, and how many there may be.
    pub(crate) fn usage(&self) -> PoolUsage {
        let in_use = self.max_connections - self.permits.available_permits().min(self.max_connections);
        PoolUsage { in_use, max: self.max_connections }
    }

    fn take(&self) -> Result<Connection> {
        while let Some(connection) = self.idle.lock_unpoisoned().pop() {
            if connection.is_alive() {
                return Ok(connection);
            }
        }
        (self.connect)()
    }

    fn put_back(&self, connection: Connection) {
        if connection.is_alive() {
            self.idle.lock_unpoisoned().push(connection);
        }
    }
}
