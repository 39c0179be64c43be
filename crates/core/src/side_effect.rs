//! Something small that a read asks to be written in the very commit that writes its audit event: a count of accesses.
//!
//! It advances no version and is announced to nobody. What it is, only the scheme that sends it and the journal that runs
//! it know.

use std::any::Any;
use std::sync::Arc;

/// An errand, opaque on its way from a scheme to the journal.
#[derive(Clone)]
pub struct SideEffect {
    /// Its place among the errands of one commit: those that touch the same row have the same, so that two commits never
    /// wait for each other's rows.
    pub lock_order: i64,
    payload: Arc<dyn Any + Send + Sync>,
}

impl SideEffect {
    /// Wraps what the journal understands.
    pub fn new(lock_order: i64, payload: impl Any + Send + Sync) -> SideEffect {
        SideEffect { lock_order, payload: Arc::new(payload) }
    }

    /// What is inside, if it is a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.payload.downcast_ref()
    }
}

impl std::fmt::Debug for SideEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Errand")
    }
}
