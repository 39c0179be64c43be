//! Posting: the one way in which transactions enter the ledger or change there.
//!
//! One commit holds the rows, what they do to their accounts' balances, the totals and the largest of each month: all of it
//! or nothing. A movement that is there already is not posted twice; what it has become since (pending, then posted) is
//! taken over.

use std::collections::{BTreeMap, HashSet};

use quad_core::{Result, Timestamp};
use quad_statements::Amount;
use quad_store::{Sql, Tx, Value as Cell, batch};

use crate::account::{self, Account};
use crate::civil::Month;
use crate::counterparty::Counterparty;
use crate::money::Balance;
use crate::noun::{self, Ids, Noun};
use crate::peak::{self, Candidates};
use crate::tags::Touched;
use crate::total::{self, Deltas, Subject};
use crate::transaction::{Effect, Transaction};
use crate::{money, raw, refusal};

/// What became of the rows of one posting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// They were not there.
    pub added: usize,
    /// They were there and have moved on.
    pub updated: usize,
    /// They were there.
    pub known: usize,
}

impl std::ops::AddAssign for Posted {
    fn add_assign(&mut self, other: Posted) {
        self.added += other.added;
        self.updated += other.updated;
        self.known += other.known;
    }
}

/// What the postings of one commit do to accounts, totals and peaks, gathered before it is written. Until then the rows of these
/// are behind: whoever reads or changes them in the same commit writes this first.
pub(crate) struct Effects {
    accounts: BTreeMap<String, Account>,
    /// Those of them that are no longer as they are stored.
    changed: HashSet<String>,
    deltas: Deltas,
    peaks: Candidates,
    now: Timestamp,
}

impl Effects {
    /// Nothing yet, in a commit.
    pub(crate) fn of(tx: &Tx<'_>) -> Effects {
        Effects {
            accounts: BTreeMap::new(),
            changed: HashSet::new(),
            deltas: Deltas::default(),
            peaks: Candidates::default(),
            now: tx.now(),
        }
    }

    /// Loads accounts that were not met yet.
    fn meet<'r>(&mut self, tx: &mut Tx<'_>, accounts: impl Iterator<Item = &'r str>) -> Result<()> {
        let mut ids = unique(accounts);
        ids.retain(|id| !self.accounts.contains_key(id));
        for account in noun::find_many::<Account>(tx, &ids)? {
            self.accounts.insert(account.id.as_str().to_owned(), account);
        }
        Ok(())
    }

    fn account(&self, id: &str) -> Result<&Account> {
        self.accounts.get(id).ok_or_else(|| refusal::no_row(Account::KIND, id))
    }

    /// Counts a row in (`1`) or out (`-1`).
    fn count(&mut self, row: &Transaction, sign: i64, touched: &mut Touched) -> Result<()> {
        let month = Month::of(row.transaction_date).to_string();
        touched.month(&month);
        touched.row(Account::KIND, row.account_id.as_str());
        if let Some(counterparty) = &row.counterparty_id {
            touched.row(Counterparty::KIND, counterparty.as_str());
        }
        let account = self
            .accounts
            .get_mut(row.account_id.as_str())
            .ok_or_else(|| refusal::no_row(Account::KIND, row.account_id.as_str()))?;
        if !self.changed.contains(row.account_id.as_str()) {
            self.changed.insert(row.account_id.as_str().to_owned());
        }
        account.transaction_count += sign;
        account.unreconciled_count += if row.is_unreconciled() { sign } else { 0 };
        account.standing.updated_at = self.now.max(account.standing.updated_at);
        if !row.status.counts() {
            return Ok(());
        }
        let magnitude = row.amount.total_nanos() * i128::from(sign);
        let direction = row.direction.as_str();
        let mut subjects = vec![(Subject::Everything, ""), (Subject::Account, row.account_id.as_str())];
        subjects.extend(row.counterparty_id.as_ref().map(|id| (Subject::Counterparty, id.as_str())));
        subjects.extend(row.category_id.as_ref().map(|id| (Subject::Category, id.as_str())));
        for subject in subjects {
            for period in [month.as_str(), total::EVER] {
                self.deltas.add(subject, period, row.currency, direction, (sign, magnitude));
            }
        }
        if sign > 0 {
            self.peaks.add(&month, row);
        }
        let signed = signed(row, sign)?;
        let after_balance = if account.balance_as_of.is_none_or(|as_of| row.transaction_date > as_of) {
            if row.standing.provenance.is_assertion() {
                account.unconfirmed = Balance(money::add(account.unconfirmed.0, signed)?);
                account.unconfirmed_count += sign;
            }
            signed
        } else {
            // The bank's balance knows of it already.
            Amount::ZERO
        };
        account::move_by(account, signed, after_balance, self.now)
    }

    /// Writes what was gathered, and begins anew.
    pub(crate) fn write(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        let Effects { accounts, changed, deltas, peaks, .. } = std::mem::replace(self, Effects::of(tx));
        for account in accounts.values().filter(|account| changed.contains(account.id.as_str())) {
            noun::update(tx, account)?;
        }
        deltas.write(tx)?;
        peaks.write(tx)
    }
}

