//! Posting: the only way in which transactions enter the ledger or change.
//!
//! One commit holds the rows, the balances of their accounts, the totals and the largest transactions per month. A
//! transaction that exists already is not posted twice; if its status has advanced (pending, then posted), the stored
//! row is updated.

use std::collections::{BTreeMap, HashSet};

use quad_core::{Result, Timestamp};
use quad_statements::Amount;
use quad_store::{Sql, Tx, Value as Cell, batch};

use crate::account::{self, Account};
use crate::calendar::Month;
use crate::counterparty::Counterparty;
use crate::entity::{self, Entity, IdSource};
use crate::largest::{self, LargestByMonth};
use crate::money::Balance;
use crate::tags::TouchedTags;
use crate::total::{self, Deltas, Subject};
use crate::transaction::{Effect, Transaction};
use crate::{errors, money, raw};

/// The result of posting rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostingCounts {
    /// New rows.
    pub added: usize,
    /// Existing rows whose status has advanced.
    pub updated: usize,
    /// Existing rows without a change.
    pub unchanged: usize,
}

impl std::ops::AddAssign for PostingCounts {
    fn add_assign(&mut self, other: PostingCounts) {
        self.added += other.added;
        self.updated += other.updated;
        self.unchanged += other.unchanged;
    }
}

/// The accumulated changes of accounts, totals and largest rows of one commit. Call [`flush`](PostingBatch::flush)
/// before reading or updating these in the same transaction.
pub(crate) struct PostingBatch {
    accounts: BTreeMap<String, Account>,
    /// Ids of the accounts that differ from their stored rows.
    changed: HashSet<String>,
    deltas: Deltas,
    largest: LargestByMonth,
    now: Timestamp,
}

impl PostingBatch {
    /// An empty batch.
    pub(crate) fn new(tx: &Tx<'_>) -> PostingBatch {
        PostingBatch {
            accounts: BTreeMap::new(),
            changed: HashSet::new(),
            deltas: Deltas::default(),
            largest: LargestByMonth::default(),
            now: tx.now(),
        }
    }

    /// Loads the accounts that are not loaded yet.
    fn load_accounts<'r>(&mut self, tx: &mut Tx<'_>, accounts: impl Iterator<Item = &'r str>) -> Result<()> {
        let mut ids = distinct(accounts);
        ids.retain(|id| !self.accounts.contains_key(id));
        for account in entity::find_many::<Account>(tx, &ids)? {
            self.accounts.insert(account.id.as_str().to_owned(), account);
        }
        Ok(())
    }

    fn account(&self, id: &str) -> Result<&Account> {
        self.accounts.get(id).ok_or_else(|| errors::row_not_found(Account::KIND, id))
    }

    /// Adds (`sign` 1) or removes (`sign` -1) the effect of a row.
    fn apply(&mut self, row: &Transaction, sign: i64, touched: &mut TouchedTags) -> Result<()> {
        let month = Month::from_timestamp(row.transaction_date).to_string();
        touched.month(&month);
        touched.row(Account::KIND, row.account_id.as_str());
        if let Some(counterparty) = &row.counterparty_id {
            touched.row(Counterparty::KIND, counterparty.as_str());
        }
        let account = self
            .accounts
            .get_mut(row.account_id.as_str())
            .ok_or_else(|| errors::row_not_found(Account::KIND, row.account_id.as_str()))?;
        if !self.changed.contains(row.account_id.as_str()) {
            self.changed.insert(row.account_id.as_str().to_owned());
        }
        account.transaction_count += sign;
        account.unreconciled_count += if row.is_unreconciled() { sign } else { 0 };
        account.meta.updated_at = self.now.max(account.meta.updated_at);
        if !row.status.affects_totals() {
            return Ok(());
        }
        let magnitude = row.amount.total_nanos() * i128::from(sign);
        let direction = row.direction.as_str();
        let mut subjects = vec![(Subject::Everything, ""), (Subject::Account, row.account_id.as_str())];
        subjects.extend(row.counterparty_id.as_ref().map(|id| (Subject::Counterparty, id.as_str())));
        subjects.extend(row.category_id.as_ref().map(|id| (Subject::Category, id.as_str())));
        for subject in subjects {
            for period in [month.as_str(), total::ALL_TIME] {
                self.deltas.add(subject, period, row.currency, direction, (sign, magnitude));
            }
        }
        if sign > 0 {
            self.largest.add(&month, row);
        }
        let signed = signed_amount(row, sign)?;
        let balance_delta = if account.balance_as_of.is_none_or(|as_of| row.transaction_date > as_of) {
            if row.meta.provenance.is_assertion() {
                account.unconfirmed = Balance(money::add(account.unconfirmed.0, signed)?);
                account.unconfirmed_count += sign;
            }
            signed
        } else {
            // The reported balance includes this transaction already.
            Amount::ZERO
        };
        account::add_to_balance(account, signed, balance_delta, self.now)
    }

    /// Writes the accumulated changes and empties the batch.
    pub(crate) fn flush(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        let PostingBatch { accounts, changed, deltas, largest, .. } =
            std::mem::replace(self, PostingBatch::new(tx));
        for account in accounts.values().filter(|account| changed.contains(account.id.as_str())) {
            entity::update(tx, account)?;
        }
        deltas.write(tx)?;
        largest.write(tx)
    }
}

