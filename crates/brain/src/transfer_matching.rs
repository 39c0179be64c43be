//! Transfer matching: which two transactions are the two sides of one transfer between the tenant's accounts.
//!
//! A transaction is a candidate when its bank calls it a transfer or it names an account of the tenant. The other side
//! has the same amount and currency, the opposite direction, another account of the tenant, and a date within
//! [`limits::TRANSFER_DAYS`]. Two are matched only if neither could match a third: a wrong match would hide spending,
//! while a missing one stays visible. An equal amount alone is not enough, since round amounts are common.

use quad_core::{Result, Timestamp};
use quad_statements::Currency;
use quad_store::{Sql, Tx, Value as Cell, batch, params};

use crate::entity::{self, Entity as _};
use crate::field::UnitInterval;
use crate::ids::{MatchId, TransferId};
use crate::money::format_with_currency;
use crate::own_accounts::OwnAccounts;
use crate::reconciliation::{self, Match, MatchStatus, MatchedKind};
use crate::row_meta::{Provenance, RowMeta};
use crate::tags::TouchedTags;
use crate::transaction::{Effect, Transaction};
use crate::transfer::{self, Transfer};
use crate::{calendar, limits};

/// The confidence of a match in which one side names the other's account, and of one by amount and day only.
const NAMED_MATCH_CONFIDENCE: f64 = 0.9;
const INFERRED_MATCH_CONFIDENCE: f64 = 0.8;

/// A transaction that is marked as one side of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransferHint {
    pub transaction_id: String,
    pub transaction_date: Timestamp,
    /// The number of the other account, if the statement names one.
    pub counterpart_number: Option<String>,
}

/// Stores transactions that wait for their other side.
pub(crate) fn enqueue(tx: &mut Tx<'_>, hints: &[TransferHint]) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    for chunk in batch::chunks(hints) {
        let statement = format!(
            "INSERT INTO brain_transfer_waiting (tenant_id, transaction_id, transaction_date, named) VALUES {} \
             ON CONFLICT DO NOTHING",
            batch::values_placeholders(chunk.len(), 2, 3, "$1")
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
        for hint in chunk {
            cells.push(hint.transaction_id.as_str().into());
            cells.push(hint.transaction_date.into());
            cells.push(hint.counterpart_number.as_deref().map_or(Cell::Null, Cell::from));
        }
        tx.execute(&statement, &cells)?;
    }
    Ok(())
}

/// Removes a transaction that has found its other side.
pub(crate) fn dequeue(tx: &mut Tx<'_>, transaction: &str) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "DELETE FROM brain_transfer_waiting WHERE tenant_id = $1 AND transaction_id = $2",
        params![tenant, transaction],
    )?;
    Ok(())
}

/// The two sides of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransferPair {
    transaction_id: String,
    counterpart_id: String,
}

/// The matches among waiting transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferMatches {
    pub pairs: Vec<TransferPair>,
    /// Transactions with several candidates, one sentence each.
    pub ambiguous: Vec<String>,
    /// The position after which the next search continues.
    pub next: Option<(Timestamp, String)>,
}

/// Finds the other sides of waiting transactions within some days, after `after`.
pub(crate) fn find_matches(
    sql: &mut dyn Sql,
    own_accounts: &OwnAccounts,
    (first, last): (Timestamp, Timestamp),
    after: Option<&(Timestamp, String)>,
) -> Result<TransferMatches> {
    let window_ms = limits::TRANSFER_DAYS * calendar::DAY_MS;
    let start = (first.plus_ms(-window_ms), String::new());
    let (from, id) = after.unwrap_or(&start);
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT transaction_id, transaction_date FROM brain_transfer_waiting WHERE tenant_id = $1 \
         AND (transaction_date, transaction_id) > ($2, $3) AND transaction_date <= $4 \
         ORDER BY transaction_date, transaction_id LIMIT $5",
        params![tenant, *from, id.as_str(), last.plus_ms(window_ms), limits::TRANSFERS_PER_READ as i64],
    )?;
    let mut matches = TransferMatches::default();
    let mut matched_ids: Vec<String> = Vec::new();
    for row in &rows {
        let id = row.text(0)?;
        let Some(row) = entity::find::<Transaction>(sql, id)? else { continue };
        match match_transaction(sql, own_accounts, &row)? {
            MatchResult::None => {}
            MatchResult::Ambiguous(candidates) => {
                matches.ambiguous.push(ambiguity_message(&row, &candidates))
            }
            // Both sides may be waiting; the pair is recorded once.
            MatchResult::Unique(..) if matched_ids.iter().any(|matched_id| matched_id == row.id.as_str()) => {
            }
            MatchResult::Unique(counterpart, _) => {
                matched_ids.push(counterpart.id.as_str().to_owned());
                matches.pairs.push(TransferPair {
                    transaction_id: id.to_owned(),
                    counterpart_id: counterpart.id.as_str().to_owned(),
                });
            }
        }
    }
    if rows.len() == limits::TRANSFERS_PER_READ
        && let Some(last) = rows.last()
    {
        matches.next = Some((Timestamp(last.int(1)?), last.text(0)?.to_owned()));
    }
    Ok(matches)
}