/// What a row does to its account, counted in or out.
fn signed(row: &Transaction, sign: i64) -> Result<Amount> {
    let is_credit = (row.effect == Effect::Credit) == (sign > 0);
    if is_credit { Ok(row.amount) } else { money::subtract(Amount::ZERO, row.amount) }
}

/// Posts rows. Their accounts must exist; so must their counterparties.
pub(crate) fn post(tx: &mut Tx<'_>, rows: &[Transaction], touched: &mut Touched) -> Result<Posted> {
    let mut effects = Effects::of(tx);
    let (posted, _) = post_all(tx, rows, Ids::Brought, &mut effects, touched)?;
    effects.write(tx)?;
    Ok(posted)
}

/// The same, and says of each row whether it was not there. What they do to accounts and totals is left to be written.
pub(crate) fn post_all(
    tx: &mut Tx<'_>,
    rows: &[Transaction],
    ids: Ids,
    effects: &mut Effects,
    touched: &mut Touched,
) -> Result<(Posted, Vec<bool>)> {
    effects.meet(tx, rows.iter().map(|row| row.account_id.as_str()))?;
    for row in rows {
        account::check_currency(effects.account(row.account_id.as_str())?, row.currency)?;
    }
    let is_new = noun::insert_all(tx, rows, ids)?;
    let mut posted = Posted::default();
    let mut known: Vec<&Transaction> = Vec::new();
    for (row, is_new) in rows.iter().zip(&is_new) {
        if *is_new {
            effects.count(row, 1, touched)?;
            touched.row(Transaction::KIND, row.id.as_str());
            posted.added += 1;
        } else {
            known.push(row);
        }
    }
    for row in known {
        match stored(tx, row)? {
            Some(old) if has_moved_on(&old, row) => {
                // Its peak may be among what was gathered.
                effects.write(tx)?;
                effects.meet(tx, [old.account_id.as_str(), row.account_id.as_str()].into_iter())?;
                change(tx, effects, &old, row, touched)?;
                posted.updated += 1;
            }
            _ => posted.known += 1,
        }
    }
    if posted.added + posted.updated > 0 {
        let sources = unique(rows.iter().flat_map(|row| row.standing.source_ids.iter().map(String::as_str)));
        let evidence =
            unique(rows.iter().flat_map(|row| row.standing.evidence_ids.iter().map(String::as_str)));
        raw::cite_ids(tx, &sources, &evidence)?;
        // The first posting of a month makes its pages.
        touched.listing();
    }
    Ok((posted, is_new))
}

fn unique<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut last = None;
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        // Neighbours are mostly alike.
        if last != Some(text) && !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
        last = Some(text);
    }
    found
}

