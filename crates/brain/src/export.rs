//! Export of the ledger as a journal that hledger reads, with equal balances.
//!
//! For every account: the balance before its first transaction, then its posted and cleared transactions by date.
//! Pending transactions are not part of a balance and not exported.

use quad_core::{Error, Result, TenantId};
use quad_statements::{Amount, JournalPosting, JournalTransaction, Status, write_journal};
use quad_store::{Sql, Store};

use crate::account::Account;
use crate::category::Category;
use crate::counterparty::Counterparty;
use crate::entity;
use crate::keyset::{IndexRange, Key, RowSource as _};
use crate::transaction::{Direction, Effect, Transaction};
use crate::{calendar, limits, listing, money};

/// Writes the journal of a tenant; `write` gets it in chunks. Returns the number of transactions.
pub async fn export_journal(
    store: &Store,
    tenant: &TenantId,
    mut write: impl FnMut(&str) -> Result<()>,
) -> Result<usize> {
    let mut after = String::new();
    let mut written = 0;
    loop {
        let from = after.clone();
        let accounts = store
            .read(tenant, move |sql| listing::page_by_id::<Account>(sql, &from, limits::ITEMS_MAX))
            .await?;
        let Some(last) = accounts.last() else { return Ok(written) };
        after = last.id.as_str().to_owned();
        for account in &accounts {
            written += write_account(store, tenant, account, &mut write).await?;
        }
    }
}

/// The account name in the journal. It contains the id, since two accounts may have the same name.
fn account_name(account: &Account) -> String {
    use crate::account::AccountType as T;
    let top = match account.account_type {
        T::Card | T::Loan | T::LineOfCredit => "liabilities",
        _ => "assets",
    };
    format!("{top}:{}:{}", account.name.replace(':', "-"), account.id)
}

async fn write_account(
    store: &Store,
    tenant: &TenantId,
    account: &Account,
    write: &mut impl FnMut(&str) -> Result<()>,
) -> Result<usize> {
    let (journal_account, currency) = (account_name(account), account.currency.as_str().to_owned());
    let mut text = String::new();
    let opening = money::subtract(account.current_balance.0, account.posted.0)?;
    let mut after: Option<Key> = None;
    let (mut first, mut written) = (true, 0);
    loop {
        let (id, from) = (account.id.as_str().to_owned(), after.clone());
        let rows = store.read(tenant, move |sql| load_page(sql, &id, from.as_ref())).await?;
        if first {
            first = false;
            let date = rows.first().map_or(account.meta.created_at, |row| row.0.transaction_date);
            write_opening(&mut text, calendar::date(date), &journal_account, opening, &currency)?;
        }
        let Some((last, ..)) = rows.last() else { break };
        after = Some(last.key());
        for (row, party, category) in &rows {
            if row.status.affects_totals() {
                write_entry(&mut text, row, party, category, &journal_account, &currency)?;
                written += 1;
            }
        }
        write(&text)?;
        text.clear();
    }
    write(&text)?;
    Ok(written)
}

/// Transactions of an account, oldest first, with the names of their counterparties and categories.
fn load_page(
    sql: &mut dyn Sql,
    account: &str,
    after: Option<&Key>,
) -> Result<Vec<(Transaction, String, String)>> {
    let range = IndexRange::order_by("transaction_date", false).equal("account_id", account);
    let rows: Vec<Transaction> = range.rows(sql, after, limits::TRANSACTIONS_MAX)?;
    let party_ids = rows.iter().filter_map(|row| row.counterparty_id.as_ref()).map(|id| id.as_str());
    let parties = entity::find_by_ids::<Counterparty>(sql, party_ids)?;
    let category_ids = rows.iter().filter_map(|row| row.category_id.as_ref()).map(|id| id.as_str());
    let categories = entity::find_by_ids::<Category>(sql, category_ids)?;
    let with_names = |row: Transaction| {
        let party = row.counterparty_id.as_ref().and_then(|id| parties.get(id.as_str()));
        let category = row.category_id.as_ref().and_then(|id| categories.get(id.as_str()));
        let party = party.map_or_else(String::new, |party| party.title().to_owned());
        let category = category.map_or_else(String::new, |category| category.name.clone());
        (row, party, category)
    };
    Ok(rows.into_iter().map(with_names).collect())
}

fn write_opening(
    text: &mut String,
    date: jiff::civil::Date,
    journal_account: &str,
    opening: Amount,
    currency: &str,
) -> Result<()> {
    // An account without an opening balance is declared as well.
    let postings = [
        JournalPosting { account: journal_account, amount: Some((opening, currency)), assertion: None },
        JournalPosting { account: "equity:opening balances", amount: None, assertion: None },
    ];
    let transaction = JournalTransaction {
        date,
        second_date: None,
        status: Status::Booked,
        code: "",
        payee: "",
        note: "opening balance",
        tags: &[],
        postings: &postings,
    };
    let transactions = if opening.is_zero() { Vec::new() } else { vec![transaction] };
    write_journal(text, transactions, &[journal_account], &[currency]).map_err(Error::internal)
}

fn write_entry(
    text: &mut String,
    row: &Transaction,
    party: &str,
    category: &str,
    journal_account: &str,
    currency: &str,
) -> Result<()> {
    let amount = match row.effect {
        Effect::Credit => row.amount,
        Effect::Debit => money::subtract(Amount::ZERO, row.amount)?,
    };
    let category = if category.is_empty() { "unknown" } else { category };
    let contra_account = match row.direction {
        Direction::Inflow => format!("income:{category}"),
        Direction::Outflow => format!("expenses:{category}"),
        Direction::Transfer => "equity:transfers".to_owned(),
        Direction::Adjustment => "equity:adjustments".to_owned(),
    };
    let postings = [
        JournalPosting { account: journal_account, amount: Some((amount, currency)), assertion: None },
        JournalPosting { account: &contra_account, amount: None, assertion: None },
    ];
    let transaction = JournalTransaction {
        date: calendar::date(row.transaction_date),
        second_date: None,
        status: Status::Booked,
        code: row.id.as_str(),
        payee: party,
        note: row.description_raw.as_deref().unwrap_or_default(),
        tags: &[],
        postings: &postings,
    };
    let mut formatted = String::new();
    write_journal(&mut formatted, [transaction], &[], &[]).map_err(Error::internal)?;
    // The decimal mark is declared once, before the first account.
    text.push_str(formatted.strip_prefix("decimal-mark .\n").unwrap_or(&formatted));
    Ok(())
}
