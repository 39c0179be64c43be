//! The tenant's own accounts by number: finds the account that a statement names as the other side of a transfer.
//!
//! Banks write an IBAN, a number with or without the bank, or, in a journal, a name. A number that matches several
//! accounts matches none.

use std::collections::{HashMap, HashSet};

use quad_core::Result;
use quad_statements::{Counterparty, Currency};
use quad_store::Sql;

use crate::account::Account;
use crate::{limits, listing};

/// The accounts of a tenant by number.
#[derive(Debug, Default)]
pub(crate) struct OwnAccounts {
    /// By the full number.
    by_full_number: HashMap<String, Vec<(String, Currency)>>,
    /// By the part that a statement may write alone: a number without its bank, a name without its currency.
    by_partial_number: HashMap<String, Vec<(String, Currency)>>,
    /// Accounts without a number.
    unnumbered: HashSet<String>,
    /// All accounts with their currencies.
    all: Vec<(String, Currency)>,
}

impl OwnAccounts {
    /// Loads the accounts, up to [`MAX_OWN_ACCOUNTS`](limits::MAX_OWN_ACCOUNTS).
    pub(crate) fn load(sql: &mut dyn Sql) -> Result<OwnAccounts> {
        let mut accounts = OwnAccounts::default();
        let (mut after, mut remaining) = (String::new(), limits::MAX_OWN_ACCOUNTS);
        while remaining > 0 {
            let page: Vec<Account> = listing::page_by_id(sql, &after, limits::ITEMS_MAX.min(remaining))?;
            let Some(last) = page.last() else { break };
            last.id.as_str().clone_into(&mut after);
            remaining -= page.len();
            page.iter().for_each(|account| accounts.add(account));
        }
        Ok(accounts)
    }

    fn add(&mut self, account: &Account) {
        let entry = || (account.id.as_str().to_owned(), account.currency);
        self.all.push(entry());
        let Some(number) = &account.external_account_id else {
            self.unnumbered.insert(account.id.as_str().to_owned());
            return;
        };
        self.by_full_number.entry(number.clone()).or_default().push(entry());
        let partial = match number.rsplit_once('/') {
            Some((name, currency)) if currency == account.currency.as_str() => name,
            _ => match number.split_once('/') {
                Some((_, number)) => number,
                None => return,
            },
        };
        self.by_partial_number.entry(partial.to_owned()).or_default().push(entry());
    }

    /// The account with this number, if exactly one matches. Accounts of the same currency are preferred.
    pub(crate) fn find_by_number(&self, number: &str, currency: Currency) -> Option<&str> {
        let number_without_bank = number.split_once('/').map(|(_, number)| number);
        let matches = self
            .by_full_number
            .get(number)
            .or_else(|| number_without_bank.and_then(|number| self.by_full_number.get(number)))
            .or_else(|| self.by_partial_number.get(number))?;
        let same_currency: Vec<&(String, Currency)> =
            matches.iter().filter(|(_, account_currency)| *account_currency == currency).collect();
        match (same_currency.as_slice(), matches.as_slice()) {
            ([(id, _)], _) | ([], [(id, _)]) => Some(id),
            _ => None,
        }
    }

    /// The accounts in a currency except one.
    pub(crate) fn others_in_currency(&self, account: &str, currency: Currency) -> Vec<String> {
        let others =
            self.all.iter().filter(|(id, account_currency)| *account_currency == currency && id != account);
        others.map(|(id, _)| id.clone()).collect()
    }

    /// Whether the account has no number, so that any number may be its own.
    pub(crate) fn has_no_number(&self, account: &str) -> bool {
        self.unnumbered.contains(account)
    }
}

/// The number of the other side as the statement writes it, with the bank if it names one.
pub(crate) fn format_account_number(counterparty: &Counterparty) -> Option<String> {
    let account = counterparty.account.as_deref()?;
    Some(match counterparty.bank.as_deref() {
        Some(bank) => format!("{bank}/{account}"),
        None => account.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_accounts(accounts: &[(&str, &str, Currency)]) -> OwnAccounts {
        let mut result = OwnAccounts::default();
        for (id, number, currency) in accounts {
            result
                .by_full_number
                .entry((*number).to_owned())
                .or_default()
                .push(((*id).to_owned(), *currency));
            let partial = number.rsplit_once('/').map(
                |(bank, part)| {
                    if part == currency.as_str() { bank } else { part }
                },
            );
            if let Some(partial) = partial {
                result
                    .by_partial_number
                    .entry(partial.to_owned())
                    .or_default()
                    .push(((*id).to_owned(), *currency));
            }
        }
        result
    }

    #[test]
    fn find_by_number_accepts_all_written_forms() {
        let eur = Currency::parse("EUR").unwrap();
        let accounts = own_accounts(&[
            ("a", "DE72500999990123456789", eur),
            ("b", "999000111/0099009900", Currency::USD),
            ("c", "assets:giro/EUR", eur),
            ("d", "assets:giro/USD", Currency::USD),
            ("e", "1/42", eur),
            ("f", "2/42", eur),
        ]);
        assert_eq!(accounts.find_by_number("DE72500999990123456789", eur), Some("a"));
        assert_eq!(accounts.find_by_number("QUADDEFF/DE72500999990123456789", eur), Some("a"));
        assert_eq!(accounts.find_by_number("999000111/0099009900", Currency::USD), Some("b"));
        assert_eq!(accounts.find_by_number("0099009900", Currency::USD), Some("b"));
        // The same number at another bank is another account.
        assert_eq!(accounts.find_by_number("888/0099009900", Currency::USD), None);
        assert_eq!(accounts.find_by_number("assets:giro", eur), Some("c"));
        assert_eq!(accounts.find_by_number("assets:giro", Currency::USD), Some("d"));
        assert_eq!(accounts.find_by_number("42", eur), None);
        assert_eq!(accounts.find_by_number("2/42", eur), Some("f"));
    }
}
