//! What accounts hold.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::{Answer, Question};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::limits;
use crate::money::{self, spoken};

fn line(account: &Account) -> String {
    let balance = spoken(account.current_balance.0, account.currency);
    let unconfirmed = match account.unconfirmed_count {
        0 => String::new(),
        _ => format!(", of which {} are unconfirmed", spoken(account.unconfirmed.0, account.currency)),
    };
    format!("{}: {balance}{unconfirmed}", account.name)
}

fn active(sql: &mut dyn Sql) -> Result<Vec<Account>> {
    Ok(account::page(sql, Some(AccountStatus::Active), None, None, limits::ITEMS_MAX)?.0)
}

/// How many accounts there are.
pub(super) fn count(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let count = account::count(sql, None, None)?;
    let mut answer = Answer::new(format!("There are {count} accounts."));
    for account in account::page(sql, None, None, None, limits::CITATIONS)?.0 {
        answer.cite(&account, line(&account));
    }
    Ok(answer)
}

/// The accounts.
pub(super) fn list(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let (accounts, more) = account::page(sql, None, None, None, limits::CITATIONS)?;
    let lines: Vec<String> = accounts.iter().map(line).collect();
    let rest = if more.is_some() { ", and more" } else { "" };
    let mut answer = Answer::new(if lines.is_empty() {
        "There are no accounts.".to_owned()
    } else {
        format!("The accounts are {}{rest}.", lines.join("; "))
    });
    accounts.iter().for_each(|account| answer.cite(account, line(account)));
    Ok(answer)
}

/// The balance of one account, or of each.
pub(super) fn balance(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match account::named(sql, &question.words)? {
        Some(account) => {
            let mut answer = Answer::new(format!("{}.", line(&account)));
            answer.cite(&account, line(&account));
            Ok(answer)
        }
        None => cash(sql, question),
    }
}

/// What the bank accounts and wallets hold together, each currency by itself.
pub(super) fn cash(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    let mut answer = Answer::default();
    for account in active(sql)? {
        let is_debt =
            matches!(account.account_type, AccountType::Card | AccountType::Loan | AccountType::LineOfCredit);
        if is_debt || question.currency().is_some_and(|wanted| wanted != account.currency) {
            continue;
        }
        let sum = sums.entry(account.currency).or_insert(Amount::ZERO);
        *sum = money::add(*sum, account.current_balance.0)?;
        answer.cite(&account, line(&account));
    }
    let lines: Vec<String> = sums.into_iter().map(|(currency, amount)| spoken(amount, currency)).collect();
    answer.text = if lines.is_empty() {
        "There are no active accounts.".to_owned()
    } else {
        format!("The active accounts hold {}.", lines.join(" and "))
    };
    Ok(answer)
}
