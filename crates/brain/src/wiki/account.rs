//! The page of an account.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::Draft;
use super::draft::{
    Names, Section, account_link, counterparty_link, list_transactions, obligation_line, plain,
};
use crate::account::{Account, AccountStatus};
use crate::money::spoken;
use crate::obligation::Obligation;
use crate::transaction::Filter;
use crate::{balance, civil, money, noun, obligation};

/// Transactions that are looked at for the counterparties of an account; the newest of them are listed.
const LOOKED_AT: usize = 50;
const LISTED: usize = 10;
const COUNTERPARTIES: usize = 10;
const OBLIGATIONS: usize = 5;

pub(super) fn draft(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<Draft>> {
    let Some(account) = noun::find::<Account>(sql, id)? else { return Ok(None) };
    let mut draft = Draft::new(sql, account.name.as_str());
    let me = account_link(&account);
    draft.see(&account);
    draft.depends_on_the_day(now);
    let institution =
        account.institution.as_deref().map(|bank| format!(" at {}", plain(bank))).unwrap_or_default();
    draft.say(
        Section::CurrentTruth,
        format!("{}{institution}, {}, {} — {me}", account.account_type, account.currency, account.status),
    );
    let current = spoken(account.current_balance.0, account.currency);
    draft.say(Section::CurrentTruth, format!("Current balance: {current} — {me}"));
    if let Some(available) = account.available_balance {
        let available = spoken(available.0, account.currency);
        draft.say(Section::CurrentTruth, format!("Available balance: {available} — {me}"));
    }
    if let Some(latest) = balance::latest(sql, id)? {
        draft.see(&latest);
        let held = spoken(latest.current_balance.0, latest.currency);
        let day = civil::date(latest.as_of);
        draft.say(Section::CurrentTruth, format!("Last balance of the bank: {held} on {day} — {me}"));
        let opening = money::subtract(account.current_balance.0, account.posted.0)?;
        if !opening.is_zero() {
            let before = spoken(opening, account.currency);
            draft.say(
                Section::OpenQuestions,
                format!(
                    "{before} of the balance come from before the first transaction that is known — {me}"
                ),
            );
        }
    } else {
        draft.say(
            Section::OpenQuestions,
            format!("No balance of the bank is known; the balance is the sum of the transactions — {me}"),
        );
    }
    let rows = Filter { account_id: Some(id.to_owned()), ..Filter::default() }.newest(sql, LOOKED_AT)?;
    let listed = &rows[..rows.len().min(LISTED)];
    list_transactions(sql, &mut draft, Section::RecentActivity, listed)?;
    let mut seen: Vec<&str> = Vec::new();
    for counterparty in rows.iter().filter_map(|row| row.counterparty_id.as_ref()) {
        if !seen.contains(&counterparty.as_str()) && seen.len() < COUNTERPARTIES {
            seen.push(counterparty.as_str());
        }
    }
    let names = Names::of(sql, &mut draft, seen.iter().copied())?;
    for counterparty in names.all() {
        draft.say(
            Section::LinkedEntities,
            format!("{} — {}", counterparty.kind, counterparty_link(counterparty)),
        );
    }
    if account.unconfirmed_count > 0 {
        let unconfirmed = spoken(account.unconfirmed.0, account.currency);
        draft.say(
            Section::OpenQuestions,
            format!("{unconfirmed} of the balance are what was said and nobody has confirmed — {me}"),
        );
    }
    if account.unreconciled_count > 0 {
        draft.say(
            Section::OpenQuestions,
            format!("{} transactions are not reconciled — {me}", account.unreconciled_count),
        );
    }
    if account.status != AccountStatus::Active {
        draft.say(Section::RiskNotes, format!("The account is {} — {me}", account.status));
    }
    let mut open: Vec<Obligation> = Vec::new();
    for counterparty in seen {
        draft.basis.tags.insert(crate::tags::row("counterparty", counterparty));
        open.extend(obligation::open(sql, Some(counterparty), None, None, OBLIGATIONS)?);
    }
    open.sort_by(|one, other| (one.due_date, &one.id).cmp(&(other.due_date, &other.id)));
    for row in open.iter().take(OBLIGATIONS) {
        draft.see(row);
        draft.say(Section::Timeline, obligation_line(row, &names, now));
    }
    Ok(Some(draft))
}
