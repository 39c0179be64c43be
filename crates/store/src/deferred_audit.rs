//! Audit events of calls that are already answered (`audit = "async"`).
//!
//! They are committed with the next batch, or after [`limits::DEFERRED_FLUSH_DELAY`], in the order in which they
//! arrived. If a commit fails, they stay in the queue and are retried. Until a commit succeeds, further calls wait
//! for their event.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;

use crate::commit::AuditJob;
use crate::limits;

/// The queue of deferred events.
#[derive(Default)]
pub(crate) struct DeferredEvents {
    jobs: Mutex<VecDeque<Box<AuditJob>>>,
    is_failing: AtomicBool,
}

/// What must happen so that a new event is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FlushSignal {
    /// Nothing: a flush is already scheduled.
    None,
    /// A flush after [`limits::DEFERRED_FLUSH_DELAY`].
    Delayed,
    /// A flush at once: a full batch is waiting.
    Now,
}

impl DeferredEvents {
    /// Queues an event. Returns it if the queue is full or if the last commit failed: the call must then wait for its
    /// event.
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

    /// Takes the oldest events, at most [`limits::BATCH_JOBS_MAX`].
    pub(crate) fn take(&self) -> VecDeque<Box<AuditJob>> {
        let mut jobs = self.lock_jobs();
        let count = jobs.len().min(limits::BATCH_JOBS_MAX);
        let newer = jobs.split_off(count);
        std::mem::replace(&mut *jobs, newer)
    }

    /// Puts events whose commit failed back to the front.
    pub(crate) fn requeue(&self, mut unwritten: VecDeque<Box<AuditJob>>) {
        self.is_failing.store(true, Ordering::Relaxed);
        let mut jobs = self.lock_jobs();
        unwritten.append(&mut jobs);
        *jobs = unwritten;
    }

    /// A commit succeeded.
    pub(crate) fn mark_flushed(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Events that wait to be written.
    pub(crate) fn len(&self) -> usize {
        self.lock_jobs().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock_jobs().is_empty()
    }

    fn lock_jobs(&self) -> MutexGuard<'_, VecDeque<Box<AuditJob>>> {
        self.jobs.lock_unpoisoned()
    }
}
