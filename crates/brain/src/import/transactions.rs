//! Turns statement entries into transactions, with their counterparties and categories.

use std::collections::HashMap;

use quad_core::text::truncate;
use quad_core::{Result, Timestamp};
use quad_statements::{Entry, Kind, Status};
use quad_store::Tx;

use super::commit_context::CommitContext;
use super::progress::StatementProgress;
use crate::category::{self, Category, CategoryKind};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::entity::{self, Entity, IdSource};
use crate::ids::{CategoryId, CounterpartyId, TransactionId};
use crate::posting::{self, PostingCounts};
use crate::row_meta::RowMeta;
use crate::tags::TouchedTags;
use crate::transaction::{Direction, Effect, ReconciliationStatus, Transaction, TransactionStatus};
use crate::transfer_matching::TransferHint;
use crate::{calendar, errors, limits, own_accounts, transfer_matching};

/// The key of an entry, equal in every file that contains it: the day, so that neighbouring rows are stored together,
/// and a fingerprint.
pub(super) fn dedup_key(entry: &Entry, account: &str) -> String {
    let mut fingerprint = entry.fingerprint(account).to_string();
    fingerprint.truncate(24);
    format!("{}:{fingerprint}", entry.booked)
}

/// Ids of counterparties and categories by name, so that each is looked up once per import.
#[derive(Clone, Debug, Default)]
pub(super) struct LookupCache {
    counterparties: HashMap<String, CounterpartyId>,
    categories: HashMap<String, CategoryId>,
}

/// Posts some entries of a statement.
pub(super) fn post_entries(
    tx: &mut Tx<'_>,
    entries: &[Entry],
    progress: &StatementProgress,
    meta: &RowMeta,
    context: &mut CommitContext,
) -> Result<PostingCounts> {
    let own_accounts = context.own_accounts(tx)?;
    let CommitContext { cache, batch, touched, .. } = context;
    let mut ulids = quad_core::id::UlidGenerator::new()?;
    let mut rows = Vec::with_capacity(entries.len());
    let mut hints = Vec::new();
    for entry in entries {
        let counterparty_id = get_or_create_counterparty(tx, entry, cache, meta, touched)?;
        let category_id = get_or_create_category(tx, entry, cache, meta)?;
        let id = TransactionId::from_db(format!("{}{}", TransactionId::PREFIX, ulids.next_ulid()));
        let counterpart_number = own_accounts::format_account_number(&entry.counterparty);
        let is_own_account = counterpart_number
            .as_deref()
            .and_then(|number| own_accounts.find_by_number(number, entry.currency))
            .is_some_and(|account| account != progress.account.id.as_str());
        if is_own_account || entry.kind == Some(Kind::Transfer) {
            let (transaction_id, transaction_date) =
                (id.as_str().to_owned(), calendar::midnight(entry.booked));
            hints.push((rows.len(), TransferHint { transaction_id, transaction_date, counterpart_number }));
        }
        rows.push(to_transaction(
            entry,
            id,
            progress,
            counterparty_id,
            category_id,
            is_own_account,
            meta.clone(),
        )?);
    }
    let (posted, is_new) = posting::post_all(tx, &rows, IdSource::Generated, batch, touched)?;
    let hints: Vec<TransferHint> =
        hints.into_iter().filter(|(row, _)| is_new[*row]).map(|(_, hint)| hint).collect();
    transfer_matching::enqueue(tx, &hints)?;
    Ok(posted)
}

fn to_transaction(
    entry: &Entry,
    id: TransactionId,
    progress: &StatementProgress,
    counterparty_id: Option<CounterpartyId>,
    category_id: Option<CategoryId>,
    is_own_transfer: bool,
    meta: RowMeta,
) -> Result<Transaction> {
    let magnitude = entry.amount.checked_abs().ok_or_else(|| errors::invalid("amount", "is out of range"))?;
    let effect = if entry.amount.is_negative() { Effect::Debit } else { Effect::Credit };
    let direction = match effect {
        _ if is_own_transfer => Direction::Transfer,
        _ if magnitude.is_zero() => Direction::Adjustment,
        Effect::Credit => Direction::Inflow,
        Effect::Debit => Direction::Outflow,
    };
    let text = |text: &str| truncate(text, limits::TEXT_BYTES / 4).replace('\0', " ");
    let posted_date =
        entry.moment.map(|moment| Timestamp(moment.utc_ms)).or(entry.value_date.map(calendar::midnight));
    let bank_id = entry.references.bank_id.as_deref().filter(|_| entry.has_trusted_bank_id());
    Ok(Transaction {
        id,
        amount: magnitude,
        currency: entry.currency,
        direction,
        effect,
        account_id: progress.account.id.clone(),
        external_transaction_id: bank_id.map(text),
        dedup_key: dedup_key(entry, progress.account.id.as_str()),
        transaction_date: calendar::midnight(entry.booked),
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
        meta,
    })
}

/// The counterparty of an entry; created if it does not exist.
fn get_or_create_counterparty(
    tx: &mut Tx<'_>,
    entry: &Entry,
    cache: &mut LookupCache,
    meta: &RowMeta,
    touched: &mut TouchedTags,
) -> Result<Option<CounterpartyId>> {
    let Some(name) = entry.counterparty.name.as_deref() else { return Ok(None) };
    let name = name.replace('\0', " ");
    let normalized = counterparty::normalize(&name);
    if normalized.is_empty() {
        return Ok(None);
    }
    if let Some(id) = cache.counterparties.get(&normalized) {
        return Ok(Some(id.clone()));
    }
    let id = match counterparty::by_name(tx, &normalized)? {
        Some(existing) => existing.id,
        None => {
            let kind = if entry.amount.is_negative() {
                CounterpartyType::Merchant
            } else {
                CounterpartyType::Customer
            };
            let counterparty_name = truncate(name.trim(), limits::TEXT_BYTES / 4);
            let new = Counterparty {
                normalized_name: normalized.clone(),
                linked_accounts: entry.counterparty.account.iter().map(ToString::to_string).collect(),
                ..Counterparty::new(CounterpartyId::generate()?, counterparty_name, kind, meta.clone())
            };
            counterparty::save(tx, None, &new, touched)?;
            new.id
        }
    };
    cache.counterparties.insert(normalized, id.clone());
    Ok(Some(id))
}

/// The category of an entry; created if it does not exist.
fn get_or_create_category(
    tx: &mut Tx<'_>,
    entry: &Entry,
    cache: &mut LookupCache,
    meta: &RowMeta,
) -> Result<Option<CategoryId>> {
    let Some(name) = entry.category.as_deref().map(str::trim).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let name = name.replace('\0', " ");
    if let Some(id) = cache.categories.get(&name) {
        return Ok(Some(id.clone()));
    }
    let id = match category::by_name(tx, &name)? {
        Some(existing) => existing.id,
        None => {
            let kind = if entry.amount.is_negative() { CategoryKind::Expense } else { CategoryKind::Income };
            let new = Category {
                id: CategoryId::generate()?,
                name: name.clone(),
                parent_id: None,
                kind,
                meta: meta.clone(),
            };
            entity::insert(tx, &new)?;
            tx.invalidate(crate::tags::rows_of_kind(Category::KIND));
            new.id
        }
    };
    cache.categories.insert(name, id.clone());
    Ok(Some(id))
}