/// The signed change of the account's balance when a row is added or removed.
fn signed_amount(row: &Transaction, sign: i64) -> Result<Amount> {
    let is_credit = (row.effect == Effect::Credit) == (sign > 0);
    if is_credit { Ok(row.amount) } else { money::subtract(Amount::ZERO, row.amount) }
}

/// Posts rows. Their accounts and counterparties must exist.
pub(crate) fn post(
    tx: &mut Tx<'_>,
    rows: &[Transaction],
    touched: &mut TouchedTags,
) -> Result<PostingCounts> {
    let mut batch = PostingBatch::new(tx);
    let (counts, _) = post_all(tx, rows, IdSource::Supplied, &mut batch, touched)?;
    batch.flush(tx)?;
    Ok(counts)
}

/// Posts rows into a batch. Also returns for each row whether it is new. The caller flushes the batch.
pub(crate) fn post_all(
    tx: &mut Tx<'_>,
    rows: &[Transaction],
    id_source: IdSource,
    batch: &mut PostingBatch,
    touched: &mut TouchedTags,
) -> Result<(PostingCounts, Vec<bool>)> {
    batch.load_accounts(tx, rows.iter().map(|row| row.account_id.as_str()))?;
    for row in rows {
        account::check_currency(batch.account(row.account_id.as_str())?, row.currency)?;
    }
    let is_new = entity::insert_all(tx, rows, id_source)?;
    let mut counts = PostingCounts::default();
    let mut existing: Vec<&Transaction> = Vec::new();
    for (row, is_new) in rows.iter().zip(&is_new) {
        if *is_new {
            batch.apply(row, 1, touched)?;
            touched.row(Transaction::KIND, row.id.as_str());
            counts.added += 1;
        } else {
            existing.push(row);
        }
    }
    for row in existing {
        match find_existing(tx, row)? {
            Some(old) if status_advanced(&old, row) => {
                // The old row may be among the accumulated largest rows.
                batch.flush(tx)?;
                batch.load_accounts(tx, [old.account_id.as_str(), row.account_id.as_str()].into_iter())?;
                merge_update(tx, batch, &old, row, touched)?;
                counts.updated += 1;
            }
            _ => counts.unchanged += 1,
        }
    }
    if counts.added + counts.updated > 0 {
        let sources = distinct(rows.iter().flat_map(|row| row.meta.source_ids.iter().map(String::as_str)));
        let evidence = distinct(rows.iter().flat_map(|row| row.meta.evidence_ids.iter().map(String::as_str)));
        raw::mark_ids_cited(tx, &sources, &evidence)?;
        // The first posting of a month adds its pages to the list.
        touched.listing();
    }
    Ok((counts, is_new))
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut last = None;
    let mut unique: Vec<String> = Vec::new();
    for text in texts {
        // Neighbouring rows mostly have equal values.
        if last != Some(text) && !unique.iter().any(|entry| entry == text) {
            unique.push(text.to_owned());
        }
        last = Some(text);
    }
    unique
}

