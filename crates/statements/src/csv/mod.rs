//! CSV statements: tables with column names that differ between banks.
//!
//! A file is parsed in four steps. `table` finds delimiter, preamble and header; `infer` finds the role of each
//! column; `rows` turns rows into entries; shared code assigns fingerprints and checks balances. Rows are read twice,
//! since the order of dates and the decimal mark can only be decided over all of them.

mod infer;
mod mapping;
mod records;
mod role;
mod rows;
mod table;

pub use mapping::{Mapping, Overrides};
pub use role::Role;

use crate::diagnostic::Diagnostics;
use crate::{Document, Format, Options, ParseError};

/// Parses a table.
pub(crate) fn read(
    text: &str,
    options: &Options,
    mut diagnostics: Diagnostics,
) -> Result<Document, ParseError> {
    let saved_mapping = options.mapping.as_ref();
    let delimiter = options.overrides.delimiter.or(saved_mapping.map(|mapping| mapping.delimiter));
    let table = table::find(text, delimiter)
        // A remembered delimiter that finds no table belongs to another export.
        .or_else(|| table::find(text, options.overrides.delimiter))
        .ok_or(ParseError::Unrecognised)?;
    let layout = infer::infer_layout(&table, saved_mapping, &options.overrides, &mut diagnostics)?;
    let statements = rows::parse_rows(&table, &layout, options.currency, &mut diagnostics)?;
    let mut mapping = layout.to_mapping(&table);
    if mapping.currency.is_none() && mapping.columns(Role::Currency).is_empty() {
        mapping.currency = statements.first().map(|statement| statement.currency);
    }
    Ok(Document {
        format: Format::Csv,
        statements,
        error_count: diagnostics.error_count(),
        findings: diagnostics.into_vec(),
        mapping: Some(mapping),
    })
}

/// Whether a text looks like a table with dates and amounts.
pub(crate) fn is_table(text: &str) -> bool {
    table::has_table(text)
}
