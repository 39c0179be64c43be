//! CSV statements: tables whose columns every bank names as it likes.
//!
//! A file is read in four steps: [`table`] finds delimiter, preamble and header; [`guess`] finds out which column means
//! what; [`rows`] turns rows into entries; the shared parts settle fingerprints and balances. Rows are looked at twice,
//! since the order of dates and the decimal mark can only be told from all of them.

mod guess;
mod mapping;
mod records;
mod role;
mod rows;
mod table;

pub use mapping::{Mapping, Overrides};
pub use role::Role;

use crate::finding::Findings;
use crate::{Document, Format, Options, Refusal};

/// Reads a table.
pub(crate) fn read(text: &str, options: &Options, mut findings: Findings) -> Result<Document, Refusal> {
    let remembered = options.mapping.as_ref();
    let delimiter = options.overrides.delimiter.or(remembered.map(|mapping| mapping.delimiter));
    let table = table::find(text, delimiter)
        // A remembered delimiter that finds nothing is of another export.
        .or_else(|| table::find(text, options.overrides.delimiter))
        .ok_or(Refusal::Unrecognised)?;
    let layout = guess::layout(&table, remembered, &options.overrides, &mut findings)?;
    let statements = rows::read(&table, &layout, options.currency, &mut findings)?;
    let mut mapping = layout.mapping(&table);
    if mapping.currency.is_none() && mapping.columns(Role::Currency).is_empty() {
        mapping.currency = statements.first().map(|statement| statement.currency);
    }
    Ok(Document { format: Format::Csv, statements, findings: findings.into_vec(), mapping: Some(mapping) })
}

/// Whether a text looks like a table with dates and amounts.
pub(crate) fn is_table(text: &str) -> bool {
    table::is_there(text)
}
