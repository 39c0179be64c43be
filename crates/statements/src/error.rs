//! Errors of a file that gives no statements at all. A problem in one line is a diagnostic, not an error.

use crate::limits;

/// Why a file was not parsed. The message says what is wrong with it; [`ParseError::hint`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The file has no bytes, or only white space.
    #[error("the file is empty")]
    Empty,
    /// More bytes than [`limits::FILE_BYTES`].
    #[error("the file has {bytes} bytes, more than the limit of {}", limits::FILE_BYTES)]
    TooLarge {
        /// The size.
        bytes: usize,
    },
    /// A format that is recognised but not supported.
    #[error("the file is {description}")]
    Unsupported {
        /// The format, with its article.
        description: &'static str,
        /// The format to ask the bank for instead.
        hint: &'static str,
    },
    /// No known format.
    #[error("the file is neither a CSV table nor OFX, camt or an hledger journal")]
    Unrecognised,
    /// A table without a required column.
    #[error("no column of the table could be recognised as {role}; its columns are {columns}")]
    ColumnMissing {
        /// The missing role.
        role: &'static str,
        /// The names of the columns.
        columns: String,
    },
    /// An override names a column that does not exist.
    #[error("the table has no column {column}; its columns are {columns}")]
    NoSuchColumn {
        /// The requested column.
        column: String,
        /// The names of the columns.
        columns: String,
    },
    /// An override with invalid syntax.
    #[error("{text} is not a mapping: {reason}")]
    BadOverride {
        /// The override.
        text: String,
        /// The reason.
        reason: String,
    },
    /// Neither the file nor the caller gives the currency of the amounts.
    #[error("the file does not state the currency of its amounts")]
    CurrencyUnknown,
    /// XML or SGML that ends before the first statement.
    #[error("line {line}: the file is damaged: {reason}")]
    Corrupt {
        /// The line.
        line: u32,
        /// The parser's message.
        reason: String,
    },
}

impl ParseError {
    /// What the caller can do.
    pub fn hint(&self) -> &str {
        match self {
            ParseError::Empty => "download it again: a statement has at least a header",
            ParseError::TooLarge { .. } => {
                "export shorter periods and import them one after the other; overlaps add nothing twice"
            }
            ParseError::Unsupported { hint, .. } => hint,
            ParseError::Unrecognised => "export it as CSV, OFX or camt.053 from the bank's site",
            ParseError::ColumnMissing { .. } | ParseError::NoSuchColumn { .. } => {
                "name the columns, for example date=Booked, amount=Sum; a column without a name is #1, #2, …"
            }
            ParseError::BadOverride { .. } => {
                "write role=column, several columns joined by +, or order=dmy, decimal=comma, sign=inverted"
            }
            ParseError::CurrencyUnknown => "set it, for example currency=EUR",
            ParseError::Corrupt { .. } => {
                "download it again; a file that was cut or edited by hand cannot be read"
            }
        }
    }
}
