//! Obligations: what is owed, to the tenant or by the tenant.

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx};
use serde_json::{Map, Value};

use crate::calendar;
use crate::counterparty::Counterparty;
use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::ids::CounterpartyId;
use crate::keyset::{IndexRange, Key, RowSource as _, SortValue};
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;
use crate::total::{self, Deltas, Subject};

string_enum!(
    /// The type of an obligation.
    ObligationType, "obligation type" {
        Bill = "bill", Invoice = "invoice", Subscription = "subscription", Loan = "loan", Rent = "rent",
        Payroll = "payroll", Tax = "tax", CardStatement = "card_statement", Dispute = "dispute", Other = "other",
    }
);
string_enum!(
    /// The status of an obligation.
    ObligationStatus, "obligation status" {
        Upcoming = "upcoming", Due = "due", Paid = "paid", Overdue = "overdue", Cancelled = "cancelled",
        Disputed = "disputed",
    }
);
string_enum!(
    /// Who owes.
    ObligationDirection, "obligation direction" { Payable = "payable", Receivable = "receivable" }
);

impl ObligationStatus {
    /// Whether it is unpaid and not cancelled or disputed.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, ObligationStatus::Upcoming | ObligationStatus::Due | ObligationStatus::Overdue)
    }
}

/// The open statuses.
pub(crate) const OPEN: [ObligationStatus; 3] =
    [ObligationStatus::Upcoming, ObligationStatus::Due, ObligationStatus::Overdue];

entity!(
    /// A stored obligation.
    Obligation, "obligation" in "brain_obligation" as ObligationId {
        kind ["type"]: ObligationType,
        counterparty_id: CounterpartyId,
        amount_due: Amount,
        minimum_due: Option<Amount>,
        currency: Currency,
        due_date: Timestamp,
        recurrence: Option<String>,
        status: ObligationStatus,
        linked_transaction_ids: Vec<String>,
        direction: Option<ObligationDirection>,
        metadata: Map<String, Value>,
    }
);

impl Obligation {
    /// The URI of an obligation.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/obligations/{id}")
    }

    /// The key in lists by due date.
    pub(crate) fn key(&self) -> Key {
        Key { sort: SortValue::Time(self.due_date.0), id: self.id.as_str().to_owned() }
    }

    /// Whether it is open and past its due date.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        self.status == ObligationStatus::Overdue
            || (self.status.is_open() && self.due_date < calendar::day_start(now))
    }

    /// The direction; payable if none is stored.
    pub(crate) fn direction_or_payable(&self) -> ObligationDirection {
        self.direction.unwrap_or(ObligationDirection::Payable)
    }

    /// Parses a line of a file.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Obligation> {
        let mut line = line.clone();
        line.entry("type").or_insert_with(|| ObligationType::Bill.to_json());
        line.entry("status").or_insert_with(|| ObligationStatus::Upcoming.to_json());
        Obligation::from_line(&line, meta)
    }

    fn add_to_totals(&self, sign: i64, deltas: &mut Deltas) {
        if !self.status.is_open() {
            return;
        }
        let change = (sign, self.amount_due.total_nanos() * i128::from(sign));
        let direction = self.direction_or_payable().as_str();
        deltas.add((Subject::Everything, ""), total::OPEN, self.currency, direction, change);
        let counterparty = (Subject::Counterparty, self.counterparty_id.as_str());
        deltas.add(counterparty, total::OPEN, self.currency, direction, change);
    }
}

/// Inserts an obligation, or replaces `old` by it, and keeps the totals of open obligations. Its counterparty must
/// exist. False if an insert finds its id taken.
pub(crate) fn save(
    tx: &mut Tx<'_>,
    old: Option<&Obligation>,
    new: &Obligation,
    touched: &mut TouchedTags,
) -> Result<bool> {
    if old.is_none_or(|old| old.counterparty_id != new.counterparty_id) {
        entity::get::<Counterparty>(tx, new.counterparty_id.as_str())?;
    }
    if !entity::insert_or_update(tx, old, new)? {
        return Ok(false);
    }
    let mut deltas = Deltas::default();
    if let Some(old) = old {
        old.add_to_totals(-1, &mut deltas);
    }
    new.add_to_totals(1, &mut deltas);
    deltas.write(tx)?;
    crate::raw::mark_cited(tx, &new.meta)?;
    for row in old.into_iter().chain([new]) {
        touched.row(Obligation::KIND, row.id.as_str());
        touched.row(Counterparty::KIND, row.counterparty_id.as_str());
    }
    // The list shows the type of an obligation.
    if old.is_none_or(|old| old.kind != new.kind) {
        touched.listing();
    }
    Ok(true)
}

/// A filter of obligations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub status: Option<ObligationStatus>,
    pub kind: Option<ObligationType>,
    pub counterparty_id: Option<String>,
    pub due_after: Option<Timestamp>,
    pub due_before: Option<Timestamp>,
}

impl Filter {
    /// A page by due date.
    pub(crate) fn page(
        &self,
        sql: &mut dyn Sql,
        after: Option<Key>,
        limit: usize,
    ) -> Result<(Vec<Obligation>, Option<Key>)> {
        let mut range =
            IndexRange::order_by("due_date", false).at_least(self.due_after).at_most(self.due_before);
        if let Some(counterparty) = &self.counterparty_id {
            range = range.equal("counterparty_id", counterparty.as_str());
        } else if let Some(status) = self.status {
            range = range.equal("status", status.as_str());
        } else if let Some(kind) = self.kind {
            range = range.equal("kind", kind.as_str());
        }
        range.page(sql, after, limit, Obligation::key, |row: &Obligation| {
            self.status.is_none_or(|status| row.status == status)
                && self.kind.is_none_or(|kind| row.kind == kind)
        })
    }
}

/// Open obligations by due date, of one counterparty or of all, within bounds.
pub(crate) fn list_open(
    sql: &mut dyn Sql,
    counterparty: Option<&str>,
    due_after: Option<Timestamp>,
    due_before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<Obligation>> {
    let mut rows: Vec<Obligation> = Vec::new();
    if let Some(counterparty) = counterparty {
        let range = IndexRange::order_by("due_date", false)
            .equal("counterparty_id", counterparty)
            .at_least(due_after)
            .at_most(due_before);
        let is_open = |row: &Obligation| row.status.is_open();
        return Ok(range.page(sql, None, limit, Obligation::key, is_open)?.0);
    }
    for status in OPEN {
        let range = IndexRange::order_by("due_date", false)
            .equal("status", status.as_str())
            .at_least(due_after)
            .at_most(due_before);
        rows.extend(range.rows::<Obligation>(sql, None, limit)?);
    }
    rows.sort_by(|a, b| (a.due_date, &a.id).cmp(&(b.due_date, &b.id)));
    rows.truncate(limit);
    Ok(rows)
}
