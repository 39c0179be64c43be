//! Problems in files of a project, with their positions.

/// How serious a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A part of the file is wrong and was not used, or contradicts another part.
    Error,
    /// Something has no effect, is deprecated, or is probably a mistake.
    Warning,
    /// Optional information is missing.
    Info,
}

impl Severity {
    /// The value in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// A problem in a file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// A stable code.
    pub code: &'static str,
    /// The file: relative to the plan folder for plan files, otherwise to the project.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// One sentence.
    pub message: String,
}
