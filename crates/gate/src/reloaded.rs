//! A value that is kept elsewhere and read again when there is reason to.
//!
//! Keys change rarely and are needed with every token. So they are held in memory, and looked for again when a token names
//! one that is not there, but not more often than [`limits::RELOAD_INTERVAL`]: whoever invents names can make us wait,
//! not work.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use quad_core::Result;
use tokio::sync::Mutex;

use crate::limits;

/// The value as last read.
#[derive(Debug)]
pub struct Reloaded<T> {
    value: RwLock<Arc<T>>,
    /// When the last reading began. What it brought is at least as new as that.
    began: Mutex<Instant>,
}

impl<T> Reloaded<T> {
    /// A value that has just been read.
    pub fn new(value: T) -> Reloaded<T> {
        Reloaded { value: RwLock::new(Arc::new(value)), began: Mutex::new(Instant::now()) }
    }

    /// The value as last read.
    pub fn get(&self) -> Arc<T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The value as it is now, whatever it costs.
    pub async fn now(&self, read: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let mut began = self.began.lock().await;
        *began = Instant::now();
        self.put(read.await?)
    }

    /// The value as it was at this moment or later. Waits for the interval, and for a reading that others asked for.
    pub async fn newer(&self, read: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let asked = Instant::now();
        let mut began = self.began.lock().await;
        if *began > asked {
            return Ok(self.get());
        }
        tokio::time::sleep_until((*began + limits::RELOAD_INTERVAL).into()).await;
        *began = Instant::now();
        self.put(read.await?)
    }

    /// The value, at most so old, unless somebody is reading it at this moment.
    pub async fn recent(&self, age: Duration, read: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let Ok(mut began) = self.began.try_lock() else { return Ok(self.get()) };
        if began.elapsed() < age {
            return Ok(self.get());
        }
        *began = Instant::now();
        self.put(read.await?)
    }

    fn put(&self, value: T) -> Result<Arc<T>> {
        let value = Arc::new(value);
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = value.clone();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[tokio::test]
    async fn many_that_ask_at_once_share_one_reading() {
        let (kept, readings) = (Arc::new(Reloaded::new(0)), Arc::new(AtomicUsize::new(0)));
        let asking: Vec<_> = (0..100)
            .map(|_| {
                let (kept, readings) = (kept.clone(), readings.clone());
                tokio::spawn(async move {
                    *kept.newer(async move { Ok(readings.fetch_add(1, SeqCst) + 1) }).await.unwrap()
                })
            })
            .collect();
        for asked in asking {
            assert!(asked.await.unwrap() >= 1, "an answer from before the question");
        }
        assert!(readings.load(SeqCst) <= 2, "{}", readings.load(SeqCst));
    }

    #[tokio::test]
    async fn a_young_value_is_not_read_again_and_an_old_one_is() {
        let kept = Reloaded::new(1);
        assert_eq!(*kept.recent(Duration::from_secs(3_600), async { Ok(2) }).await.unwrap(), 1);
        assert_eq!(*kept.recent(Duration::ZERO, async { Ok(2) }).await.unwrap(), 2);
        assert_eq!(*kept.now(async { Ok(3) }).await.unwrap(), 3);
        assert!(kept.now(async { Err(quad_core::Error::internal("x")) }).await.is_err());
        assert_eq!(*kept.get(), 3);
    }
}
