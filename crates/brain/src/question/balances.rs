//! Answers about account balances.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::{Answer, Question};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::limits;
use crate::money::{self, format_with_currency};

fn describe_account(account: &Account) -> String {
    let balance = format_with_currency(account.current_balance.0, account.currency);
    let unconfirmed = match account.unconfirmed_count {
        0 => String::new(),
        _ => format!(
            ", of which {} are unconfirmed",
            format_with_currency(account.unconfirmed.0, account.currency)
        ),
    };
    format!("{}: {balance}{unconfirmed}", account.name)
}

fn active_accounts(sql: &mut dyn Sql) -> Result<Vec<Account>> {
    Ok(account::page(sql, Some(AccountStatus::Active), None, None, limits::ITEMS_MAX)?.0)
}

/// The number of accounts.
pub(super) fn count_accounts(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let count = account::count(sql, None, None)?;
    let mut answer = Answer::new(format!("There are {count} accounts."));
    for account in account::page(sql, None, None, None, limits::MAX_CITATIONS)?.0 {
        answer.cite(&account, describe_account(&account));
    }
    Ok(answer)
}

/// A list of the accounts.
pub(super) fn list_accounts(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let (accounts, next) = account::page(sql, None, None, None, limits::MAX_CITATIONS)?;
    let lines: Vec<String> = accounts.iter().map(describe_account).collect();
    let rest = if next.is_some() { ", and more" } else { "" };
    let mut answer = Answer::new(if lines.is_empty() {
        "There are no accounts.".to_owned()
    } else {
        format!("The accounts are {}{rest}.", lines.join("; "))
    });
    accounts.iter().for_each(|account| answer.cite(account, describe_account(account)));
    Ok(answer)
}

/// The balance of one account, or of each.
pub(super) fn account_balance(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match account::find_mentioned(sql, &question.words)? {
        Some(account) => {
            let mut answer = Answer::new(format!("{}.", describe_account(&account)));
            answer.cite(&account, describe_account(&account));
            Ok(answer)
        }
        None => total_cash(sql, question),
    }
}

/// The total of bank accounts and wallets, by currency.
pub(super) fn total_cash(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    let mut answer = Answer::default();
    for account in active_accounts(sql)? {
        let is_debt =
            matches!(account.account_type, AccountType::Card | AccountType::Loan | AccountType::LineOfCredit);
        if is_debt || question.currency().is_some_and(|requested| requested != account.currency) {
            continue;
        }
        let sum = sums.entry(account.currency).or_insert(Amount::ZERO);
        *sum = money::add(*sum, account.current_balance.0)?;
        answer.cite(&account, describe_account(&account));
    }
    let lines: Vec<String> =
        sums.into_iter().map(|(currency, amount)| format_with_currency(amount, currency)).collect();
    answer.text = if lines.is_empty() {
        "There are no active accounts.".to_owned()
    } else {
        format!("The active accounts hold {}.", lines.join(" and "))
    };
    Ok(answer)
}
