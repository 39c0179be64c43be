//! Lines that were rejected: reported with their numbers, while the rest is read.

use super::limits::MAX_BAD_LINES_REPORTED;

/// A rejected line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The rejected lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    /// The first ones.
    pub reported: Vec<BadLine>,
    /// The total number.
    pub count: u64,
}

impl BadLines {
    pub(crate) fn add(&mut self, line: u64, reason: String) {
        self.count += 1;
        if self.reported.len() < MAX_BAD_LINES_REPORTED {
            self.reported.push(BadLine { line, reason });
        }
    }
}
