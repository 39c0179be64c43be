//! Answers about invoices.

use quad_core::Result;
use quad_store::Sql;

use super::cash_flow::transaction_excerpt;
use super::{Answer, Question};
use crate::invoice::{self, Invoice, InvoiceStatus};
use crate::money::format_with_currency;
use crate::transaction::Transaction;
use crate::{calendar, entity, limits};

/// The invoice number in a question: the first word after `invoice` with a digit.
pub(super) fn invoice_number(question: &Question) -> Option<String> {
    let words: Vec<&str> = question.original.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| word.to_lowercase().trim_matches(|c: char| !c.is_alphanumeric()) == "invoice")?;
    let trimmed = words.iter().skip(at + 1).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    trimmed.into_iter().find(|word| word.bytes().any(|byte| byte.is_ascii_digit())).map(str::to_owned)
}

fn describe_invoice(invoice: &Invoice) -> Result<String> {
    let (due, open) = (
        format_with_currency(invoice.amount_due, invoice.currency),
        format_with_currency(invoice.outstanding()?, invoice.currency),
    );
    Ok(format!("Invoice {} of {due}: {}, outstanding {open}", invoice.invoice_number, invoice.status))
}

/// The status of an invoice.
pub(super) fn invoice_status(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let number = invoice_number(question).unwrap_or_default();
    let invoices = invoice::by_number(sql, &number)?;
    if invoices.is_empty() {
        return Ok(Answer::unanswered(format!("No invoice has the number {number}.")));
    }
    let mut answer = Answer::default();
    for invoice in &invoices {
        let state = if invoice.outstanding()?.is_zero() {
            "paid in full"
        } else if invoice.amount_paid.is_zero() {
            "not paid"
        } else {
            "paid in part"
        };
        let paid = format_with_currency(invoice.amount_paid, invoice.currency);
        answer.text.push_str(&format!("{}. It is {state} ({paid} paid). ", describe_invoice(invoice)?));
        answer.cite(invoice, describe_invoice(invoice)?);
        let transaction_ids = &invoice.linked_transaction_ids
            [..invoice.linked_transaction_ids.len().min(limits::MAX_CITATIONS)];
        for row in entity::find_many::<Transaction>(sql, transaction_ids)? {
            answer.cite(&row, transaction_excerpt(&row));
        }
    }
    answer.text = answer.text.trim_end().to_owned();
    Ok(answer)
}

/// Overdue invoices.
pub(super) fn overdue_invoices(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let newest = invoice::newest(sql, None, limits::MAX_OBLIGATIONS_SUMMED)?;
    if newest.len() == limits::MAX_OBLIGATIONS_SUMMED {
        return Ok(Answer::unanswered("There are more invoices than one answer looks at."));
    }
    let is_overdue = |invoice: &Invoice| {
        let is_settled =
            matches!(invoice.status, InvoiceStatus::Paid | InvoiceStatus::Cancelled | InvoiceStatus::Draft);
        invoice.status == InvoiceStatus::Overdue
            || (!is_settled && invoice.due_date.is_some_and(|due| due < calendar::day_start(question.now)))
    };
    let rows: Vec<Invoice> = newest.into_iter().filter(is_overdue).collect();
    list_answer(&rows, "Nothing is overdue", "Overdue")
}

/// A list of the newest invoices.
pub(super) fn list_invoices(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let rows = invoice::newest(sql, None, limits::MAX_CITATIONS)?;
    list_answer(&rows, "There are no invoices", "The newest invoices")
}

fn list_answer(rows: &[Invoice], nothing: &str, intro: &str) -> Result<Answer> {
    let lines = rows.iter().map(describe_invoice).collect::<Result<Vec<_>>>()?;
    let shown_lines = &lines[..lines.len().min(limits::MAX_CITATIONS)];
    let mut answer = Answer::new(if lines.is_empty() {
        format!("{nothing}.")
    } else {
        format!("{intro} ({}): {}.", lines.len(), shown_lines.join("; "))
    });
    for (row, line) in rows.iter().zip(&lines) {
        answer.cite(row, line.as_str());
    }
    Ok(answer)
}
