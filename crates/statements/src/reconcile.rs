//! Whether a statement adds up: opening balance + booked entries = closing balance.

use crate::finding::Findings;
use crate::{Amount, Statement, Status};

/// The sum of the booked entries; `None` outside the range of amounts.
pub(crate) fn booked_sum(statement: &Statement) -> Option<Amount> {
    statement
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Booked)
        .try_fold(Amount::ZERO, |sum, entry| sum.checked_add(entry.amount))
}

/// Fills in the period from the entries where the file does not say it, and reports a statement that does not add up.
pub(crate) fn finish(statement: &mut Statement, findings: &mut Findings) {
    let days = || statement.entries.iter().map(|entry| entry.booked);
    statement.from = statement.from.or_else(|| days().min());
    statement.to = statement.to.or_else(|| days().max());
    let (Some(opening), Some(closing)) = (statement.opening, statement.closing) else { return };
    let currency = statement.currency;
    let whose = match &*statement.account.key() {
        "" => String::new(),
        key => format!(" of {key}"),
    };
    let Some(end) = booked_sum(statement).and_then(|sum| opening.amount.checked_add(sum)) else {
        findings.warning(format!("the entries{whose} add up to more than can be stored"));
        return;
    };
    if end != closing.amount {
        let difference = closing.amount.checked_sub(end).unwrap_or_default();
        findings.warning(format!(
            "the statement{whose} does not add up: {} and its entries make {} {currency}, but it closes with {}, a \
             difference of {}",
            opening.amount.in_currency(currency),
            end.in_currency(currency),
            closing.amount.in_currency(currency),
            difference.in_currency(currency),
        ));
    }
}
