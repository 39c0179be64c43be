//! A cached value that is reloaded on demand.
//!
//! Keys change rarely and are needed for every token. So they are cached, and reloaded when a token names an unknown
//! one, but at most once per [`limits::RELOAD_INTERVAL`]: a caller that invents key ids waits, but causes no more
//! reads.

use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use quad_core::Result;
use quad_core::lock::RwLockExt as _;
use tokio::sync::Mutex;

use crate::limits;

/// A cached value.
#[derive(Debug)]
pub struct Reloading<T> {
    value: RwLock<Arc<T>>,
    /// When the last reload began. The value is at least as new as that.
    last_reload: Mutex<Instant>,
}

impl<T> Reloading<T> {
    /// Wraps a value that has just been loaded.
    pub fn new(value: T) -> Reloading<T> {
        Reloading { value: RwLock::new(Arc::new(value)), last_reload: Mutex::new(Instant::now()) }
    }

    /// The cached value.
    pub fn get(&self) -> Arc<T> {
        self.value.read_unpoisoned().clone()
    }

    /// Loads the value now, regardless of the interval.
    pub async fn reload(&self, load: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let mut last_reload = self.last_reload.lock().await;
        *last_reload = Instant::now();
        self.set(load.await?)
    }

    /// A value at least as new as the call. Waits for the interval, and for a concurrent reload.
    pub async fn reload_throttled(&self, load: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let requested_at = Instant::now();
        let mut last_reload = self.last_reload.lock().await;
        if *last_reload > requested_at {
            return Ok(self.get());
        }
        tokio::time::sleep_until((*last_reload + limits::RELOAD_INTERVAL).into()).await;
        *last_reload = Instant::now();
        self.set(load.await?)
    }

    /// A value of at most this age. During a concurrent reload it returns the cached value.
    pub async fn get_max_age(
        &self,
        max_age: Duration,
        load: impl Future<Output = Result<T>>,
    ) -> Result<Arc<T>> {
        let Ok(mut last_reload) = self.last_reload.try_lock() else { return Ok(self.get()) };
        if last_reload.elapsed() < max_age {
            return Ok(self.get());
        }
        *last_reload = Instant::now();
        self.set(load.await?)
    }

    fn set(&self, value: T) -> Result<Arc<T>> {
        let value = Arc::new(value);
        *self.value.write_unpoisoned() = value.clone();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[tokio::test]
    async fn concurrent_reloads_share_one_load() {
        let (value, loads) = (Arc::new(Reloading::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (value, loads) = (value.clone(), loads.clone());
                tokio::spawn(async move {
                    *value.reload_throttled(async move { Ok(loads.fetch_add(1, SeqCst) + 1) }).await.unwrap()
                })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap() >= 1, "the value is older than the call");
        }
        assert!(loads.load(SeqCst) <= 2, "{}", loads.load(SeqCst));
    }

    #[tokio::test]
    async fn get_max_age_reloads_only_old_values() {
        let value = Reloading::new(1);
        assert_eq!(*value.get_max_age(Duration::from_secs(3_600), async { Ok(2) }).await.unwrap(), 1);
        assert_eq!(*value.get_max_age(Duration::ZERO, async { Ok(2) }).await.unwrap(), 2);
        assert_eq!(*value.reload(async { Ok(3) }).await.unwrap(), 3);
        assert!(value.reload(async { Err(quad_core::Error::internal("x")) }).await.is_err());
        assert_eq!(*value.get(), 3);
    }
}
