//! Applies lines of a load, or a typed row, to the ledger.
//!
//! Every line has a `kind`. A row whose id exists is left unchanged, so that a load can be run again. With
//! `"operation": "upsert"` an existing row is replaced as a whole: fields that the line omits get their defaults.

use std::collections::BTreeSet;

use quad_core::{Error, Kind, Result};
use quad_store::Tx;
use serde_json::{Map, Value};

use crate::account::Account;
use crate::balance::{self, Snapshot};
use crate::category::Category;
use crate::counterparty::{self, Counterparty};
use crate::entity::{self, Entity};
use crate::field::Field as _;
use crate::invoice::{self, Invoice};
use crate::obligation::{self, Obligation};
use crate::payment_intent::{self, PaymentIntent};
use crate::policy::{self, Policy};
use crate::posting::{self, PostingCounts};
use crate::reconciliation::{self, Match};
use crate::row_meta::RowMeta;
use crate::tags::TouchedTags;
use crate::transaction::Transaction;
use crate::transfer::{self, Transfer};
use crate::{errors, raw};

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

/// The kinds that support `"operation": "upsert"`.
const UPSERT_KINDS: &[&str] =
    &["transaction", "counterparty", "obligation", "invoice", "payment_intent", "policy"];

/// The result of applying lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCounts {
    /// Inserted rows.
    pub created: usize,
    /// Changed rows.
    pub updated: usize,
    /// Rows that existed already.
    pub skipped: usize,
}

impl LoadCounts {
    fn created_or_skipped(created: bool) -> LoadCounts {
        LoadCounts { created: usize::from(created), updated: 0, skipped: usize::from(!created) }
    }
}

impl From<PostingCounts> for LoadCounts {
    fn from(counts: PostingCounts) -> LoadCounts {
        LoadCounts { created: counts.added, updated: counts.updated, skipped: counts.unchanged }
    }
}

impl std::ops::AddAssign for LoadCounts {
    fn add_assign(&mut self, other: LoadCounts) {
        self.created += other.created;
        self.updated += other.updated;
        self.skipped += other.skipped;
    }
}

/// A line with its number in the file.
pub(crate) type NumberedLine = (usize, Map<String, Value>);

/// Applies lines in order, in one transaction. Consecutive transactions are posted together.
pub(crate) fn apply_lines(tx: &mut Tx<'_>, lines: &[NumberedLine], defaults: &RowMeta) -> Result<LoadCounts> {
    tx.lock("brain")?;
    let mut touched = TouchedTags::default();
    let mut counts = LoadCounts::default();
    let mut pending: Vec<Transaction> = Vec::new();
    let mut first_pending = 0;
    for (number, line) in lines {
        let kind = line
            .get("kind")
            .and_then(Value::as_str)
            .ok_or_else(|| with_line(*number, errors::missing("kind")))?;
        if kind == Transaction::KIND && !is_upsert(line) {
            let row = RowMeta::from_line(line, defaults).and_then(|meta| Transaction::parse_line(line, meta));
            if pending.is_empty() {
                first_pending = *number;
            }
            pending.push(row.map_err(|error| with_line(*number, error))?);
            continue;
        }
        counts += post_pending(tx, &mut pending, first_pending, &mut touched)?;
        counts +=
            apply_line(tx, kind, line, defaults, &mut touched).map_err(|error| with_line(*number, error))?;
    }
    counts += post_pending(tx, &mut pending, first_pending, &mut touched)?;
    touched.touch(tx);
    Ok(counts)
}

fn post_pending(
    tx: &mut Tx<'_>,
    pending: &mut Vec<Transaction>,
    number: usize,
    touched: &mut TouchedTags,
) -> Result<LoadCounts> {
    if pending.is_empty() {
        return Ok(LoadCounts::default());
    }
    check_counterparties(tx, pending).map_err(|error| with_line(number, error))?;
    let counts = posting::post(tx, pending, touched).map_err(|error| with_line(number, error))?;
    pending.clear();
    Ok(counts.into())
}

fn is_upsert(line: &Map<String, Value>) -> bool {
    line.get("operation").and_then(Value::as_str) == Some("upsert")
}

/// Adds the line number to an error.
fn with_line(number: usize, error: Error) -> Error {
    if error.may_pass() || number == 0 {
        return error;
    }
    let (kind, code) = (error.kind(), error.code().to_owned());
    // A missing row is invalid input here, not a missing address.
    let kind = if kind == Kind::NotFound { Kind::BadInput } else { kind };
    let wrapped =
        Error::new(kind, code, format!("line {number}: {}", error.message())).with_detail("line", number);
    match error.hint_text() {
        Some(hint) => wrapped.hint(hint),
        None => wrapped,
    }
}

