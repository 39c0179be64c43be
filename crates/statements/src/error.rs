//! Refusals: why a file gives no statements at all. What concerns one line is a finding, never a refusal.

use crate::limits;

/// Why nothing of a file was read. The message says what is wrong with the file; [`ParseError::hint`] what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No bytes, or nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// More bytes than [`limits::FILE_BYTES`].
    #[error("the file has {bytes} bytes, more than the {} that are read at once", limits::FILE_BYTES)]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A format that is known by its content and not read.
    #[error("the file is {what}")]
    Unsupported {
        /// What it is, with its article.
        what: &'static str,
        /// What to ask the bank for instead.
        hint: &'static str,
    },
    /// None of the formats.
    #[error("the file is neither a CSV table nor OFX, camt or an hledger journal")]
    Unrecognised,
    /// A table without a column that a statement cannot do without.
    #[error("no column of the table could be recognised as {role}; its columns are {columns}")]
    ColumnMissing {
        /// The role that nothing fills.
        role: &'static str,
        /// The names of the columns.
        columns: String,
    },
    /// An override names a column that is not there.
    #[error("the table has no column {column}; its columns are {columns}")]
    NoSuchColumn {
        /// What was asked for.
        column: String,
        /// The names of the columns.
        columns: String,
    },
    /// An override that cannot be understood.
    #[error("{text} is not a mapping: {why}")]
    BadOverride {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// Neither the file nor the caller says in which currency the amounts are.
    #[error("the file does not say in which currency its amounts are")]
    CurrencyUnknown,
    /// XML or SGML that breaks off before the first statement.
    #[error("line {line}: the file is damaged: {why}")]
    Corrupt {
        /// Where.
        line: u32,
        /// What the parser says.
        why: String,
    },
}

impl ParseError {
    /// What to do next.
    pub fn hint(&self) -> &str {
        match self {
            ParseError::Empty => "download it again: a statement has at least a header",
            ParseError::TooLarge { .. } => {
                "export shorter periods and import them one after the other; overlaps do no harm"
            }
            ParseError::Unsupported { hint, .. } => hint,
            ParseError::Unrecognised => "export it as CSV, OFX or camt.053 from the bank's site",
            ParseError::ColumnMissing { .. } | ParseError::NoSuchColumn { .. } => {
                "name the columns, for example date=Booked, amount=Sum; a column without a name is #1, #2, …"
            }
            ParseError::BadOverride { .. } => {
                "write role=column, several columns joined by +, or order=dmy, decimal=comma, sign=inverted"
            }
            ParseError::CurrencyUnknown => "say it, for example currency=EUR",
            ParseError::Corrupt { .. } => {
                "download it again; a file that was cut or edited by hand cannot be read"
            }
        }
    }
}
