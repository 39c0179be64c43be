//! Pairing: which two transactions are the two sides of one transfer between own accounts.
//!
//! A transaction *says* that it is a side when its bank calls it a transfer or names an own account. Its other side has the
//! same amount and currency, goes the other way, lies on another own account and within [`limits::TRANSFER_DAYS`]. Two are
//! paired only if neither could belong to a third: a wrong pair would hide spending, a missing one is merely seen. Equal
//! amounts alone are no sign, since people pay and earn round sums every week.

use quad_core::{Result, Timestamp};
use quad_statements::Currency;
use quad_store::{Sql, Tx, Value as Cell, batch, params};

use crate::ids::{MatchId, TransferId};
use crate::money::spoken;
use crate::noun::{self, Noun as _, Share};
use crate::own::OwnAccounts;
use crate::reconciliation::{self, Match, MatchStatus, Side};
use crate::standing::{Provenance, Standing};
use crate::tags::Touched;
use crate::transaction::{Effect, Transaction};
use crate::transfer::{self, Transfer};
use crate::{civil, limits};

/// How sure a pair is whose sides name each other's account, and one that rests on amount and day.
const NAMED_CONFIDENCE: f64 = 0.9;
const LIKELY_CONFIDENCE: f64 = 0.8;

/// That a transaction says it is one side of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    pub transaction_id: String,
    pub transaction_date: Timestamp,
    /// The number of the other account, if it names one.
    pub named: Option<String>,
}

/// Remembers transactions that wait for their other side.
pub(crate) fn wait(tx: &mut Tx<'_>, signs: &[Sign]) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    for piece in batch::pieces(signs) {
        let statement = format!(
            "INSERT INTO brain_transfer_waiting (tenant_id, transaction_id, transaction_date, named) VALUES {} \
             ON CONFLICT DO NOTHING",
            batch::rows(piece.len(), 2, 3, "$1")
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
        for sign in piece {
            cells.push(sign.transaction_id.as_str().into());
            cells.push(sign.transaction_date.into());
            cells.push(sign.named.as_deref().map_or(Cell::Null, Cell::from));
        }
        tx.execute(&statement, &cells)?;
    }
    Ok(())
}

/// A transaction that has found its other side waits no longer.
pub(crate) fn settle(tx: &mut Tx<'_>, transaction: &str) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "DELETE FROM brain_transfer_waiting WHERE tenant_id = $1 AND transaction_id = $2",
        params![tenant, transaction],
    )?;
    Ok(())
}

/// Two transactions that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    waiting: String,
    other: String,
}

/// What a look at waiting transactions has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub pairs: Vec<Pair>,
    /// Those that could belong to several, a sentence each.
    pub ambiguous: Vec<String>,
    /// Where the next look begins.
    pub next: Option<(Timestamp, String)>,
}

/// Looks for the other sides of transactions that wait, within some days and after `after`.
pub(crate) fn look(
    sql: &mut dyn Sql,
    own: &OwnAccounts,
    (first, last): (Timestamp, Timestamp),
    after: Option<&(Timestamp, String)>,
) -> Result<Found> {
    let reach = limits::TRANSFER_DAYS * civil::DAY_MS;
    let start = (first.plus_ms(-reach), String::new());
    let (from, id) = after.unwrap_or(&start);
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT transaction_id, transaction_date FROM brain_transfer_waiting WHERE tenant_id = $1 \
         AND (transaction_date, transaction_id) > ($2, $3) AND transaction_date <= $4 \
         ORDER BY transaction_date, transaction_id LIMIT $5",
        params![tenant, *from, id.as_str(), last.plus_ms(reach), limits::TRANSFERS_LOOKED_AT as i64],
    )?;
    let mut found = Found::default();
    let mut taken: Vec<String> = Vec::new();
    for row in &rows {
        let id = row.text(0)?;
        let Some(row) = noun::find::<Transaction>(sql, id)? else { continue };
        match verdict(sql, own, &row)? {
            Verdict::Alone => {}
            Verdict::Several(others) => found.ambiguous.push(sentence(&row, &others)),
            // Both sides may say so; once is enough.
            Verdict::With(..) if taken.iter().any(|taken| taken == row.id.as_str()) => {}
            Verdict::With(other, _) => {
                taken.push(other.id.as_str().to_owned());
                found.pairs.push(Pair { waiting: id.to_owned(), other: other.id.as_str().to_owned() });
            }
        }
    }
    if rows.len() == limits::TRANSFERS_LOOKED_AT
        && let Some(last) = rows.last()
    {
        found.next = Some((Timestamp(last.int(1)?), last.text(0)?.to_owned()));
    }
    Ok(found)
}

