//! Events of calls that have been answered already: with `audit = "async"` they wait here for company.
//!
//! They are written with the next commit, whoever causes it, or after [`limits::LATER_WAIT`] by themselves, in the order in which they
//! came. If that fails they stay and are tried again, and until it succeeds no further call is answered ahead of its event.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::commit::Record;
use crate::limits;

/// What waits.
#[derive(Default)]
pub(crate) struct Later {
    records: Mutex<VecDeque<Box<Record>>>,
    is_failing: AtomicBool,
}

/// What must happen so that the events are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: somebody has seen to it.
    Nothing,
    /// A commit after a while.
    Wait,
    /// A commit.
    Commit,
}

impl Later {
    /// Takes an event. Gives it back where it must not wait: when there are too many, or when they cannot be written.
    pub(crate) fn push(&self, record: Box<Record>) -> Result<Needs, Box<Record>> {
        let mut records = self.records();
        if records.len() >= limits::QUEUE_JOBS || self.is_failing() {
            return Err(record);
        }
        records.push_back(record);
        Ok(match records.len() {
            1 => Needs::Wait,
            limits::GROUP_JOBS => Needs::Commit,
            _ => Needs::Nothing,
        })
    }

    /// The oldest ones, as many as one commit takes.
    pub(crate) fn take(&self) -> VecDeque<Box<Record>> {
        let mut records = self.records();
        let count = records.len().min(limits::GROUP_JOBS);
        let younger = records.split_off(count);
        std::mem::replace(&mut *records, younger)
    }

    /// Takes back those whose commit failed; they are still the oldest.
    pub(crate) fn put_back(&self, mut unwritten: VecDeque<Box<Record>>) {
        self.is_failing.store(true, Ordering::Relaxed);
        let mut records = self.records();
        unwritten.append(&mut records);
        *records = unwritten;
    }

    /// A commit went well.
    pub(crate) fn written(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records().is_empty()
    }

    fn records(&self) -> MutexGuard<'_, VecDeque<Box<Record>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
