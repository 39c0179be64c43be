//! Booking: a line of a file, or what a person typed, becomes rows of the ledger.
//!
//! Every line says its `kind`. A row whose id is there is left as it is, so that a load can simply be run again; a line with
//! `"operation": "upsert"` puts its row in the place of the one that is there.

use quad_core::{Error, Kind, Result};
use quad_store::Tx;
use serde_json::{Map, Value};

use crate::account::Account;
use crate::balance::{self, Snapshot};
use crate::category::Category;
use crate::counterparty::{self, Counterparty};
use crate::invoice::{self, Invoice};
use crate::noun::{self, Field as _, Noun};
use crate::obligation::{self, Obligation};
use crate::payment_intent::{self, PaymentIntent};
use crate::policy::{self, Policy};
use crate::posting::{self, Posted};
use crate::reconciliation::{self, Match};
use crate::standing::Standing;
use crate::tags::Touched;
use crate::transaction::Transaction;
use crate::transfer::{self, Transfer};
use crate::{raw, refusal};

/// The kinds of lines.
pub(crate) const KINDS: &[&str] = &[
    "account",
    "balance",
    "transaction",
    "counterparty",
    "obligation",
    "invoice",
    "category",
    "transfer",
    "match",
    "payment_intent",
    "policy",
    "raw",
];

/// What lines have become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Booked {
    /// Rows that were not there.
    pub created: usize,
    /// Rows that have changed.
    pub updated: usize,
    /// Rows that were there already.
    pub skipped: usize,
}

impl std::ops::AddAssign for Booked {
    fn add_assign(&mut self, other: Booked) {
        self.created += other.created;
        self.updated += other.updated;
        self.skipped += other.skipped;
    }
}

/// A line with its number in the file.
pub(crate) type Numbered = (usize, Map<String, Value>);

/// Books lines in their order, in one transaction. Transactions that follow one another are posted together.
pub(crate) fn book(tx: &mut Tx<'_>, lines: &[Numbered], otherwise: &Standing) -> Result<Booked> {
    tx.lock("brain")?;
    let mut touched = Touched::default();
    let mut booked = Booked::default();
    let mut waiting: Vec<Transaction> = Vec::new();
    let mut first_waiting = 0;
    for (number, line) in lines {
        let kind =
            line.get("kind").and_then(Value::as_str).ok_or_else(|| at(*number, refusal::missing("kind")))?;
        if kind == Transaction::KIND && !is_upsert(line) {
            let row =
                Standing::from_line(line, otherwise).and_then(|standing| Transaction::load(line, standing));
            if waiting.is_empty() {
                first_waiting = *number;
            }
            waiting.push(row.map_err(|error| at(*number, error))?);
            continue;
        }
        booked += post(tx, &mut waiting, first_waiting, &mut touched)?;
        booked += one(tx, kind, line, otherwise, &mut touched).map_err(|error| at(*number, error))?;
    }
    booked += post(tx, &mut waiting, first_waiting, &mut touched)?;
    touched.touch(tx);
    Ok(booked)
}

fn post(
    tx: &mut Tx<'_>,
    waiting: &mut Vec<Transaction>,
    number: usize,
    touched: &mut Touched,
) -> Result<Booked> {
    if waiting.is_empty() {
        return Ok(Booked::default());
    }
    for row in waiting.iter() {
        if let Some(counterparty) = &row.counterparty_id {
            noun::expect::<Counterparty>(tx, counterparty.as_str()).map_err(|error| at(number, error))?;
        }
    }
    let Posted { added, updated, known } =
        posting::post(tx, waiting, touched).map_err(|error| at(number, error))?;
    waiting.clear();
    Ok(Booked { created: added, updated, skipped: known })
}

fn is_upsert(line: &Map<String, Value>) -> bool {
    line.get("operation").and_then(Value::as_str) == Some("upsert")
}

/// Names the line that a refusal is about.
fn at(number: usize, error: Error) -> Error {
    if error.kind() == Kind::Internal || number == 0 {
        return error;
    }
    let (kind, code) = (error.kind(), error.code().to_owned());
    // A missing row is the line's fault, not the caller's address.
    let kind = if kind == Kind::NotFound { Kind::BadInput } else { kind };
    let named = Error::new(kind, code, format!("line {number}: {}", error.message())).fact("line", number);
    match error.next_step() {
        Some(hint) => named.hint(hint),
        None => named,
    }
}

