//! Locks that ignore poisoning.
//!
//! A mutex is poisoned when a thread panics while it holds the lock. Use these methods where a panic cannot
//! leave the data in a state that later readers must not see; say so at the call if it is not obvious.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// [`Mutex::lock`] without poisoning.
pub trait MutexExt<T> {
    /// Locks the mutex, also after a panic of another holder.
    fn lock_unpoisoned(&self) -> MutexGuard<'_, T>;
}

impl<T> MutexExt<T> for Mutex<T> {
    fn lock_unpoisoned(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`RwLock::read`] and [`RwLock::write`] without poisoning.
pub trait RwLockExt<T> {
    /// Locks for reading, also after a panic of another holder.
    fn read_unpoisoned(&self) -> RwLockReadGuard<'_, T>;

    /// Locks for writing, also after a panic of another holder.
    fn write_unpoisoned(&self) -> RwLockWriteGuard<'_, T>;
}

impl<T> RwLockExt<T> for RwLock<T> {
    fn read_unpoisoned(&self) -> RwLockReadGuard<'_, T> {
        self.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_unpoisoned(&self) -> RwLockWriteGuard<'_, T> {
        self.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_work_after_a_panic() {
        let (mutex, rw_lock) = (Mutex::new(1), RwLock::new(2));
        std::thread::scope(|scope| {
            let panicking = scope.spawn(|| {
                let _guards = (mutex.lock(), rw_lock.write());
                panic!("on purpose");
            });
            assert!(panicking.join().is_err());
        });
        assert!(mutex.is_poisoned() && rw_lock.is_poisoned());
        assert_eq!((*mutex.lock_unpoisoned(), *rw_lock.read_unpoisoned()), (1, 2));
        assert_eq!(*rw_lock.write_unpoisoned(), 2);
    }
}
