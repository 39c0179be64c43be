//! An error in a catalogue file.
//!
//! People write these files, so the error has file, line, column and key.

use std::fmt;

/// An error at a key: the path of the key, and the message.
pub(super) type KeyError<'a> = (Vec<&'a str>, String);

/// One error in a catalogue file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueError {
    /// File name, as the caller passed it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Dotted key, such as `runes.hint.attributes.type`. Empty if the file is not TOML.
    pub key: String,
    /// One sentence.
    pub message: String,
}

impl CatalogueError {
    /// An error that the TOML parser reports at a byte range.
    pub(crate) fn at_span(
        file: &str,
        source: &str,
        span: Option<std::ops::Range<usize>>,
        message: &str,
    ) -> CatalogueError {
        let offset = span.map_or(0, |span| span.start);
        let (line, column) = line_and_column(source, offset);
        CatalogueError {
            file: file.into(),
            line,
            column,
            key: guess_key_on_line(source, line),
            message: collapse_whitespace(message),
        }
    }

    /// An error in the value of a known key.
    pub(crate) fn at_key(file: &str, source: &str, path: &[&str], message: String) -> CatalogueError {
        let (line, column) = line_and_column(source, key_offset(source, path));
        CatalogueError { file: file.into(), line, column, key: path.join("."), message }
    }
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.key.is_empty() {
            write!(out, "{}: ", self.key)?;
        }
        out.write_str(&self.message)
    }
}

impl std::error::Error for CatalogueError {}

/// Line and column of a byte offset, both from 1.
pub fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let before = source.get(..offset).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Byte offset of the deepest part of the path that exists.
fn key_offset(source: &str, path: &[&str]) -> usize {
    use toml::de::{DeTable, DeValue};
    let Ok(document) = DeTable::parse(source) else { return 0 };
    let mut table = document.get_ref();
    let mut offset = 0;
    for part in path {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == part) else { break };
        offset = key.span().start;
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    offset
}

/// The dotted key of a line: the table header above it and the key before `=`. Guessed from the layout, for files that
/// the TOML parser rejects.
fn guess_key_on_line(source: &str, line: usize) -> String {
    let lines: Vec<&str> = source.lines().take(line).collect();
    let header = lines.iter().rev().find_map(|text| {
        let text = text.trim();
        text.starts_with('[').then(|| text.trim_matches(|ch| ch == '[' || ch == ']').to_owned())
    });
    let line_key = lines.last().and_then(|text| {
        let text = text.trim();
        (!text.starts_with('[')).then(|| text.split_once('=').map(|(key, _)| key.trim().to_owned())).flatten()
    });
    match (header, line_key) {
        (Some(header), Some(own)) => format!("{header}.{own}"),
        (Some(header), None) => header,
        (None, own) => own.unwrap_or_default(),
    }
}

/// The TOML parser's message on one line.
fn collapse_whitespace(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "[package]\nname = \"x\"\n\n[runes.a.attributes]\nsize = { default = 1 }\n";

    #[test]
    fn error_at_key_has_its_line_and_column() {
        let error =
            CatalogueError::at_key("f.toml", SOURCE, &["runes", "a", "attributes", "size"], "m".into());
        assert_eq!(error.to_string(), "f.toml:5:1: runes.a.attributes.size: m");
    }

    #[test]
    fn error_at_missing_key_points_at_the_parent() {
        let error = CatalogueError::at_key("f.toml", SOURCE, &["package", "version"], "m".into());
        assert_eq!((error.line, error.column), (1, 2));
    }

    #[test]
    fn error_at_span_has_line_column_and_key() {
        let offset = SOURCE.find("default").unwrap();
        let error = CatalogueError::at_span("f.toml", SOURCE, Some(offset..offset + 7), "a\n  b");
        assert_eq!(error.to_string(), "f.toml:5:10: runes.a.attributes.size: a b");
    }
}
