//! Events of calls that have been answered already: with `audit = "async"` they wait here for company.
//!
//! They are written with the next commit, whoever causes it, or after [`limits::DEFERRED_FLUSH_DELAY`] by themselves, in the order in which they
//! came. If that fails they stay and are tried again, and until it succeeds no further call is answered ahead of its event.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::commit::AuditJob;
use crate::limits;

/// What waits.
#[derive(Default)]
pub(crate) struct DeferredEvents {
    jobs: Mutex<VecDeque<Box<AuditJob>>>,
    is_failing: AtomicBool,
}

/// What must happen so that the events are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FlushSignal {
    /// Nothing: somebody has seen to it.
    None,
    /// A commit after a while.
    Delayed,
    /// A commit.
    Now,
}

impl DeferredEvents {
    /// Takes an event. Gives it back where it must not wait: when there are too many, or when they cannot be written.
    pub(crate) fn push(&self, job: Box<AuditJob>) -> Result<FlushSignal, Box<AuditJob>> {
        let mut jobs = self.lock_jobs();
        if jobs.len() >= limits::QUEUE_JOBS_MAX || self.is_failing() {
            return Err(job);
        }
        jobs.push_back(job);
        Ok(match jobs.len() {
            1 => FlushSignal::Delayed,
            limits::BATCH_JOBS_MAX => FlushSignal::Now,
            _ => FlushSignal::None,
        })
    }

    /// The oldest ones, as many as one commit takes.
    pub(crate) fn take(&self) -> VecDeque<Box<AuditJob>> {
        let mut jobs = self.lock_jobs();
        let count = jobs.len().min(limits::BATCH_JOBS_MAX);
        let newer = jobs.split_off(count);
        std::mem::replace(&mut *jobs, newer)
    }

    /// Takes back those whose commit failed; they are still the oldest.
    pub(crate) fn requeue(&self, mut unwritten: VecDeque<Box<AuditJob>>) {
        self.is_failing.store(true, Ordering::Relaxed);
        let mut jobs = self.lock_jobs();
        unwritten.append(&mut jobs);
        *jobs = unwritten;
    }

    /// A commit went well.
    pub(crate) fn mark_flushed(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock_jobs().is_empty()
    }

    fn lock_jobs(&self) -> MutexGuard<'_, VecDeque<Box<AuditJob>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
