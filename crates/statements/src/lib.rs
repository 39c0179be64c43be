//! Bank statements: bytes in, typed statements out.
//!
//! ```
//! use quad_statements::{Options, parse};
//!
//! let file = "Buchungstag;Empfänger;Verwendungszweck;Betrag (EUR)\n\
//!             13.01.2024;Bäckerei Sommer;Brötchen;-4,20\n\
//!             13.01.2024;Bäckerei Sommer;Brötchen;-4,20\n";
//! let document = parse(file.as_bytes(), &Options::default())?;
//! let entries = &document.statements[0].entries;
//! assert_eq!(entries[0].amount.to_string(), "-4.2");
//! // Two equal purchases of one day are two entries, and the same two in the next statement.
//! assert_ne!(entries[0].fingerprint("giro"), entries[1].fingerprint("giro"));
//! # Ok::<(), quad_statements::ParseError>(())
//! ```
//!
//! [`parse`] detects the format by content ([`Format`]) and parses CSV tables, OFX, ISO 20022 camt and hledger journals
//! into one [`Document`]. Everything that cannot be parsed is reported as a [`Diagnostic`] with its line; the lines
//! around it are kept. This crate does no I/O, reads no clock and uses no floats. It does not know where entries are
//! stored: accounts, tenants and tables belong to the caller.

pub mod amount;
pub mod csv;
pub mod currency;
pub mod limits;

mod camt;
mod date;
mod diagnostic;
mod document;
mod entry;
mod error;
mod fingerprint;
mod format;
mod hledger;
mod journal;
mod kind;
mod number;
mod ofx;
mod reconcile;
mod text;

pub use amount::{Amount, AmountError};
pub use currency::{Currency, CurrencyError};
pub use date::DateOrder;
pub use diagnostic::{Diagnostic, Severity};
pub use document::{AccountHint, AccountKind, Balance, Document, Statement};
pub use entry::{BankTime, Counterparty, Entry, Kind, Money, References, Split, Status};
pub use error::ParseError;
pub use fingerprint::Fingerprint;
pub use format::Format;
pub use journal::{JournalPosting, JournalTransaction, write_journal};
pub use number::DecimalMark;

use diagnostic::Diagnostics;

/// What a caller knows about a file in advance.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format; detected if absent.
    pub format: Option<Format>,
    /// The mapping of the previous table of the same account.
    pub mapping: Option<csv::Mapping>,
    /// The user's settings for the columns of a table.
    pub overrides: csv::Overrides,
    /// The account's currency, for files without one.
    pub currency: Option<Currency>,
}

/// Parses a file.
pub fn parse(bytes: &[u8], options: &Options) -> Result<Document, ParseError> {
    if bytes.len() > limits::FILE_BYTES {
        return Err(ParseError::TooLarge { bytes: bytes.len() });
    }
    if let Some(error) = format::unsupported_binary(bytes) {
        return Err(error);
    }
    let decoded = text::decode(bytes);
    let mut diagnostics = Diagnostics::default();
    if let Some(encoding) = decoded.non_utf8 {
        diagnostics.info(format!("read as {encoding}"));
    }
    if decoded.had_errors {
        diagnostics.warning("some bytes are invalid in the file's encoding and were replaced");
    }
    let text = &*decoded.text;
    match options.format.map_or_else(|| Format::detect(text), Ok)? {
        Format::Csv => csv::read(text, options, diagnostics),
        Format::Ofx => ofx::read(text, options, diagnostics),
        Format::Camt => camt::read(text, diagnostics),
        Format::Hledger => hledger::read(text, options, diagnostics),
    }
}
