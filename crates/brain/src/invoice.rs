//! Invoices and how much of them is paid.

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, params};
use serde_json::{Map, Value};

use crate::counterparty::Counterparty;
use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::ids::CounterpartyId;
use crate::keyset::{IndexRange, RowSource as _};
use crate::money;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;

string_enum!(
    /// The status of an invoice.
    InvoiceStatus, "invoice status" {
        Draft = "draft", Sent = "sent", Partial = "partial", Paid = "paid", Overdue = "overdue", Cancelled = "cancelled",
        Disputed = "disputed",
    }
);

entity!(
    /// A stored invoice.
    Invoice, "invoice" in "brain_invoice" as InvoiceId {
        invoice_number: String,
        counterparty_id: CounterpartyId,
        counterparty_name: Option<String>,
        amount_due: Amount,
        amount_paid: Amount,
        currency: Currency,
        issue_date: Timestamp,
        due_date: Option<Timestamp>,
        status: InvoiceStatus,
        linked_document_ids: Vec<String>,
        linked_transaction_ids: Vec<String>,
        metadata: Map<String, Value>,
    }
);

impl Invoice {
    /// The URI of an invoice.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/invoices/{id}")
    }

    /// The unpaid amount; zero if more was paid than billed.
    pub(crate) fn outstanding(&self) -> Result<Amount> {
        Ok(money::subtract(self.amount_due, self.amount_paid)?.max(Amount::ZERO))
    }

    /// Parses a line of a file.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Invoice> {
        let mut line = line.clone();
        line.entry("amount_paid").or_insert_with(|| "0".into());
        line.entry("status").or_insert_with(|| InvoiceStatus::Sent.to_json());
        Invoice::from_line(&line, meta)
    }
}

/// Inserts an invoice, or replaces `old` by it. Its counterparty must exist. False if an insert finds its id, or its
/// number and counterparty, taken.
pub(crate) fn save(
    tx: &mut Tx<'_>,
    old: Option<&Invoice>,
    new: &Invoice,
    touched: &mut TouchedTags,
) -> Result<bool> {
    entity::get::<Counterparty>(tx, new.counterparty_id.as_str())?;
    if !entity::insert_or_update(tx, old, new)? {
        return Ok(false);
    }
    crate::raw::mark_cited(tx, &new.meta)?;
    touched.row(Invoice::KIND, new.id.as_str());
    // An invoice that moves changes the pages of both counterparties.
    for row in old.into_iter().chain([new]) {
        touched.row(Counterparty::KIND, row.counterparty_id.as_str());
    }
    if old.is_none_or(|old| old.invoice_number != new.invoice_number) {
        touched.listing();
    }
    Ok(true)
}

/// The invoices with this number. Several counterparties may use the same number.
pub(crate) fn by_number(sql: &mut dyn Sql, number: &str) -> Result<Vec<Invoice>> {
    let query = format!(
        "SELECT {} FROM brain_invoice WHERE tenant_id = $1 AND invoice_number = $2 ORDER BY counterparty_id LIMIT 10",
        Invoice::columns()
    );
    let tenant = sql.tenant().as_str().to_owned();
    sql.query(&query, params![tenant, number])?.iter().map(Invoice::from_row).collect()
}

/// The newest invoices, of one counterparty or of all.
pub(crate) fn newest(sql: &mut dyn Sql, counterparty: Option<&str>, limit: usize) -> Result<Vec<Invoice>> {
    let mut range = IndexRange::order_by("issue_date", true);
    if let Some(counterparty) = counterparty {
        range = range.equal("counterparty_id", counterparty);
    }
    range.rows(sql, None, limit)
}
