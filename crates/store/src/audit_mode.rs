//! When the audit event of a read is safe.

use std::sync::atomic::{AtomicBool, Ordering};

/// How far an event has come when its call is answered. It is about calls that write nothing: a write is always on the
/// disk, with its event, before anybody hears of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditMode {
    /// On the disk.
    #[default]
    Durable,
    /// In the process's hands: committed within milliseconds, and on the disk with the next write or soon after by itself. The
    /// death of the process may take its last milliseconds, a power failure its last moments; never the middle of the chain.
    Async,
}

impl AuditMode {
    /// The spelling in the settings.
    pub fn parse(text: &str) -> Option<AuditMode> {
        match text {
            "durable" => Some(AuditMode::Durable),
            "async" => Some(AuditMode::Async),
            _ => None,
        }
    }
}

/// The mode, as the writer looks it up before each commit.
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
