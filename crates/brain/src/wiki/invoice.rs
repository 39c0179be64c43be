//! The page of an invoice, and the index of all.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::Draft;
use super::draft::{Names, Section, invoice_link, list_transactions, plain};
use crate::invoice::{Invoice, InvoiceStatus};
use crate::money::spoken;
use crate::transaction::Transaction;
use crate::{civil, invoice, noun, tags};

const TRANSACTIONS: usize = 10;
const DOCUMENTS: usize = 5;
const PARSED: usize = 5;
const INDEXED: usize = 100;

pub(super) fn draft(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<Draft>> {
    let Some(row) = noun::find::<Invoice>(sql, id)? else { return Ok(None) };
    let mut draft = Draft::new(sql, format!("Invoice {}", row.invoice_number));
    let me = invoice_link(&row);
    draft.see(&row);
    draft.depends_on_the_day(now);
    draft.say(Section::CurrentTruth, format!("Status: {} — {me}", row.status));
    for (what, amount) in
        [("Due", row.amount_due), ("Paid", row.amount_paid), ("Outstanding", row.outstanding()?)]
    {
        draft.say(Section::CurrentTruth, format!("{what}: {} — {me}", spoken(amount, row.currency)));
    }
    draft.say(Section::CurrentTruth, format!("Issued on {} — {me}", civil::date(row.issue_date)));
    if let Some(due) = row.due_date {
        draft.say(Section::CurrentTruth, format!("To be paid by {} — {me}", civil::date(due)));
    }
    let names = Names::of(sql, &mut draft, [row.counterparty_id.as_str()])?;
    draft.say(Section::LinkedEntities, names.link(row.counterparty_id.as_str()));
    for document in row.linked_document_ids.iter().take(DOCUMENTS) {
        draft.say(Section::LinkedEntities, format!("Document {} — {me}", plain(document)));
    }
    let ids = &row.linked_transaction_ids[..row.linked_transaction_ids.len().min(TRANSACTIONS)];
    let mut linked: Vec<Transaction> = noun::find_many(sql, ids)?;
    linked.sort_by(|one, other| (other.transaction_date, &other.id).cmp(&(one.transaction_date, &one.id)));
    list_transactions(sql, &mut draft, Section::RecentActivity, &linked)?;
    let settled = matches!(row.status, InvoiceStatus::Paid | InvoiceStatus::Cancelled | InvoiceStatus::Draft);
    let late = row.due_date.is_some_and(|due| due < civil::day_start(now));
    if row.status == InvoiceStatus::Overdue || (late && !settled) {
        draft.say(Section::RiskNotes, format!("Overdue — {me}"));
    }
    if row.amount_paid > row.amount_due {
        draft.say(Section::RiskNotes, format!("More was paid than billed — {me}"));
    }
    if linked.is_empty() && !row.amount_paid.is_zero() {
        draft.say(Section::OpenQuestions, format!("No transaction is linked to what was paid — {me}"));
    }
    for parsed in row.standing.evidence_ids.iter().take(PARSED) {
        draft.say(Section::EvidenceLinks, format!("Projection {} — {me}", plain(parsed)));
    }
    Ok(Some(draft))
}

/// The newest invoices.
pub(super) fn index(sql: &mut dyn Sql) -> Result<Draft> {
    let mut draft = Draft::new(sql, "Invoices");
    draft.basis.tags.insert(tags::all("invoice"));
    let rows = invoice::newest(sql, None, INDEXED)?;
    let names = Names::of(sql, &mut draft, rows.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &rows {
        draft.see(row);
        let (due, open) = (spoken(row.amount_due, row.currency), spoken(row.outstanding()?, row.currency));
        draft.say(
            Section::CurrentTruth,
            format!(
                "{}: {due}, outstanding {open}, {}, {} — {}",
                civil::date(row.issue_date),
                row.status,
                names.link(row.counterparty_id.as_str()),
                invoice_link(row)
            ),
        );
    }
    if rows.is_empty() {
        draft.say(Section::OpenQuestions, "There are no invoices");
    }
    Ok(draft)
}
