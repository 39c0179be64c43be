//! The output of commands: lines, JSON, errors and the exit code.

use std::io::Write as _;
use std::process::ExitCode;

use quad_core::{Error, Kind, Result};
use serde_json::{Value, json};

/// Prints a line to standard output. A closed pipe is not an error: the reader stopped reading, as `head` does.
pub fn print_line(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a value as indented JSON.
pub fn print_json(value: &Value) {
    print_line(format_args!("{value:#}"));
}

/// The exit code of an error. `quad --help` lists them.
fn exit_status(kind: Kind) -> u8 {
    match kind {
        Kind::Internal | Kind::Credential => 1,
        Kind::BadInput => 2,
        Kind::NotFound => 3,
        Kind::Scope => 4,
        Kind::Conflict => 5,
        Kind::Limit => 6,
    }
}

/// Prints an error, if there is one, and returns the exit code.
pub fn exit_code(result: Result<()>, json: bool) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    let mut stderr = std::io::stderr();
    if json {
        let _ = writeln!(stderr, "{}", json!({"error": error.envelope()}));
    } else {
        let _ = writeln!(stderr, "error: {}", error.message());
        for line in details(&error) {
            let _ = writeln!(stderr, "  {line}");
        }
        if let Some(hint) = error.hint_text() {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }
    let causes = error.cause_chain();
    // The person at the terminal is the operator and may see the cause, unlike a remote caller.
    if error.kind() == Kind::Internal && !causes.is_empty() {
        let _ = writeln!(stderr, "cause: {causes}");
    }
    ExitCode::from(exit_status(error.kind()))
}

/// The problems of an invalid argument, one a line.
fn details(error: &Error) -> Vec<String> {
    let Some(Value::Array(details)) = error.detail("details") else { return Vec::new() };
    let describe = |detail: &Value| {
        let field = detail["field"].as_str().unwrap_or_default();
        let reason = detail["reason"].as_str().unwrap_or_default();
        format!("{field}: {reason}")
    };
    // The message already names the first.
    details.iter().skip(1).map(describe).collect()
}