fn one(
    tx: &mut Tx<'_>,
    kind: &str,
    line: &Map<String, Value>,
    otherwise: &Standing,
    touched: &mut Touched,
) -> Result<Booked> {
    let standing = Standing::from_line(line, otherwise)?;
    if is_upsert(line) && upsert(tx, kind, line, standing.clone(), touched)? {
        return Ok(Booked { updated: 1, ..Booked::default() });
    }
    let created = match kind {
        "account" => Account::load(tx, line, standing, touched)?,
        "balance" => balance::record(tx, Snapshot::from_line(line, standing)?, touched)?,
        "transaction" => posting::post(tx, &[Transaction::load(line, standing)?], touched)?.added > 0,
        "counterparty" => counterparty::create(tx, &Counterparty::load(line, standing)?, touched)?,
        "obligation" => obligation::create(tx, &Obligation::load(line, standing)?, touched)?,
        "invoice" => invoice::create(tx, &Invoice::load(line, standing)?, touched)?,
        "category" => plain(tx, &Category::from_line(line, standing)?, touched)?,
        "transfer" => transfer::create(tx, &Transfer::from_line(line, standing)?, touched)?,
        "match" => reconciliation::create(tx, &Match::from_line(line, standing)?, touched)?,
        "payment_intent" => payment_intent::create(tx, &PaymentIntent::load(line, standing)?, touched)?,
        "policy" => policy::create(tx, &Policy::load(line, standing)?, touched)?,
        other => return Err(refusal::unknown("kind of line", "kind", other, KINDS)),
    };
    Ok(if created {
        Booked { created: 1, ..Booked::default() }
    } else {
        Booked { skipped: 1, ..Booked::default() }
    })
}

fn plain<N: Noun>(tx: &mut Tx<'_>, row: &N, touched: &mut Touched) -> Result<bool> {
    let added = noun::insert(tx, row)?;
    if added {
        raw::cite(tx, row.standing())?;
        touched.row(N::KIND, row.id_text());
    }
    Ok(added)
}

/// Puts a row in the place of the one that is there; false if there is none.
fn upsert(
    tx: &mut Tx<'_>,
    kind: &str,
    line: &Map<String, Value>,
    mut standing: Standing,
    touched: &mut Touched,
) -> Result<bool> {
    standing.updated_at = tx.now();
    match kind {
        "transaction" => {
            let row = Transaction::load(line, standing)?;
            let Some(old) = noun::find::<Transaction>(tx, row.id.as_str())? else { return Ok(false) };
            let mut row = row;
            row.standing.created_at = old.standing.created_at;
            posting::amend(tx, &row, touched)?;
        }
        "obligation" => {
            let mut row = Obligation::load(line, standing)?;
            let Some(old) = noun::find::<Obligation>(tx, row.id.as_str())? else { return Ok(false) };
            row.standing.created_at = old.standing.created_at;
            obligation::amend(tx, &row, touched)?;
        }
        "invoice" => return replace(tx, Invoice::load(line, standing)?, touched),
        "counterparty" => return replace(tx, Counterparty::load(line, standing)?, touched),
        "payment_intent" => return replace(tx, PaymentIntent::load(line, standing)?, touched),
        "policy" => return replace(tx, Policy::load(line, standing)?, touched),
        other => {
            return Err(refusal::invalid("operation", format!("upsert is not possible for {other}")));
        }
    }
    Ok(true)
}

fn replace<N: Noun>(tx: &mut Tx<'_>, mut row: N, touched: &mut Touched) -> Result<bool> {
    let Some(old) = noun::find::<N>(tx, row.id_text())? else { return Ok(false) };
    row.standing_mut().created_at = old.standing().created_at;
    noun::update(tx, &row)?;
    raw::cite(tx, row.standing())?;
    touched.row(N::KIND, row.id_text());
    touched.listing();
    Ok(true)
}

/// The id that a line brings, for those who want to say what became of it.
pub(crate) fn id_of(line: &Map<String, Value>) -> Option<String> {
    line.get("id").and_then(Value::as_str).map(str::to_owned)
}

/// Gives a line an id of its kind if it has none, so that its maker knows what it made.
pub(crate) fn with_id(line: &mut Map<String, Value>) -> Result<String> {
    if let Some(id) = id_of(line) {
        return Ok(id);
    }
    use crate::ids as i;
    let id = match line.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "account" => i::AccountId::generate()?.show(),
        "transaction" => i::TransactionId::generate()?.show(),
        "counterparty" => i::CounterpartyId::generate()?.show(),
        "obligation" => i::ObligationId::generate()?.show(),
        "invoice" => i::InvoiceId::generate()?.show(),
        other => return Err(refusal::unknown("kind that can be added", "kind", other, KINDS)),
    };
    line.insert("id".into(), id.clone());
    Ok(id.as_str().unwrap_or_default().to_owned())
}