/// The stored row with the same id, or with the same key in the same account.
fn find_existing(tx: &mut Tx<'_>, row: &Transaction) -> Result<Option<Transaction>> {
    if let Some(existing) = entity::find::<Transaction>(tx, row.id.as_str())? {
        return Ok(Some(existing));
    }
    let query = format!(
        "SELECT {} FROM brain_transaction WHERE tenant_id = $1 AND account_id = $2 AND dedup_key = $3",
        Transaction::columns()
    );
    let cells: [Cell; 3] =
        [tx.tenant().as_str().into(), row.account_id.as_str().into(), row.dedup_key.as_str().into()];
    tx.query_opt(&query, &cells)?.as_ref().map(Transaction::from_row).transpose()
}

/// Whether the status has advanced: from pending to posted, or to a final status.
fn status_advanced(old: &Transaction, new: &Transaction) -> bool {
    use crate::transaction::TransactionStatus as S;
    let rank = |status: S| match status {
        S::Pending => 0,
        S::Posted => 1,
        S::Cleared | S::Disputed | S::Failed | S::Reversed => 2,
    };
    old.account_id == new.account_id && rank(new.status) > rank(old.status)
}

/// Replaces a row by its newer version. The id and the earlier evidence are kept.
fn merge_update(
    tx: &mut Tx<'_>,
    batch: &mut PostingBatch,
    old: &Transaction,
    new: &Transaction,
    touched: &mut TouchedTags,
) -> Result<()> {
    let mut merged = new.clone();
    merged.id = old.id.clone();
    merged.dedup_key.clone_from(&old.dedup_key);
    merged.counterparty_id = new.counterparty_id.clone().or_else(|| old.counterparty_id.clone());
    merged.category_id = new.category_id.clone().or_else(|| old.category_id.clone());
    merged.meta.created_at = old.meta.created_at;
    merged.meta.updated_at = tx.now();
    for (ids, old_ids) in [
        (&mut merged.meta.source_ids, &old.meta.source_ids),
        (&mut merged.meta.evidence_ids, &old.meta.evidence_ids),
    ] {
        let missing: Vec<String> = old_ids.iter().filter(|id| !ids.contains(id)).cloned().collect();
        ids.extend(missing);
    }
    replace_in_batch(tx, batch, old, &merged, touched)
}

fn replace_in_batch(
    tx: &mut Tx<'_>,
    batch: &mut PostingBatch,
    old: &Transaction,
    changed: &Transaction,
    touched: &mut TouchedTags,
) -> Result<()> {
    batch.apply(old, -1, touched)?;
    let month = Month::from_timestamp(old.transaction_date).to_string();
    largest::delete(tx, &month, old.currency, old.direction.as_str(), old.id.as_str())?;
    batch.apply(changed, 1, touched)?;
    entity::update(tx, changed)?;
    touched.row(Transaction::KIND, changed.id.as_str());
    Ok(())
}

/// Replaces a stored row, such as after a match or a corrected amount.
pub(crate) fn replace(tx: &mut Tx<'_>, changed: &Transaction, touched: &mut TouchedTags) -> Result<()> {
    let old: Transaction = entity::get(tx, changed.id.as_str())?;
    let mut batch = PostingBatch::new(tx);
    batch.load_accounts(tx, [old.account_id.as_str(), changed.account_id.as_str()].into_iter())?;
    replace_in_batch(tx, &mut batch, &old, changed, touched)?;
    raw::mark_cited(tx, &changed.meta)?;
    // A month has pages as long as something is posted in it.
    let posted_month =
        |row: &Transaction| row.status.affects_totals().then(|| Month::from_timestamp(row.transaction_date));
    if posted_month(&old) != posted_month(changed) {
        touched.listing();
    }
    batch.flush(tx)
}

/// Which of these keys exist in an account.
pub(crate) fn existing_keys(sql: &mut dyn Sql, account: &str, keys: &[String]) -> Result<HashSet<String>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut existing = HashSet::new();
    for chunk in batch::chunks(keys) {
        let query = format!(
            "SELECT dedup_key FROM brain_transaction WHERE tenant_id = $1 AND account_id = $2 AND dedup_key IN ({})",
            batch::placeholders(chunk.len(), 3)
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into(), account.into()];
        cells.extend(chunk.iter().map(|key| key.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            existing.insert(row.text(0)?.to_owned());
        }
    }
    Ok(existing)
}
