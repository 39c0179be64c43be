//! Invoices, subscriptions, payroll, proposals and the policy.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::cash_flow::transaction_excerpt;
use super::{Answer, Question};
use crate::counterparty::Counterparty;
use crate::invoice::{self, Invoice, InvoiceStatus};
use crate::money::{self, format_with_currency};
use crate::obligation::{self, Obligation, ObligationType};
use crate::payment_intent::{self, IntentStatus};
use crate::transaction::Transaction;
use crate::{calendar, entity, limits, policy};

/// The word after `invoice` that looks like a number.
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

/// Whether an invoice is paid.
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

/// Invoices whose day has passed, among the newest.
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

/// The newest invoices.
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

/// What one obligation costs a month, as far as its recurrence says.
fn monthly_cost(row: &Obligation) -> Option<Amount> {
    let recurrence = row.recurrence.as_deref().unwrap_or("monthly").to_lowercase();
    let (times, months): (i128, i128) = match recurrence.as_str() {
        "weekly" | "week" => (52, 12),
        "biweekly" | "fortnightly" => (26, 12),
        "monthly" | "month" => (1, 1),
        "bimonthly" => (1, 2),
        "quarterly" | "quarter" => (1, 3),
        "semiannual" | "semiannually" => (1, 6),
        "yearly" | "annual" | "annually" | "year" => (1, 12),
        _ => return None,
    };
    const CENT: i128 = 10_000_000;
    let cents = row.amount_due.total_nanos() / CENT;
    Amount::from_nanos((2 * cents * times + months) / (2 * months) * CENT)
}

/// What recurs, and what it costs a month.
pub(super) fn subscriptions(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let filter =
        obligation::Filter { kind: Some(ObligationType::Subscription), ..obligation::Filter::default() };
    let (rows, next) = filter.page(sql, None, limits::MAX_OBLIGATIONS_SUMMED)?;
    if next.is_some() {
        return Ok(Answer::unanswered("There are more subscriptions than one answer adds up."));
    }
    // One subscription may be several obligations, one a time; the newest of each counterparty tells.
    let mut newest: BTreeMap<String, Obligation> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.status.is_open()) {
        newest.insert(row.counterparty_id.as_str().to_owned(), row);
    }
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    let mut answer = Answer::default();
    let mut parts = Vec::new();
    for (id, row) in &newest {
        let name =
            entity::find::<Counterparty>(sql, id)?.map_or(id.clone(), |party| party.title().to_owned());
        let recurrence = row.recurrence.as_deref().unwrap_or("monthly");
        let cost = match monthly_cost(row) {
            Some(cost) => {
                let sum = sums.entry(row.currency).or_insert(Amount::ZERO);
                *sum = money::add(*sum, cost)?;
                format!("{} a month", format_with_currency(cost, row.currency))
            }
            None => format_with_currency(row.amount_due, row.currency),
        };
        let part = format!("{name}: {cost}, {recurrence}, next {}", calendar::format_date(row.due_date));
        answer.cite(row, part.clone());
        parts.push(part);
    }
    let totals: Vec<String> =
        sums.into_iter().map(|(currency, amount)| format_with_currency(amount, currency)).collect();
    answer.text = if parts.is_empty() {
        "No subscription is active.".to_owned()
    } else {
        format!(
            "{} active, together {} a month. {}. To cancel one, tell its provider; nothing is cancelled here.",
            parts.len(),
            totals.join(" and "),
            parts.join("; ")
        )
    };
    Ok(answer)
}

/// What goes to the people.
pub(super) fn payroll(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let filter = obligation::Filter {
        kind: Some(ObligationType::Payroll),
        due_after: period.as_ref().and_then(|period| period.months.first()).map(|month| month.start()),
        due_before: period.as_ref().and_then(|period| period.months.last()).map(|month| month.end()),
        ..obligation::Filter::default()
    };
    let (rows, next) = filter.page(sql, None, limits::MAX_OBLIGATIONS_SUMMED)?;
    if next.is_some() {
        return Ok(Answer::unanswered("There is more payroll than one answer adds up; name a period."));
    }
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    for row in &rows {
        let sum = sums.entry(row.currency).or_insert(Amount::ZERO);
        *sum = money::add(*sum, row.amount_due)?;
    }
    let totals: Vec<String> =
        sums.into_iter().map(|(currency, amount)| format_with_currency(amount, currency)).collect();
    let period_text =
        period.map_or_else(|| "over all time".to_owned(), |period| format!("in {}", period.label));
    let mut answer = Answer::new(if totals.is_empty() {
        format!("There is no payroll {period_text}.")
    } else {
        format!("Payroll {period_text}: {} in {} obligations.", totals.join(" and "), rows.len())
    });
    for row in &rows {
        answer.cite(
            row,
            format!(
                "{} due {}",
                format_with_currency(row.amount_due, row.currency),
                calendar::format_date(row.due_date)
            ),
        );
    }
    Ok(answer)
}

/// Which proposals wait for somebody.
pub(super) fn pending_intents(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let mut answer = Answer::default();
    let mut lines = Vec::new();
    for status in
        [IntentStatus::Proposed, IntentStatus::PendingApproval, IntentStatus::AwaitingSecondApproval]
    {
        for row in payment_intent::by_status(sql, status, limits::MAX_CITATIONS)? {
            let line =
                format!("{} {} ({status})", format_with_currency(row.amount, row.currency), row.action_type);
            answer.cite(&row, line.as_str());
            lines.push(line);
        }
    }
    answer.text = if lines.is_empty() {
        "Nothing waits for a decision.".to_owned()
    } else {
        format!("{} wait for a decision: {}.", lines.len(), lines.join("; "))
    };
    Ok(answer)
}

/// What the policy lets through by itself.
pub(super) fn policy(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let Some(active) = policy::active(sql)? else {
        return Ok(Answer::new("No policy is active, so nothing is allowed without a person."));
    };
    let rules =
        active.content.get("rules").and_then(|rules| rules.as_array()).map_or(&[] as &[_], Vec::as_slice);
    let auto: Vec<&str> = rules
        .iter()
        .filter(|rule| rule["execute"] == "auto")
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    let text = if auto.is_empty() {
        format!("The policy {} (version {}) allows nothing by itself.", active.id, active.version)
    } else {
        format!(
            "By the policy {} (version {}), these rules allow by themselves: {}.",
            active.id,
            active.version,
            auto.join(", ")
        )
    };
    let mut answer = Answer::new(text.clone());
    answer.cite(&active, text);
    Ok(answer)
}