/// The row that stands in the way of another: of the same id, or the same movement of the same account.
fn stored(tx: &mut Tx<'_>, row: &Transaction) -> Result<Option<Transaction>> {
    if let Some(found) = noun::find::<Transaction>(tx, row.id.as_str())? {
        return Ok(Some(found));
    }
    let query = format!(
        "SELECT {} FROM brain_transaction WHERE tenant_id = $1 AND account_id = $2 AND dedup_key = $3",
        Transaction::columns()
    );
    let cells: [Cell; 3] =
        [tx.tenant().as_str().into(), row.account_id.as_str().into(), row.dedup_key.as_str().into()];
    tx.query_opt(&query, &cells)?.as_ref().map(Transaction::from_row).transpose()
}

/// Whether a row that is sent again tells something new: it went on from pending, or was taken back.
fn has_moved_on(old: &Transaction, new: &Transaction) -> bool {
    use crate::transaction::TransactionStatus as S;
    let weight = |status: S| match status {
        S::Pending => 0,
        S::Posted => 1,
        S::Cleared | S::Disputed | S::Failed | S::Reversed => 2,
    };
    old.account_id == new.account_id && weight(new.status) > weight(old.status)
}

/// Puts what a row has become in its place; it keeps its id and what it cited.
fn change(
    tx: &mut Tx<'_>,
    effects: &mut Effects,
    old: &Transaction,
    new: &Transaction,
    touched: &mut Touched,
) -> Result<()> {
    let mut changed = new.clone();
    changed.id = old.id.clone();
    changed.dedup_key.clone_from(&old.dedup_key);
    changed.counterparty_id = new.counterparty_id.clone().or_else(|| old.counterparty_id.clone());
    changed.category_id = new.category_id.clone().or_else(|| old.category_id.clone());
    changed.standing.created_at = old.standing.created_at;
    changed.standing.updated_at = tx.now();
    for (kept, cited) in [
        (&mut changed.standing.source_ids, &old.standing.source_ids),
        (&mut changed.standing.evidence_ids, &old.standing.evidence_ids),
    ] {
        let missing: Vec<String> = cited.iter().filter(|id| !kept.contains(id)).cloned().collect();
        kept.extend(missing);
    }
    replace(tx, effects, old, &changed, touched)
}

fn replace(
    tx: &mut Tx<'_>,
    effects: &mut Effects,
    old: &Transaction,
    changed: &Transaction,
    touched: &mut Touched,
) -> Result<()> {
    effects.count(old, -1, touched)?;
    let month = Month::of(old.transaction_date).to_string();
    peak::forget(tx, &month, old.currency, old.direction.as_str(), old.id.as_str())?;
    effects.count(changed, 1, touched)?;
    noun::update(tx, changed)?;
    touched.row(Transaction::KIND, changed.id.as_str());
    Ok(())
}

/// Puts another version of a stored row in its place: a match, a category, a corrected amount.
pub(crate) fn amend(tx: &mut Tx<'_>, changed: &Transaction, touched: &mut Touched) -> Result<()> {
    let old: Transaction = noun::expect(tx, changed.id.as_str())?;
    let mut effects = Effects::of(tx);
    effects.meet(tx, [old.account_id.as_str(), changed.account_id.as_str()].into_iter())?;
    replace(tx, &mut effects, &old, changed, touched)?;
    raw::cite(tx, &changed.standing)?;
    effects.write(tx)
}

/// Which of these keys an account's statements have brought already, for a run that only looks.
pub(crate) fn known_keys(sql: &mut dyn Sql, account: &str, keys: &[String]) -> Result<HashSet<String>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut known = HashSet::new();
    for piece in batch::pieces(keys) {
        let query = format!(
            "SELECT dedup_key FROM brain_transaction WHERE tenant_id = $1 AND account_id = $2 AND dedup_key IN ({})",
            batch::list(piece.len(), 3)
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into(), account.into()];
        cells.extend(piece.iter().map(|key| key.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            known.insert(row.text(0)?.to_owned());
        }
    }
    Ok(known)
}
