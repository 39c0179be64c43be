//! How a run fails: a guarantee was violated, or the environment did not work.

use std::fmt;

/// A violated guarantee: what was expected and what was observed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step at which it was observed; `None` if it belongs to no single step.
    pub step: Option<usize>,
    /// What was expected.
    pub expected: String,
    /// What was observed.
    pub observed: String,
}

impl Failure {
    /// A failure without a step.
    pub fn new(expected: impl Into<String>, observed: impl Into<String>) -> Failure {
        Failure { step: None, expected: expected.into(), observed: observed.into() }
    }

    /// A failure of the environment, such as a process that does not start or a file that cannot be read.
    pub fn environment_error(operation: impl fmt::Display, error: impl fmt::Display) -> Failure {
        Failure::new(format!("{operation} works"), error.to_string())
    }

    /// Adds the step, unless one is set.
    pub fn with_step(mut self, step: usize) -> Failure {
        self.step.get_or_insert(step);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => writeln!(f, "step      {step}")?,
            None => writeln!(f, "step      none")?,
        }
        writeln!(f, "expected  {}", self.expected)?;
        write!(f, "seen      {}", self.observed)
    }
}
