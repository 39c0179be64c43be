//! Errors and warnings. None of them stops the parse: an error is stored in the node that it concerns, a warning in the
//! document.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use thiserror::Error;

use crate::limits::{EXCERPT_CHARS_MAX, SOURCE_BYTES_MAX};
use crate::span::{Position, Span};

/// The only error that [`parse`](crate::parse) returns.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the source is {bytes} bytes long, more than the {SOURCE_BYTES_MAX} that a document may have; split it"
)]
pub struct SourceTooLong {
    /// Its length.
    pub bytes: usize,
}

/// The kind of an error. The names are Markdoc's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorId {
    /// The text between `{%` and `%}` is not a tag.
    ParseError,
    /// A tag, or an element that a tag cuts in two, is not closed.
    MissingClosing,
    /// A closing tag without an opening one.
    MissingOpening,
    /// An attribute is set twice; the last value wins.
    DuplicateAttribute,
    /// An annotation without a block of text to annotate.
    NoInlineAnnotations,
    /// The text between `{%` and `%}` in a fence's info string is not a tag.
    FenceTagError,
}

impl ErrorId {
    /// The id as Markdoc spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorId::ParseError => "parse-error",
            ErrorId::MissingClosing => "missing-closing",
            ErrorId::MissingOpening => "missing-opening",
            ErrorId::DuplicateAttribute => "duplicate-attribute",
            ErrorId::NoInlineAnnotations => "no-inline-annotations",
            ErrorId::FenceTagError => "fence-tag-error",
        }
    }

    /// Its severity.
    pub fn level(self) -> Level {
        match self {
            ErrorId::ParseError | ErrorId::MissingClosing | ErrorId::MissingOpening => Level::Critical,
            ErrorId::NoInlineAnnotations | ErrorId::FenceTagError => Level::Error,
            ErrorId::DuplicateAttribute => Level::Warning,
        }
    }
}

/// The severity of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The document is valid, but probably not as intended.
    Warning,
    /// A part of the document has no effect.
    Error,
    /// The tree is not the intended one.
    Critical,
}

impl Level {
    /// The level as Markdoc spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Critical => "critical",
        }
    }
}

/// An error of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The kind of error.
    pub id: ErrorId,
    /// One sentence for the author of the document.
    pub message: String,
    /// The bytes concerned.
    pub span: Span,
    /// Where they begin.
    pub position: Position,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.position.line + 1, self.position.column + 1, self.message)
    }
}

impl std::error::Error for ParseError {}

impl Serialize for ParseError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(4))?;
        object.serialize_entry("id", self.id.as_str())?;
        object.serialize_entry("level", self.id.level().as_str())?;
        object.serialize_entry("message", &self.message)?;
        object.serialize_entry("location", &Location(self))?;
        object.end()
    }
}

struct Location<'e>(&'e ParseError);

impl Serialize for Location<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ParseError { span, position, .. } = self.0;
        let start = [("offset", span.start), ("line", position.line), ("character", position.column)];
        let end = [("offset", span.end)];
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry("start", &OffsetFields(&start))?;
        object.serialize_entry("end", &OffsetFields(&end))?;
        object.end()
    }
}

struct OffsetFields<'f>(&'f [(&'static str, u32)]);

impl Serialize for OffsetFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// A difference between source and tree that the tree does not show: text was left out or moved.
///
/// The tree is the same as Markdoc's. Where Markdoc drops text silently, this parser adds a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind of warning.
    pub id: WarningId,
    /// The bytes concerned.
    pub span: Span,
    /// Where they begin.
    pub position: Position,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.position.line + 1, self.position.column + 1, self.id.message())
    }
}

/// The kind of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningId {
    /// Text after a block tag, on the tag's last line, is in no node.
    TextAfterTag,
    /// Blocks nest deeper than [`NESTING_MAX`](crate::limits::NESTING_MAX): these lines are in no node.
    BlocksTooDeep,
    /// Inline tags nest deeper than [`NESTING_MAX`](crate::limits::NESTING_MAX): the rest of the paragraph is plain
    /// text.
    InlineTooDeep,
    /// The tree is deeper than [`TREE_DEPTH_MAX`](crate::limits::TREE_DEPTH_MAX): deeper nodes became siblings.
    TreeTooDeep,
    /// Filling up the rows of a table would add more than [`FILLED_CELLS_MAX`](crate::limits::FILLED_CELLS_MAX) cells:
    /// short rows stay short from this row on.
    TableTooWide,
}

impl WarningId {
    /// The id, in the style of the error ids.
    pub fn as_str(self) -> &'static str {
        match self {
            WarningId::TextAfterTag => "text-after-tag",
            WarningId::BlocksTooDeep => "blocks-too-deep",
            WarningId::InlineTooDeep => "inline-too-deep",
            WarningId::TreeTooDeep => "tree-too-deep",
            WarningId::TableTooWide => "table-too-wide",
        }
    }

    /// One sentence for the author of the document.
    pub fn message(self) -> &'static str {
        match self {
            WarningId::TextAfterTag => {
                "the text after a tag's closing `%}` is left out; put it on a line of its own"
            }
            WarningId::BlocksTooDeep => {
                "blocks nest more than 100 deep here, and what follows is left out; are tags left open?"
            }
            WarningId::InlineTooDeep => {
                "tags nest more than 100 deep in this paragraph, and the rest of it is plain text"
            }
            WarningId::TreeTooDeep => {
                "the tree is more than 256 deep here, and what lies deeper is flattened"
            }
            WarningId::TableTooWide => {
                "the table lacks more than 65536 cells, and short rows are not filled up from here on"
            }
        }
    }
}

/// An excerpt of the source, for use in a message.
pub(crate) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let mut excerpt: String =
        characters.by_ref().take(EXCERPT_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if characters.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{FILLED_CELLS_MAX, NESTING_MAX, TREE_DEPTH_MAX};

    #[test]
    fn warning_messages_contain_the_limits() {
        assert!(WarningId::BlocksTooDeep.message().contains(&NESTING_MAX.to_string()));
        assert!(WarningId::InlineTooDeep.message().contains(&NESTING_MAX.to_string()));
        assert!(WarningId::TreeTooDeep.message().contains(&TREE_DEPTH_MAX.to_string()));
        assert!(WarningId::TableTooWide.message().contains(&FILLED_CELLS_MAX.to_string()));
    }

    #[test]
    fn error_location_serializes_offset_and_line() {
        let error = ParseError {
            id: ErrorId::ParseError,
            message: "no".to_owned(),
            span: Span::new(7, 9),
            position: Position { line: 1, column: 3 },
        };
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(
            json,
            r#"{"id":"parse-error","level":"critical","message":"no","location":{"start":{"offset":7,"line":1,"character":3},"end":{"offset":9}}}"#
        );
        assert_eq!(error.to_string(), "2:4: no");
    }

    #[test]
    fn excerpt_truncates_long_text() {
        assert_eq!(excerpt(&"x".repeat(500)).chars().count(), EXCERPT_CHARS_MAX + 1);
        assert_eq!(excerpt("a\nb"), "a b");
    }
}
