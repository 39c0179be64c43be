//! Diagnostics: what the parser noticed, each with its line, and a collector that limits their number.

use std::fmt;

use serde::Serialize;

use crate::limits;

/// The severity of a diagnostic for the importer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information about how the file was parsed; nothing is wrong.
    Notice,
    /// Everything was parsed, but a person should check something: an ambiguous date, a balance that does not add up.
    Warning,
    /// Something could not be parsed and is missing from the statements.
    Error,
}

/// One diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The line, from one; absent if it concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column of a table, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// One sentence for a person.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            _ => {}
        }
        write!(f, "{severity}: {}", self.message)
    }
}

/// Collects diagnostics; keeps the first [`limits::DIAGNOSTICS`] and counts the rest.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    items: Vec<Diagnostic>,
    omitted: usize,
    omitted_errors: usize,
}

impl Diagnostics {
    pub fn push(
        &mut self,
        line: Option<u32>,
        column: Option<u32>,
        severity: Severity,
        message: impl Into<String>,
    ) {
        if self.items.len() >= limits::DIAGNOSTICS {
            self.omitted += 1;
            self.omitted_errors += usize::from(severity == Severity::Error);
            return;
        }
        self.items.push(Diagnostic { line, column, severity, message: message.into() });
    }

    /// Adds a diagnostic about the whole file.
    pub fn info(&mut self, message: impl Into<String>) {
        self.push(None, None, Severity::Notice, message);
    }

    /// Adds a diagnostic about the whole file.
    pub fn warning(&mut self, message: impl Into<String>) {
        self.push(None, None, Severity::Warning, message);
    }

    pub fn info_at(&mut self, line: u32, message: impl Into<String>) {
        self.push(Some(line), None, Severity::Notice, message);
    }

    pub fn warning_at(&mut self, line: u32, message: impl Into<String>) {
        self.push(Some(line), None, Severity::Warning, message);
    }

    pub fn error_at(&mut self, line: u32, message: impl Into<String>) {
        self.push(Some(line), None, Severity::Error, message);
    }

    /// Whether something could not be parsed.
    pub fn has_errors(&self) -> bool {
        self.error_count() > 0
    }

    /// The number of errors, with those that were dropped.
    pub fn error_count(&self) -> usize {
        let kept = self.items.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        self.omitted_errors + kept.count()
    }

    /// All diagnostics: those of the whole file first, then by line, plus one with the number of those that were
    /// dropped.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        self.items.sort_by_key(|diagnostic| diagnostic.line);
        if self.omitted > 0 {
            let severity = if self.omitted_errors > 0 { Severity::Error } else { Severity::Warning };
            let message = format!(
                "{} more findings, {} of them errors, are not shown",
                self.omitted, self.omitted_errors
            );
            self.items.push(Diagnostic { line: None, column: None, severity, message });
        }
        self.items
    }
}

/// Quotes a part of the file for a message: shortened to fit on a line, without control characters.
pub(crate) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let mut excerpt: String =
        text.chars().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        excerpt.push('…');
    }
    format!("'{excerpt}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_first_diagnostics_and_counts_omitted() {
        let mut diagnostics = Diagnostics::default();
        for line in 0..limits::DIAGNOSTICS as u32 + 7 {
            diagnostics.error_at(line + 1, "unreadable");
        }
        assert_eq!(diagnostics.error_count(), limits::DIAGNOSTICS + 7);
        let all = diagnostics.into_vec();
        assert_eq!(all.len(), limits::DIAGNOSTICS + 1);
        assert_eq!(
            all.last().unwrap().to_string(),
            "error: 7 more findings, 7 of them errors, are not shown"
        );
    }

    #[test]
    fn quote_is_truncated_to_one_line() {
        assert_eq!(quote("a\nb"), "'a b'");
        assert_eq!(quote(&"x".repeat(60)).chars().count(), 43);
    }
}
