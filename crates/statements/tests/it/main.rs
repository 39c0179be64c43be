//! Tests with statements as banks write them: parsing, stable fingerprints, and robustness.

// Helpers outside `#[test]` functions are tests too, which clippy does not know.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus;
mod journal;
mod mapping;
mod mutations;
mod overlap;

use std::path::{Path, PathBuf};

use quad_statements::csv::Overrides;
use quad_statements::{Document, Options, parse};

/// The folder of the test statements.
pub fn statements_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements")
}

/// All statements, by name.
pub fn statements() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(statements_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.extension().is_some_and(|end| end == "expected" || end == "options"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 30, "the statements are missing");
    files
}

/// The options file of a statement: overrides, one per line.
pub fn options(name: &str) -> Options {
    let text = std::fs::read_to_string(statements_dir().join(format!("{name}.options"))).unwrap_or_default();
    Options { overrides: Overrides::parse(text.lines()).unwrap(), ..Options::default() }
}

/// Parses a statement.
pub fn read_document(name: &str) -> Document {
    let bytes = std::fs::read(statements_dir().join(name)).unwrap();
    parse(&bytes, &options(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
