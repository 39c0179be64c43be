//! The output of commands: lines, JSON, errors and the exit code.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory as _;
pub use quad_core::input_file::read_error;
use quad_core::{Error, Kind, Result};
use serde_json::{Value, json};

use crate::cli::Cli;

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
        Kind::Limit | Kind::Unavailable => 6,
    }
}

/// The hint of an error that has none.
fn default_hint(kind: Kind) -> &'static str {
    match kind {
        Kind::BadInput => "Correct the input; `quad help COMMAND` describes the arguments",
        Kind::NotFound => "List what exists with `quad ls`",
        Kind::Conflict => "Read the present state, then run the command again",
        Kind::Limit => "Send less at once, or try again later",
        Kind::Scope => "Use a token with the scope; `quad token mint --scope` makes one",
        Kind::Credential => "Mint a new token with `quad token mint`",
        Kind::Unavailable => "Correct the state of the disk or the database, then run the command again",
        Kind::Internal => "Run `quad doctor`; it checks the installation and the data",
    }
}

/// Prints the error of a command line that cannot be parsed, or the help that was asked for, and returns the exit code.
///
/// `arguments` are those of the process, with the program's name.
pub fn usage_exit_code(error: &clap::Error, arguments: &[OsString], json: bool) -> ExitCode {
    use clap::error::ErrorKind;
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { exit_status(Kind::BadInput) } else { 0 });
    }
    let rendered = error.render().to_string();
    let paragraphs: Vec<&str> = rendered.trim_end().split("\n\n").collect();
    let message = paragraphs.first().map_or("", |first| first.strip_prefix("error: ").unwrap_or(first));
    let usage = paragraphs.iter().find_map(|paragraph| paragraph.strip_prefix("Usage: "));
    // Not every message has a usage line.
    let command = usage.map_or_else(|| command_in(arguments), command_of);
    let help = format!("`{command} --help`");
    let hint = match suggestion(error) {
        Some(near) => format!("Use {near}, the nearest; {help} lists all"),
        None => format!("Run {help} to see the arguments"),
    };
    let error = Error::bad_input(message).with_code("USAGE").hint(hint);
    exit_code(Err(error), json)
}

/// The command of a usage line: `quad token mint` of `quad token mint [OPTIONS] --scope <SCOPES>`.
fn command_of(usage: &str) -> String {
    let words = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-']));
    words.collect::<Vec<_>>().join(" ")
}

/// The command that the arguments name: `quad token mint` of `quad token mint --kind robot`.
fn command_in(arguments: &[OsString]) -> String {
    let mut command = Cli::command();
    let mut path = command.get_name().to_owned();
    for argument in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        if let Some(found) = command.find_subcommand(argument) {
            path.push(' ');
            path.push_str(found.get_name());
            command = found.clone();
        }
    }
    path
}

/// The name that was probably meant.
fn suggestion(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.first().cloned(),
        _ => None,
    })
}

/// Prints an error, if there is one, and returns the exit code. Every error is printed with a hint.
pub fn exit_code(result: Result<()>, json: bool) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    let error = match error.hint_text() {
        Some(_) => error,
        None => {
            let hint = default_hint(error.kind());
            error.hint(hint)
        }
    };
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
    if error.is_server_fault() && !causes.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_of_usage_line_ends_before_the_arguments() {
        assert_eq!(command_of("quad token mint [OPTIONS] --scope <SCOPES>"), "quad token mint");
        assert_eq!(command_of("quad [OPTIONS] <COMMAND>"), "quad");
        assert_eq!(command_of("quad read --json <URI>"), "quad read");
    }

    #[test]
    fn command_in_arguments_follows_the_subcommands() {
        let check = |line: &str, expected: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(command_in(&arguments), expected, "{line}");
        };
        check("quad token mint --kind robot", "quad token mint");
        check("quad --json serve --tools most", "quad serve");
        check("quad", "quad");
    }

    #[test]
    fn every_kind_has_a_hint_that_starts_with_a_verb() {
        let kinds = [
            Kind::BadInput,
            Kind::NotFound,
            Kind::Conflict,
            Kind::Limit,
            Kind::Scope,
            Kind::Credential,
            Kind::Unavailable,
            Kind::Internal,
        ];
        for kind in kinds {
            let first = default_hint(kind).split(' ').next().unwrap();
            assert!(["Correct", "List", "Read", "Send", "Use", "Mint", "Run"].contains(&first), "{first}");
        }
    }
}