fn apply_line(
    tx: &mut Tx<'_>,
    kind: &str,
    line: &Map<String, Value>,
    defaults: &RowMeta,
    touched: &mut TouchedTags,
) -> Result<LoadCounts> {
    let meta = RowMeta::from_line(line, defaults)?;
    let is_upsert = is_upsert(line);
    if is_upsert && KINDS.contains(&kind) && !UPSERT_KINDS.contains(&kind) {
        return Err(errors::invalid("operation", format!("upsert is not supported for {kind}")));
    }
    let counts = LoadCounts::created_or_skipped;
    match kind {
        "account" => Account::insert_from_line(tx, line, meta, touched).map(counts),
        "balance" => balance::record(tx, Snapshot::from_line(line, meta)?, touched).map(counts),
        "category" => insert_simple(tx, &Category::from_line(line, meta)?, touched).map(counts),
        "transfer" => transfer::create(tx, &Transfer::from_line(line, meta)?, touched).map(counts),
        "match" => reconciliation::create(tx, &Match::from_line(line, meta)?, touched).map(counts),
        "transaction" => save_transaction(tx, Transaction::parse_line(line, meta)?, touched),
        "counterparty" => {
            save_row(tx, Counterparty::parse_line(line, meta)?, is_upsert, counterparty::save, touched)
        }
        "obligation" => {
            save_row(tx, Obligation::parse_line(line, meta)?, is_upsert, obligation::save, touched)
        }
        "invoice" => save_row(tx, Invoice::parse_line(line, meta)?, is_upsert, invoice::save, touched),
        "payment_intent" => {
            save_row(tx, PaymentIntent::parse_line(line, meta)?, is_upsert, payment_intent::save, touched)
        }
        "policy" => save_row(tx, Policy::parse_line(line, meta)?, is_upsert, policy::save, touched),
        other => Err(errors::unknown("kind of line", "kind", other, KINDS)),
    }
}

/// Inserts a row, or replaces it if the line asks for that and the row exists. A replaced row keeps its creation time.
fn save_row<N: Entity>(
    tx: &mut Tx<'_>,
    mut row: N,
    is_upsert: bool,
    save: impl Fn(&mut Tx<'_>, Option<&N>, &N, &mut TouchedTags) -> Result<bool>,
    touched: &mut TouchedTags,
) -> Result<LoadCounts> {
    let old = if is_upsert { entity::find::<N>(tx, row.id_text())? } else { None };
    let Some(old) = old else {
        return Ok(LoadCounts::created_or_skipped(save(tx, None, &row, touched)?));
    };
    row.meta_mut().created_at = old.meta().created_at;
    row.meta_mut().updated_at = tx.now();
    save(tx, Some(&old), &row, touched)?;
    Ok(LoadCounts { updated: 1, ..LoadCounts::default() })
}

/// Replaces a transaction, or posts it if its id is new. Transactions without `upsert` are posted in batches instead.
fn save_transaction(tx: &mut Tx<'_>, mut row: Transaction, touched: &mut TouchedTags) -> Result<LoadCounts> {
    check_counterparties(tx, std::slice::from_ref(&row))?;
    let Some(old) = entity::find::<Transaction>(tx, row.id.as_str())? else {
        return Ok(posting::post(tx, &[row], touched)?.into());
    };
    row.meta.created_at = old.meta.created_at;
    row.meta.updated_at = tx.now();
    posting::replace(tx, &row, touched)?;
    Ok(LoadCounts { updated: 1, ..LoadCounts::default() })
}

/// Checks that the counterparties of transactions exist.
fn check_counterparties(tx: &mut Tx<'_>, rows: &[Transaction]) -> Result<()> {
    let ids: BTreeSet<&str> =
        rows.iter().filter_map(|row| row.counterparty_id.as_ref()).map(|id| id.as_str()).collect();
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    let existing = entity::existing_ids::<Counterparty>(tx, &ids)?;
    match ids.iter().find(|id| !existing.contains(*id)) {
        None => Ok(()),
        Some(missing) => Err(errors::row_not_found(Counterparty::KIND, missing)),
    }
}

fn insert_simple<N: Entity>(tx: &mut Tx<'_>, row: &N, touched: &mut TouchedTags) -> Result<bool> {
    let added = entity::insert(tx, row)?;
    if added {
        raw::mark_cited(tx, row.meta())?;
        touched.row(N::KIND, row.id_text());
    }
    Ok(added)
}

/// The id in a line.
pub(crate) fn id_of(line: &Map<String, Value>) -> Option<String> {
    line.get("id").and_then(Value::as_str).map(str::to_owned)
}

/// The id in a line. Adds a generated one if the line has none, so that the caller knows it.
pub(crate) fn ensure_id(line: &mut Map<String, Value>) -> Result<String> {
    if let Some(id) = id_of(line) {
        return Ok(id);
    }
    use crate::ids as i;
    let id = match line.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "account" => i::AccountId::generate()?.to_json(),
        "transaction" => i::TransactionId::generate()?.to_json(),
        "counterparty" => i::CounterpartyId::generate()?.to_json(),
        "obligation" => i::ObligationId::generate()?.to_json(),
        "invoice" => i::InvoiceId::generate()?.to_json(),
        other => return Err(errors::unknown("kind that can be added", "kind", other, KINDS)),
    };
    line.insert("id".into(), id.clone());
    Ok(id.as_str().unwrap_or_default().to_owned())
}