fn sentence(row: &Transaction, others: &[String]) -> String {
    let (day, amount) = (civil::date(row.transaction_date), spoken(row.amount, row.currency));
    format!(
        "the transfer of {amount} on {day} ({}) stays unpaired: it could be that of {}",
        row.id,
        others.join(" or ")
    )
}

/// Records pairs that a look has found. What has changed since is left alone; says how many were recorded.
pub(crate) fn pair(tx: &mut Tx<'_>, own: &OwnAccounts, pairs: &[Pair]) -> Result<usize> {
    tx.lock("brain")?;
    let mut touched = Touched::default();
    let mut paired = 0;
    for pair in pairs {
        let Some(row) = noun::find::<Transaction>(tx, &pair.waiting)? else { continue };
        let Verdict::With(other, named) = verdict(tx, own, &row)? else { continue };
        if other.id.as_str() != pair.other {
            continue;
        }
        let (from, to) = if row.effect == Effect::Debit { (row, *other) } else { (*other, row) };
        record(tx, &from, &to, if named { NAMED_CONFIDENCE } else { LIKELY_CONFIDENCE }, &mut touched)?;
        paired += 1;
    }
    tx.output("paired", paired);
    touched.touch(tx);
    Ok(paired)
}

/// One movement: a transfer, and a match by which each side vouches for the other.
fn record(
    tx: &mut Tx<'_>,
    from: &Transaction,
    to: &Transaction,
    score: f64,
    touched: &mut Touched,
) -> Result<()> {
    let standing = together(&from.standing, &to.standing, score, tx.now());
    let transfer = Transfer {
        id: TransferId::generate()?,
        from_account_id: from.account_id.clone(),
        to_account_id: to.account_id.clone(),
        from_transaction_id: from.id.clone(),
        to_transaction_id: to.id.clone(),
        amount: from.amount,
        currency: from.currency,
        transfer_date: from.transaction_date.min(to.transaction_date),
        standing: standing.clone(),
    };
    transfer::create(tx, &transfer, touched)?;
    let matched = Match {
        id: MatchId::generate()?,
        match_type: Transfer::KIND.to_owned(),
        left_kind: Side::Transaction,
        left_id: from.id.as_str().to_owned(),
        right_kind: Side::Transaction,
        right_id: to.id.as_str().to_owned(),
        confidence_score: Share(score),
        status: MatchStatus::Matched,
        explanation: Some(format!("two sides of the transfer {}", transfer.id)),
        standing,
    };
    reconciliation::create(tx, &matched, touched)?;
    Ok(())
}

/// The standing of what was inferred from two rows: it cites what both cite, and is no surer than either.
fn together(one: &Standing, other: &Standing, score: f64, now: Timestamp) -> Standing {
    let both = |one: &[String], other: &[String]| {
        let mut ids = one.to_vec();
        ids.extend(other.iter().filter(|id| !one.contains(id)).cloned());
        ids
    };
    Standing {
        source_ids: both(&one.source_ids, &other.source_ids),
        evidence_ids: both(&one.evidence_ids, &other.evidence_ids),
        provenance: Provenance::Inferred,
        confidence: score.min(one.confidence).min(other.confidence),
        created_at: now,
        updated_at: now,
    }
}

/// What can be said of the other side of a transaction.
enum Verdict {
    /// It is not there, or it is found already.
    Alone,
    /// It is this one; and whether one of them names the account of the other.
    With(Box<Transaction>, bool),
    /// It could be one of several, or it could be that of several.
    Several(Vec<String>),
}

fn verdict(sql: &mut dyn Sql, own: &OwnAccounts, row: &Transaction) -> Result<Verdict> {
    if !row.status.counts() || row.amount.is_zero() || is_paired(sql, row)? {
        return Ok(Verdict::Alone);
    }
    let others = match others(sql, own, row)? {
        None => return Ok(Verdict::Several(vec!["more than can be looked at".to_owned()])),
        Some(others) => others,
    };
    let ids = |others: &[(Transaction, bool)]| {
        others.iter().map(|(other, _)| other.id.as_str().to_owned()).collect()
    };
    let [(other, named)] = others.as_slice() else {
        return Ok(if others.is_empty() { Verdict::Alone } else { Verdict::Several(ids(&others)) });
    };
    match self::others(sql, own, other)?.as_deref() {
        Some([(back, _)]) if back.id == row.id => Ok(Verdict::With(Box::new(other.clone()), *named)),
        _ => Ok(Verdict::Several(vec![format!("{}, which others could be of too", other.id)])),
    }
}

