//! The page of an account.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{
    CounterpartyNames, Section, account_link, add_transactions, counterparty_link, escape_markdown,
    obligation_line,
};
use crate::account::{Account, AccountStatus};
use crate::money::format_with_currency;
use crate::obligation::Obligation;
use crate::transaction::Filter;
use crate::{balance, calendar, entity, money, obligation};

/// Transactions that are scanned for the counterparties of an account; the newest of them are listed.
const SCANNED_TRANSACTIONS: usize = 50;
const LISTED_TRANSACTIONS: usize = 10;
const COUNTERPARTIES: usize = 10;
const OBLIGATIONS: usize = 5;

pub(super) fn build_page(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<PageBuilder>> {
    let Some(account) = entity::find::<Account>(sql, id)? else { return Ok(None) };
    let mut builder = PageBuilder::new(sql, account.name.as_str());
    let self_link = account_link(&account);
    builder.depend_on(&account);
    builder.expire_at_midnight(now);
    let institution = account
        .institution
        .as_deref()
        .map(|bank| format!(" at {}", escape_markdown(bank)))
        .unwrap_or_default();
    builder.add_line(
        Section::CurrentTruth,
        format!(
            "{}{institution}, {}, {} — {self_link}",
            account.account_type, account.currency, account.status
        ),
    );
    let current = format_with_currency(account.current_balance.0, account.currency);
    builder.add_line(Section::CurrentTruth, format!("Current balance: {current} — {self_link}"));
    if let Some(available) = account.available_balance {
        let available = format_with_currency(available.0, account.currency);
        builder.add_line(Section::CurrentTruth, format!("Available balance: {available} — {self_link}"));
    }
    if let Some(latest) = balance::latest(sql, id)? {
        builder.depend_on(&latest);
        let bank_balance = format_with_currency(latest.current_balance.0, latest.currency);
        let day = calendar::format_date(latest.as_of);
        builder.add_line(
            Section::CurrentTruth,
            format!("Last balance of the bank: {bank_balance} on {day} — {self_link}"),
        );
        let opening = money::subtract(account.current_balance.0, account.posted.0)?;
        if !opening.is_zero() {
            let opening_amount = format_with_currency(opening, account.currency);
            builder.add_line(
                Section::OpenQuestions,
                format!(
                    "{opening_amount} of the balance is from before the first known transaction — {self_link}"
                ),
            );
        }
    } else {
        builder.add_line(
            Section::OpenQuestions,
            format!(
                "No balance of the bank is known; the balance is the sum of the transactions — {self_link}"
            ),
        );
    }
    let rows =
        Filter { account_id: Some(id.to_owned()), ..Filter::default() }.newest(sql, SCANNED_TRANSACTIONS)?;
    let listed = &rows[..rows.len().min(LISTED_TRANSACTIONS)];
    add_transactions(sql, &mut builder, Section::RecentActivity, listed)?;
    let mut counterparty_ids: Vec<&str> = Vec::new();
    for counterparty in rows.iter().filter_map(|row| row.counterparty_id.as_ref()) {
        if !counterparty_ids.contains(&counterparty.as_str()) && counterparty_ids.len() < COUNTERPARTIES {
            counterparty_ids.push(counterparty.as_str());
        }
    }
    let names = CounterpartyNames::load(sql, &mut builder, counterparty_ids.iter().copied())?;
    for counterparty in names.sorted_by_name() {
        builder.add_line(
            Section::LinkedEntities,
            format!("{} — {}", counterparty.kind, counterparty_link(counterparty)),
        );
    }
    if account.unconfirmed_count > 0 {
        let unconfirmed = format_with_currency(account.unconfirmed.0, account.currency);
        builder.add_line(
            Section::OpenQuestions,
            format!("{unconfirmed} of the balance is only asserted, not confirmed — {self_link}"),
        );
    }
    if account.unreconciled_count > 0 {
        builder.add_line(
            Section::OpenQuestions,
            format!("{} transactions are not reconciled — {self_link}", account.unreconciled_count),
        );
    }
    if account.status != AccountStatus::Active {
        builder.add_line(Section::RiskNotes, format!("The account is {} — {self_link}", account.status));
    }
    let mut open_obligations: Vec<Obligation> = Vec::new();
    for counterparty in counterparty_ids {
        builder.read_set.tags.insert(crate::tags::row("counterparty", counterparty));
        open_obligations.extend(obligation::list_open(sql, Some(counterparty), None, None, OBLIGATIONS)?);
    }
    open_obligations.sort_by(|a, b| (a.due_date, &a.id).cmp(&(b.due_date, &b.id)));
    for row in open_obligations.iter().take(OBLIGATIONS) {
        builder.depend_on(row);
        builder.add_line(Section::Timeline, obligation_line(row, &names, now));
    }
    Ok(Some(builder))
}
