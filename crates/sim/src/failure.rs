//! What a run can end with besides success: a promise that did not hold, or a machine that would not cooperate.

use std::fmt;

/// A promise that did not hold, told by what was expected and what was seen.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step of the schedule at which it was seen; none where it belongs to no single one.
    pub step: Option<usize>,
    /// What should have been seen.
    pub expected: String,
    /// What was.
    pub observed: String,
}

impl Failure {
    /// A failure that is not yet tied to a step.
    pub fn new(expected: impl Into<String>, observed: impl Into<String>) -> Failure {
        Failure { step: None, expected: expected.into(), observed: observed.into() }
    }

    /// Something around the simulation that did not work: a process that would not start, a file that could not be read.
    pub fn environment_error(operation: impl fmt::Display, error: impl fmt::Display) -> Failure {
        Failure::new(format!("{operation} works"), error.to_string())
    }

    /// The same, at a step, unless one is known already.
    pub fn with_step(mut self, step: usize) -> Failure {
        self.step.get_or_insert(step);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => writeln!(f, "step      {step}")?,
            None => writeln!(f, "step      none in particular")?,
        }
        writeln!(f, "expected  {}", self.expected)?;
        write!(f, "seen      {}", self.observed)
    }
}
