//! Parsing of a file with the defaults of its account, and the JSON of its projection.

use quad_core::{Error, Kind, Result};
use quad_statements::{Currency, Document, Options, ParseError, csv};
use quad_store::{Sql, Tx, params};
use serde_json::{Value, json};

use super::ImportOptions;
use crate::account::Account;
use crate::{entity, errors, limits};

/// Defaults from the account of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AccountDefaults {
    /// The column mapping of the last table that was imported into the account.
    mapping: Option<csv::Mapping>,
    /// The currency of the account, for files that name none.
    currency: Option<Currency>,
}

/// A parsed file. It may have several statements.
#[derive(Debug)]
pub(super) struct ParsedDocument {
    pub(super) document: Document,
    /// The JSON of its projection.
    pub(super) extracted: String,
}

impl ParsedDocument {
    pub(super) fn new(document: Document) -> ParsedDocument {
        let extracted = projection_json(&document);
        ParsedDocument { document, extracted }
    }
}

/// The code of a file that cannot be parsed.
pub(super) const STATEMENT_UNREADABLE: &str = "statement_unreadable";

/// Parses a file of the operator.
pub(super) fn parse(
    bytes: &[u8],
    import_options: &ImportOptions,
    defaults: &AccountDefaults,
) -> Result<ParsedDocument> {
    let options = statement_options(import_options, defaults)?;
    quad_statements::parse(bytes, &options).map(ParsedDocument::new).map_err(unreadable)
}

/// The error of a file that cannot be parsed. Its hint names options of the command line.
fn unreadable(error: ParseError) -> Error {
    let hint = match error {
        ParseError::CurrencyUnknown => "Set it with --currency, or name the account with --account",
        _ => error.hint(),
    };
    Error::new(Kind::BadInput, STATEMENT_UNREADABLE, error.to_string()).hint(hint.to_owned())
}

/// What is known about a file before it is parsed.
pub(super) fn statement_options(
    import_options: &ImportOptions,
    defaults: &AccountDefaults,
) -> Result<Options> {
    let explicit_currency = import_options
        .currency
        .as_deref()
        .map(|code| Currency::parse(code).map_err(|error| errors::invalid("currency", error)))
        .transpose()?;
    let mut mapping = defaults.mapping.clone();
    // An explicit currency overrides the saved one.
    if let (Some(mapping), Some(_)) = (&mut mapping, explicit_currency) {
        mapping.currency = explicit_currency;
    }
    Ok(Options {
        format: None,
        mapping,
        overrides: csv::Overrides::parse(import_options.settings.iter().map(String::as_str))
            .map_err(unreadable)?,
        currency: explicit_currency.or(defaults.currency),
    })
}

/// The defaults of an account; empty if there is no account.
pub(super) fn load_defaults(sql: &mut dyn Sql, account: Option<&str>) -> Result<AccountDefaults> {
    let Some(account) = account else { return Ok(AccountDefaults::default()) };
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT mapping FROM brain_mapping WHERE tenant_id = $1 AND account_id = $2",
        params![tenant, account],
    )?;
    // A saved mapping that this version cannot read is ignored; the columns are detected again.
    let mapping = row.map(|row| Ok::<_, Error>(serde_json::from_str(row.text(0)?).ok())).transpose()?;
    let currency = entity::find::<Account>(sql, account)?.map(|account| account.currency);
    Ok(AccountDefaults { mapping: mapping.flatten(), currency })
}

pub(super) fn save_mapping(tx: &mut Tx<'_>, account: &str, mapping: &csv::Mapping) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    let text = serde_json::to_string(mapping).map_err(Error::internal)?;
    tx.execute(
        "INSERT INTO brain_mapping (tenant_id, account_id, mapping, updated_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, account_id) DO UPDATE SET mapping = excluded.mapping, updated_at = excluded.updated_at",
        params![tenant, account, text, now],
    )?;
    Ok(())
}

pub(super) fn mime_type(document: &Document) -> &'static str {
    match document.format.name() {
        "csv" => "text/csv",
        "ofx" => "application/x-ofx",
        "camt" => "application/xml",
        _ => "text/plain",
    }
}

/// The JSON of a projection: the statements with their first entries, and the first findings.
fn projection_json(document: &Document) -> String {
    let statements: Vec<Value> = document
        .statements
        .iter()
        .map(|statement| {
            let first_entries = &statement.entries[..statement.entries.len().min(limits::PROJECTION_ENTRIES)];
            json!({
                "account": statement.account,
                "currency": statement.currency,
                "from": statement.from,
                "to": statement.to,
                "opening": statement.opening,
                "closing": statement.closing,
                "entry_count": statement.entries.len(),
                "entries": first_entries,
            })
        })
        .collect();
    let findings = &document.findings[..document.findings.len().min(limits::PROJECTION_FINDINGS)];
    json!({
        "format": document.format,
        "mapping": document.mapping,
        "statements": statements,
        "findings": findings,
        "finding_count": document.findings.len(),
    })
    .to_string()
}
