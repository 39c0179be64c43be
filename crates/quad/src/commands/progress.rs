//! Progress of long operations: a bar on a terminal, otherwise a line every few seconds.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::backup::new_bar;

/// How often a line is printed without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(2);

/// Progress on standard error.
#[derive(Clone)]
pub struct Progress {
    label: &'static str,
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl Progress {
    /// Starts showing progress.
    pub fn new(label: &'static str) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        Progress { label, bar: is_terminal.then(|| new_bar(label)), last_line: Instant::now() }
    }

    /// Shows `done` of `total`, and `details`.
    pub fn update(&mut self, done: u64, total: u64, details: &str) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(format!("{} {details}", self.label));
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let percent = done.saturating_mul(100) / total.max(1);
            let _ = writeln!(std::io::stderr(), "{}: {percent} % {details}", self.label);
        }
    }

    /// Prints a line without disturbing the bar.
    pub fn print_line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| drop(writeln!(std::io::stderr(), "{line}"))),
            None => drop(writeln!(std::io::stderr(), "{line}")),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