/// The transactions that could be the other side of one, only those that are named if there are any; `None` if they are too
/// many to tell.
pub(crate) fn others(
    sql: &mut dyn Sql,
    own: &OwnAccounts,
    row: &Transaction,
) -> Result<Option<Vec<(Transaction, bool)>>> {
    let sign = sign_of(sql, row.id.as_str())?;
    let named = sign.as_ref().and_then(|sign| own.named(sign.named.as_deref()?, row.currency));
    let accounts = match named {
        Some(account) if account != row.account_id.as_str() => vec![account.to_owned()],
        _ => own.beside(row.account_id.as_str(), row.currency),
    };
    let candidates = alike(sql, row, &accounts)?;
    if candidates.len() > limits::TRANSFER_CANDIDATES {
        return Ok(None);
    }
    let mut others = Vec::new();
    for candidate in noun::find_many::<Transaction>(sql, &candidates)? {
        if !candidate.status.counts() || is_paired(sql, &candidate)? {
            continue;
        }
        let its_sign = sign_of(sql, candidate.id.as_str())?;
        let says = sign.is_some() || its_sign.is_some();
        let (there, back) = (
            means(own, sign.as_ref(), candidate.account_id.as_str(), row.currency),
            means(own, its_sign.as_ref(), row.account_id.as_str(), row.currency),
        );
        if let (true, Some(there), Some(back)) = (says, there, back) {
            others.push((candidate, there || back));
        }
    }
    if others.iter().any(|(_, named)| *named) {
        others.retain(|(_, named)| *named);
    }
    Ok(Some(others))
}

/// Whether a sign names that account; `None` if it names another one.
fn means(own: &OwnAccounts, sign: Option<&Sign>, account: &str, currency: Currency) -> Option<bool> {
    let Some(number) = sign.and_then(|sign| sign.named.as_deref()) else { return Some(false) };
    match own.named(number, currency) {
        Some(named) => (named == account).then_some(true),
        None => own.may_be(account).then_some(false),
    }
}

/// Transactions on these accounts of the same amount that went the other way, some days before and after; by id.
fn alike(sql: &mut dyn Sql, row: &Transaction, accounts: &[String]) -> Result<Vec<String>> {
    let reach = limits::TRANSFER_DAYS * civil::DAY_MS;
    let tenant = sql.tenant().as_str().to_owned();
    let other_way = if row.effect == Effect::Debit { Effect::Credit } else { Effect::Debit };
    let mut found = Vec::new();
    for piece in batch::pieces(accounts) {
        let query = format!(
            "SELECT id FROM brain_transaction WHERE tenant_id = $1 AND transaction_date >= $2 AND transaction_date <= $3 \
             AND amount_units = $4 AND amount_nanos = $5 AND effect = $6 AND account_id IN ({}) LIMIT $7",
            batch::list(piece.len(), 8)
        );
        let mut cells: Vec<Cell> = vec![
            tenant.as_str().into(),
            row.transaction_date.plus_ms(-reach).into(),
            row.transaction_date.plus_ms(reach).into(),
            row.amount.units().into(),
            i64::from(row.amount.nanos()).into(),
            other_way.as_str().into(),
            (limits::TRANSFER_CANDIDATES as i64 + 1).into(),
        ];
        cells.extend(piece.iter().map(|account| account.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            found.push(row.text(0)?.to_owned());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn sign_of(sql: &mut dyn Sql, transaction: &str) -> Result<Option<Sign>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT transaction_id, transaction_date, named FROM brain_transfer_waiting \
         WHERE tenant_id = $1 AND transaction_id = $2",
        params![tenant, transaction],
    )?;
    row.map(|row| {
        Ok(Sign {
            transaction_id: row.text(0)?.to_owned(),
            transaction_date: Timestamp(row.int(1)?),
            named: row.opt_text(2)?.map(str::to_owned),
        })
    })
    .transpose()
}

fn is_paired(sql: &mut dyn Sql, row: &Transaction) -> Result<bool> {
    Ok(transfer::of(sql, row)?.is_some())
}