fn ambiguity_message(row: &Transaction, candidates: &[String]) -> String {
    let (day, amount) =
        (calendar::format_date(row.transaction_date), format_with_currency(row.amount, row.currency));
    format!(
        "the transfer of {amount} on {day} ({}) is not matched: its other side could be {}",
        row.id,
        candidates.join(" or ")
    )
}

/// Records matches. Rows that have changed since are skipped. Returns the number of recorded transfers.
pub(crate) fn record_matches(
    tx: &mut Tx<'_>,
    own_accounts: &OwnAccounts,
    pairs: &[TransferPair],
) -> Result<usize> {
    tx.lock("brain")?;
    let mut touched = TouchedTags::default();
    let mut recorded = 0;
    for pair in pairs {
        let Some(row) = entity::find::<Transaction>(tx, &pair.transaction_id)? else { continue };
        let MatchResult::Unique(counterpart, is_named) = match_transaction(tx, own_accounts, &row)? else {
            continue;
        };
        if counterpart.id.as_str() != pair.counterpart_id {
            continue;
        }
        let (from, to) = if row.effect == Effect::Debit { (row, *counterpart) } else { (*counterpart, row) };
        record_match(
            tx,
            &from,
            &to,
            if is_named { NAMED_MATCH_CONFIDENCE } else { INFERRED_MATCH_CONFIDENCE },
            &mut touched,
        )?;
        recorded += 1;
    }
    tx.audit_output("paired", recorded);
    touched.touch(tx);
    Ok(recorded)
}

/// Records a transfer, and a match by which each side corroborates the other.
fn record_match(
    tx: &mut Tx<'_>,
    from: &Transaction,
    to: &Transaction,
    score: f64,
    touched: &mut TouchedTags,
) -> Result<()> {
    let meta = merge_meta(&from.meta, &to.meta, score, tx.now());
    let transfer = Transfer {
        id: TransferId::generate()?,
        from_account_id: from.account_id.clone(),
        to_account_id: to.account_id.clone(),
        from_transaction_id: from.id.clone(),
        to_transaction_id: to.id.clone(),
        amount: from.amount,
        currency: from.currency,
        transfer_date: from.transaction_date.min(to.transaction_date),
        meta: meta.clone(),
    };
    transfer::create(tx, &transfer, touched)?;
    let matched = Match {
        id: MatchId::generate()?,
        match_type: Transfer::KIND.to_owned(),
        left_kind: MatchedKind::Transaction,
        left_id: from.id.as_str().to_owned(),
        right_kind: MatchedKind::Transaction,
        right_id: to.id.as_str().to_owned(),
        confidence_score: UnitInterval(score),
        status: MatchStatus::Matched,
        explanation: Some(format!("two sides of the transfer {}", transfer.id)),
        meta,
    };
    reconciliation::create(tx, &matched, touched)?;
    Ok(())
}

/// The metadata of a row that is inferred from two rows: the evidence of both, and the lower confidence.
fn merge_meta(a: &RowMeta, b: &RowMeta, score: f64, now: Timestamp) -> RowMeta {
    let union = |a: &[String], b: &[String]| {
        let mut ids = a.to_vec();
        ids.extend(b.iter().filter(|id| !a.contains(id)).cloned());
        ids
    };
    RowMeta {
        source_ids: union(&a.source_ids, &b.source_ids),
        evidence_ids: union(&a.evidence_ids, &b.evidence_ids),
        provenance: Provenance::Inferred,
        confidence: score.min(a.confidence).min(b.confidence),
        created_at: now,
        updated_at: now,
    }
}

/// The result of searching for the other side of a transaction.
enum MatchResult {
    /// No candidate, or the candidate is matched already.
    None,
    /// Exactly one candidate, and whether one side names the account of the other.
    Unique(Box<Transaction>, bool),
    /// Several candidates, or a candidate with several.
    Ambiguous(Vec<String>),
}

fn match_transaction(
    sql: &mut dyn Sql,
    own_accounts: &OwnAccounts,
    row: &Transaction,
) -> Result<MatchResult> {
    if !row.status.affects_totals() || row.amount.is_zero() || is_paired(sql, row)? {
        return Ok(MatchResult::None);
    }
    let candidates = match find_candidates(sql, own_accounts, row)? {
        None => return Ok(MatchResult::Ambiguous(vec!["one of too many candidates".to_owned()])),
        Some(candidates) => candidates,
    };
    let ids = |candidates: &[(Transaction, bool)]| {
        candidates.iter().map(|(candidate, _)| candidate.id.as_str().to_owned()).collect()
    };
    let [(candidate, is_named)] = candidates.as_slice() else {
        return Ok(if candidates.is_empty() {
            MatchResult::None
        } else {
            MatchResult::Ambiguous(ids(&candidates))
        });
    };
    match find_candidates(sql, own_accounts, candidate)?.as_deref() {
        Some([(reverse_candidate, _)]) if reverse_candidate.id == row.id => {
            Ok(MatchResult::Unique(Box::new(candidate.clone()), *is_named))
        }
        _ => Ok(MatchResult::Ambiguous(vec![format!(
            "{}, which is also a candidate for others",
            candidate.id
        )])),
    }
}

