//! A small write that a read asks for, such as an access count. It is committed in the transaction of the
//! read's audit event.
//!
//! It advances no version and notifies no subscriber. Only the scheme that creates it and the audit log that
//! runs it know its type.

use std::any::Any;
use std::sync::Arc;

/// A side effect, type-erased on its way from a scheme to the audit log.
#[derive(Clone)]
pub struct SideEffect {
    /// The order in which the side effects of one commit run. Side effects on the same row have the same
    /// number, so two commits lock rows in the same order and cannot deadlock.
    pub lock_order: i64,
    payload: Arc<dyn Any + Send + Sync>,
}

impl SideEffect {
    /// Wraps a payload that the audit log understands.
    pub fn new(lock_order: i64, payload: impl Any + Send + Sync) -> SideEffect {
        SideEffect { lock_order, payload: Arc::new(payload) }
    }

    /// The payload, if it is a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.payload.downcast_ref()
    }
}

impl std::fmt::Debug for SideEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SideEffect")
    }
}
