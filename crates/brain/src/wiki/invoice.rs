//! The page of an invoice, and the index page of all invoices.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{CounterpartyNames, Section, add_transactions, escape_markdown, invoice_link};
use crate::invoice::{Invoice, InvoiceStatus};
use crate::money::format_with_currency;
use crate::transaction::Transaction;
use crate::{calendar, entity, invoice, tags};

const TRANSACTIONS: usize = 10;
const DOCUMENTS: usize = 5;
const PARSED: usize = 5;
const LISTED_INVOICES: usize = 100;

pub(super) fn build_page(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<PageBuilder>> {
    let Some(row) = entity::find::<Invoice>(sql, id)? else { return Ok(None) };
    let mut builder = PageBuilder::new(sql, format!("Invoice {}", row.invoice_number));
    let self_link = invoice_link(&row);
    builder.depend_on(&row);
    builder.expire_at_midnight(now);
    builder.add_line(Section::CurrentTruth, format!("Status: {} — {self_link}", row.status));
    for (label, amount) in
        [("Due", row.amount_due), ("Paid", row.amount_paid), ("Outstanding", row.outstanding()?)]
    {
        builder.add_line(
            Section::CurrentTruth,
            format!("{label}: {} — {self_link}", format_with_currency(amount, row.currency)),
        );
    }
    builder.add_line(
        Section::CurrentTruth,
        format!("Issued on {} — {self_link}", calendar::format_date(row.issue_date)),
    );
    if let Some(due) = row.due_date {
        builder.add_line(
            Section::CurrentTruth,
            format!("To be paid by {} — {self_link}", calendar::format_date(due)),
        );
    }
    let names = CounterpartyNames::load(sql, &mut builder, [row.counterparty_id.as_str()])?;
    builder.add_line(Section::LinkedEntities, names.link(row.counterparty_id.as_str()));
    for document in row.linked_document_ids.iter().take(DOCUMENTS) {
        builder.add_line(
            Section::LinkedEntities,
            format!("Document {} — {self_link}", escape_markdown(document)),
        );
    }
    let ids = &row.linked_transaction_ids[..row.linked_transaction_ids.len().min(TRANSACTIONS)];
    let mut linked: Vec<Transaction> = entity::find_many(sql, ids)?;
    linked.sort_by(|a, b| (b.transaction_date, &b.id).cmp(&(a.transaction_date, &a.id)));
    add_transactions(sql, &mut builder, Section::RecentActivity, &linked)?;
    let is_settled =
        matches!(row.status, InvoiceStatus::Paid | InvoiceStatus::Cancelled | InvoiceStatus::Draft);
    let is_late = row.due_date.is_some_and(|due| due < calendar::day_start(now));
    if row.status == InvoiceStatus::Overdue || (is_late && !is_settled) {
        builder.add_line(Section::RiskNotes, format!("Overdue — {self_link}"));
    }
    if row.amount_paid > row.amount_due {
        builder.add_line(Section::RiskNotes, format!("More was paid than billed — {self_link}"));
    }
    if linked.is_empty() && !row.amount_paid.is_zero() {
        builder.add_line(
            Section::OpenQuestions,
            format!("No transaction is linked to what was paid — {self_link}"),
        );
    }
    for parsed in row.meta.evidence_ids.iter().take(PARSED) {
        builder.add_line(
            Section::EvidenceLinks,
            format!("Projection {} — {self_link}", escape_markdown(parsed)),
        );
    }
    Ok(Some(builder))
}

/// The index page: the newest invoices.
pub(super) fn build_index(sql: &mut dyn Sql) -> Result<PageBuilder> {
    let mut builder = PageBuilder::new(sql, "Invoices");
    builder.read_set.tags.insert(tags::rows_of_kind("invoice"));
    let rows = invoice::newest(sql, None, LISTED_INVOICES)?;
    let names =
        CounterpartyNames::load(sql, &mut builder, rows.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &rows {
        builder.depend_on(row);
        let (due, open) = (
            format_with_currency(row.amount_due, row.currency),
            format_with_currency(row.outstanding()?, row.currency),
        );
        builder.add_line(
            Section::CurrentTruth,
            format!(
                "{}: {due}, outstanding {open}, {}, {} — {}",
                calendar::format_date(row.issue_date),
                row.status,
                names.link(row.counterparty_id.as_str()),
                invoice_link(row)
            ),
        );
    }
    if rows.is_empty() {
        builder.add_line(Section::OpenQuestions, "There are no invoices");
    }
    Ok(builder)
}