/// The candidates for the other side; only the named ones, if there are any. `None` if there are more than
/// [`MAX_TRANSFER_CANDIDATES`](limits::MAX_TRANSFER_CANDIDATES).
pub(crate) fn find_candidates(
    sql: &mut dyn Sql,
    own_accounts: &OwnAccounts,
    row: &Transaction,
) -> Result<Option<Vec<(Transaction, bool)>>> {
    let hint = load_hint(sql, row.id.as_str())?;
    let named_account = hint
        .as_ref()
        .and_then(|hint| own_accounts.find_by_number(hint.counterpart_number.as_deref()?, row.currency));
    let accounts = match named_account {
        Some(account) if account != row.account_id.as_str() => vec![account.to_owned()],
        _ => own_accounts.others_in_currency(row.account_id.as_str(), row.currency),
    };
    let candidate_ids = find_same_amount(sql, row, &accounts)?;
    if candidate_ids.len() > limits::MAX_TRANSFER_CANDIDATES {
        return Ok(None);
    }
    let mut accepted = Vec::new();
    for candidate in entity::find_many::<Transaction>(sql, &candidate_ids)? {
        if !candidate.status.affects_totals() || is_paired(sql, &candidate)? {
            continue;
        }
        let candidate_hint = load_hint(sql, candidate.id.as_str())?;
        let has_hint = hint.is_some() || candidate_hint.is_some();
        let (names_candidate, names_row) = (
            hint_matches(own_accounts, hint.as_ref(), candidate.account_id.as_str(), row.currency),
            hint_matches(own_accounts, candidate_hint.as_ref(), row.account_id.as_str(), row.currency),
        );
        if let (true, Some(names_candidate), Some(names_row)) = (has_hint, names_candidate, names_row) {
            accepted.push((candidate, names_candidate || names_row));
        }
    }
    if accepted.iter().any(|(_, is_named)| *is_named) {
        accepted.retain(|(_, is_named)| *is_named);
    }
    Ok(Some(accepted))
}

/// Whether a hint names this account. `None` if it names another one.
fn hint_matches(
    own_accounts: &OwnAccounts,
    hint: Option<&TransferHint>,
    account: &str,
    currency: Currency,
) -> Option<bool> {
    let Some(number) = hint.and_then(|hint| hint.counterpart_number.as_deref()) else { return Some(false) };
    match own_accounts.find_by_number(number, currency) {
        Some(named_account) => (named_account == account).then_some(true),
        None => own_accounts.has_no_number(account).then_some(false),
    }
}

/// Transactions on these accounts with the same amount and the opposite direction, within some days, by id.
fn find_same_amount(sql: &mut dyn Sql, row: &Transaction, accounts: &[String]) -> Result<Vec<String>> {
    let window_ms = limits::TRANSFER_DAYS * calendar::DAY_MS;
    let tenant = sql.tenant().as_str().to_owned();
    let opposite_effect = if row.effect == Effect::Debit { Effect::Credit } else { Effect::Debit };
    let mut ids = Vec::new();
    for chunk in batch::chunks(accounts) {
        let query = format!(
            "SELECT id FROM brain_transaction WHERE tenant_id = $1 AND transaction_date >= $2 AND transaction_date <= $3 \
             AND amount_units = $4 AND amount_nanos = $5 AND effect = $6 AND account_id IN ({}) LIMIT $7",
            batch::placeholders(chunk.len(), 8)
        );
        let mut cells: Vec<Cell> = vec![
            tenant.as_str().into(),
            row.transaction_date.plus_ms(-window_ms).into(),
            row.transaction_date.plus_ms(window_ms).into(),
            row.amount.units().into(),
            i64::from(row.amount.nanos()).into(),
            opposite_effect.as_str().into(),
            (limits::MAX_TRANSFER_CANDIDATES as i64 + 1).into(),
        ];
        cells.extend(chunk.iter().map(|account| account.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            ids.push(row.text(0)?.to_owned());
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

fn load_hint(sql: &mut dyn Sql, transaction: &str) -> Result<Option<TransferHint>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT transaction_id, transaction_date, named FROM brain_transfer_waiting \
         WHERE tenant_id = $1 AND transaction_id = $2",
        params![tenant, transaction],
    )?;
    row.map(|row| {
        Ok(TransferHint {
            transaction_id: row.text(0)?.to_owned(),
            transaction_date: Timestamp(row.int(1)?),
            counterpart_number: row.opt_text(2)?.map(str::to_owned),
        })
    })
    .transpose()
}

fn is_paired(sql: &mut dyn Sql, row: &Transaction) -> Result<bool> {
    Ok(transfer::find_by_side(sql, row)?.is_some())
}
