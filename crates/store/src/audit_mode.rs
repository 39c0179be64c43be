//! Whether the audit event of a read is durable before or after the reply.

use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a read's audit event when the call is answered. A write is always on the disk, with its event, before
/// it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditMode {
    /// The event is on the disk.
    #[default]
    Durable,
    /// The event is in memory. It is committed within [`DEFERRED_FLUSH_DELAY`](crate::limits::DEFERRED_FLUSH_DELAY)
    /// (5 ms), without waiting for the disk. If the process dies, the last milliseconds are lost; a power failure may
    /// lose the commits that the disk has not stored yet. Events are lost from the end of the chain only.
    Async,
}

impl AuditMode {
    /// Parses the value of the setting `audit`.
    pub fn parse(text: &str) -> Option<AuditMode> {
        match text {
            "durable" => Some(AuditMode::Durable),
            "async" => Some(AuditMode::Async),
            _ => None,
        }
    }
}

/// The current mode. The commit thread reads it before each commit.
#[derive(Debug, Default)]
pub(crate) struct AtomicAuditMode(AtomicBool);

impl AtomicAuditMode {
    pub(crate) fn set(&self, mode: AuditMode) {
        self.0.store(mode == AuditMode::Async, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> AuditMode {
        if self.0.load(Ordering::Relaxed) { AuditMode::Async } else { AuditMode::Durable }
    }
}
