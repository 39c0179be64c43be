//! Finds the account of a statement: the one that the options name, or the one that the file names.

use quad_core::Result;
use quad_statements::{AccountHint, AccountKind, Currency};
use quad_store::Sql;

use super::ImportOptions;
use crate::account::{self, Account, AccountType};
use crate::{entity, errors};

/// The code of a file that does not name its account.
pub(super) const ACCOUNT_UNKNOWN: &str = "account_unknown";

/// The external number of a statement's account. A name without a number is qualified by the currency.
pub(super) fn external_id(hint: &AccountHint, currency: Currency) -> Option<String> {
    if hint.iban.is_some() || hint.number.is_some() {
        return Some(hint.key().into_owned());
    }
    hint.name.as_deref().map(|name| format!("{name}/{currency}"))
}

pub(super) fn account_name(hint: &AccountHint, currency: Currency) -> String {
    if let Some(name) = &hint.name {
        return name.to_string();
    }
    let number = hint.iban.as_deref().or(hint.number.as_deref()).unwrap_or_default();
    let tail: String = number.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
    match &hint.bank {
        Some(bank) => format!("{bank} …{tail} {currency}"),
        None => format!("…{tail} {currency}"),
    }
}

pub(super) fn account_type(kind: Option<AccountKind>) -> AccountType {
    match kind {
        Some(AccountKind::Savings) => AccountType::BankSavings,
        Some(AccountKind::Card) => AccountType::Card,
        Some(AccountKind::Loan) => AccountType::Loan,
        Some(AccountKind::CreditLine) => AccountType::LineOfCredit,
        _ => AccountType::BankChecking,
    }
}

/// The account of a statement, if it exists.
pub(super) fn find_account(
    sql: &mut dyn Sql,
    (hint, currency): (&AccountHint, Currency),
    options: &ImportOptions,
) -> Result<Option<Account>> {
    if let Some(id) = &options.account {
        let account: Account = entity::get(sql, id)?;
        account::check_currency(&account, currency)?;
        return Ok(Some(account));
    }
    let Some(external) = external_id(hint, currency) else {
        return Err(errors::conflict(ACCOUNT_UNKNOWN, "The file does not name its account")
            .hint("Name the account with --account; create one with `quad brain add account`"));
    };
    let Some(account) = account::by_external_id(sql, &external)? else { return Ok(None) };
    account::check_currency(&account, currency)?;
    Ok(Some(account))
}
