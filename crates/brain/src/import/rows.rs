//! Entries become rows: what each is, with whom and on what, and which entry it is in every other file.

use std::collections::HashMap;

use quad_core::{Result, Timestamp};
use quad_statements::{Entry, Kind, Status};
use quad_store::Tx;

use super::desk::Desk;
use super::place::Place;
use crate::category::{self, Category, CategoryKind};
use crate::counterparty::{self, Counterparty, CounterpartyType, TrustStatus};
use crate::ids::{AccountId, CategoryId, CounterpartyId, TransactionId};
use crate::noun::{self, Ids, Noun};
use crate::pairing::Sign;
use crate::posting::{self, Posted};
use crate::standing::Standing;
use crate::tags::Touched;
use crate::transaction::{Direction, Effect, ReconciliationStatus, Transaction, TransactionStatus};
use crate::{civil, limits, own, pairing, refusal};

pub(super) fn day(date: jiff::civil::Date) -> Timestamp {
    civil::midnight(i64::from(date.year()), i64::from(date.month()), i64::from(date.day()))
}

/// What makes an entry the same movement in every file: the day, so that neighbours lie together, and its fingerprint.
pub(super) fn key(entry: &Entry, account: &str) -> String {
    let mut fingerprint = entry.fingerprint(account).to_string();
    fingerprint.truncate(24);
    format!("{}:{fingerprint}", entry.booked)
}

/// Counterparties and categories that an import has met, so that each is looked up once.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    counterparties: HashMap<String, CounterpartyId>,
    categories: HashMap<String, CategoryId>,
}

/// Posts some entries of a statement.
pub(super) fn post(
    tx: &mut Tx<'_>,
    entries: &[Entry],
    place: &Place,
    standing: &Standing,
    desk: &mut Desk,
) -> Result<Posted> {
    let own = desk.own(tx)?;
    let Desk { met, effects, touched, .. } = desk;
    let mut ulids = quad_core::id::Ulids::now()?;
    let mut rows = Vec::with_capacity(entries.len());
    let mut signs = Vec::new();
    for entry in entries {
        let counterparty_id = meet_counterparty(tx, entry, met, standing, touched)?;
        let category_id = meet_category(tx, entry, met, standing)?;
        let id = TransactionId::stored(format!("{}{}", TransactionId::PREFIX, ulids.another()));
        let other = own::number(&entry.counterparty);
        let is_own = other
            .as_deref()
            .and_then(|number| own.named(number, entry.currency))
            .is_some_and(|account| account != place.account);
        if is_own || entry.kind == Some(Kind::Transfer) {
            let (transaction_id, transaction_date) = (id.as_str().to_owned(), day(entry.booked));
            signs.push((rows.len(), Sign { transaction_id, transaction_date, named: other }));
        }
        rows.push(row(entry, id, place, counterparty_id, category_id, is_own, standing.clone())?);
    }
    let (posted, is_new) = posting::post_all(tx, &rows, Ids::Fresh, effects, touched)?;
    let signs: Vec<Sign> = signs.into_iter().filter(|(row, _)| is_new[*row]).map(|(_, sign)| sign).collect();
    pairing::wait(tx, &signs)?;
    Ok(posted)
}

fn row(
    entry: &Entry,
    id: TransactionId,
    place: &Place,
    counterparty_id: Option<CounterpartyId>,
    category_id: Option<CategoryId>,
    between_own: bool,
    standing: Standing,
) -> Result<Transaction> {
    let magnitude = entry
        .amount
        .checked_abs()
        .ok_or_else(|| refusal::invalid("amount", "is larger than can be stored"))?;
    let effect = if entry.amount.is_negative() { Effect::Debit } else { Effect::Credit };
    let direction = match effect {
        _ if between_own => Direction::Transfer,
        _ if magnitude.is_zero() => Direction::Adjustment,
        Effect::Credit => Direction::Inflow,
        Effect::Debit => Direction::Outflow,
    };
    let text = |text: &str| crate::refusal::cut(text, limits::TEXT_BYTES / 4).replace('\0', " ");
    let posted_date = entry.moment.map(|moment| Timestamp(moment.utc_ms)).or(entry.value_date.map(day));
    let bank_id = entry.references.bank_id.as_deref().filter(|_| entry.has_trusted_bank_id());
    Ok(Transaction {
        id,
        amount: magnitude,
        currency: entry.currency,
        direction,
        effect,
        account_id: AccountId::stored(place.account.as_str()),
        external_transaction_id: bank_id.map(text),
        dedup_key: key(entry, &place.account),
        transaction_date: day(entry.booked),
        posted_date,
        counterparty_id,
        category_id,
        status: match entry.status {
            Status::Booked => TransactionStatus::Posted,
            Status::Pending => TransactionStatus::Pending,
        },
        description_raw: Some(text(&entry.description)).filter(|text| !text.is_empty()),
        description_normalized: None,
        reconciliation_status: Some(ReconciliationStatus::Unreconciled),
        chain_tx_hash: None,
        standing,
    })
}

/// The counterparty of an entry, made if nobody has met it yet.
fn meet_counterparty(
    tx: &mut Tx<'_>,
    entry: &Entry,
    met: &mut Met,
    standing: &Standing,
    touched: &mut Touched,
) -> Result<Option<CounterpartyId>> {
    let Some(name) = entry.counterparty.name.as_deref() else { return Ok(None) };
    let name = name.replace('\0', " ");
    let normalized = counterparty::normalize(&name);
    if normalized.is_empty() {
        return Ok(None);
    }
    if let Some(id) = met.counterparties.get(&normalized) {
        return Ok(Some(id.clone()));
    }
    let id = match counterparty::by_name(tx, &normalized)? {
        Some(known) => known.id,
        None => {
            let kind = if entry.amount.is_negative() {
                CounterpartyType::Merchant
            } else {
                CounterpartyType::Customer
            };
            let new = Counterparty {
                id: CounterpartyId::generate()?,
                name: crate::refusal::cut(name.trim(), limits::TEXT_BYTES / 4),
                display_name: None,
                normalized_name: normalized.clone(),
                kind,
                risk_level: None,
                verified_status: None,
                trust_status: TrustStatus::Unreviewed,
                trust_reviewed_at: None,
                aliases: Vec::new(),
                linked_accounts: entry.counterparty.account.iter().map(ToString::to_string).collect(),
                agent_id: None,
                onchain_address: None,
                metadata: serde_json::Map::new(),
                standing: standing.clone(),
            };
            counterparty::create(tx, &new, touched)?;
            new.id
        }
    };
    met.counterparties.insert(normalized, id.clone());
    Ok(Some(id))
}

/// The category that a file names, made if it is new.
fn meet_category(
    tx: &mut Tx<'_>,
    entry: &Entry,
    met: &mut Met,
    standing: &Standing,
) -> Result<Option<CategoryId>> {
    let Some(name) = entry.category.as_deref().map(str::trim).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let name = name.replace('\0', " ");
    if let Some(id) = met.categories.get(&name) {
        return Ok(Some(id.clone()));
    }
    let id = match category::by_name(tx, &name)? {
        Some(known) => known.id,
        None => {
            let kind = if entry.amount.is_negative() { CategoryKind::Expense } else { CategoryKind::Income };
            let new = Category {
                id: CategoryId::generate()?,
                name: name.clone(),
                parent_id: None,
                kind,
                standing: standing.clone(),
            };
            noun::insert(tx, &new)?;
            tx.touch(crate::tags::all(Category::KIND));
            new.id
        }
    };
    met.categories.insert(name, id.clone());
    Ok(Some(id))
}
