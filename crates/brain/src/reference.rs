//! References of callers to rows: an id, an address, or a name that only one row has.

use quad_core::{Error, Kind, Result, id};
use quad_store::Sql;

use crate::account::{self, Account};
use crate::counterparty::{self, Counterparty};
use crate::entity::{self, Entity as _};
use crate::errors::{self, PARAMS_INVALID};

/// Matches of a name that are looked at: a second one makes the name ambiguous.
const MATCHES: usize = 2;

/// The id in an address of this scheme such as `brain://ledger/accounts/acct_1`; any other text as it is.
pub(crate) fn strip_address(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix("brain://ledger/").or_else(|| text.strip_prefix("brain://")) {
        Some(path) => path.rsplit('/').next().unwrap_or(path),
        None => text,
    }
}

/// The account that a text names. An error if several have the name.
pub(crate) fn find_account(sql: &mut dyn Sql, text: &str) -> Result<Option<Account>> {
    let text = strip_address(text);
    if id::is_id(text)
        && let Some(account) = entity::find::<Account>(sql, text)?
    {
        return Ok(Some(account));
    }
    let name = counterparty::normalize(text);
    if name.is_empty() {
        return Ok(None);
    }
    only(Account::KIND, text, account::by_name(sql, &name, MATCHES)?)
}

/// The counterparty that a text names, by its name or an alias. An error if several have it.
pub(crate) fn find_counterparty(sql: &mut dyn Sql, text: &str) -> Result<Option<Counterparty>> {
    let text = strip_address(text);
    if id::is_id(text)
        && let Some(counterparty) = entity::find::<Counterparty>(sql, text)?
    {
        return Ok(Some(counterparty));
    }
    let name = counterparty::normalize(text);
    // A database does not store the NUL character, and PostgreSQL refuses it in a parameter.
    if name.is_empty() || name.contains('\0') {
        return Ok(None);
    }
    only(Counterparty::KIND, text, counterparty::all_by_name(sql, &name, MATCHES)?)
}

/// The only row, none, or an error if there are several.
fn only<N>(kind: &str, name: &str, mut rows: Vec<N>) -> Result<Option<N>> {
    if rows.len() > 1 {
        let name = quad_core::text::truncate(name, 80);
        let message = format!("More than one {kind} has the name {name}");
        let hint = format!("Send the id instead. {}", errors::rows_hint(kind));
        return Err(Error::new(Kind::BadInput, PARAMS_INVALID, message).hint(hint));
    }
    Ok(rows.pop())
}
