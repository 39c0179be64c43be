//! Checks that a statement adds up: opening balance + booked entries = closing balance.

use crate::diagnostic::Diagnostics;
use crate::{Amount, Statement, Status};

/// The sum of the booked entries; `None` outside the range of amounts.
pub(crate) fn booked_sum(statement: &Statement) -> Option<Amount> {
    statement
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Booked)
        .try_fold(Amount::ZERO, |sum, entry| sum.checked_add(entry.amount))
}

/// Fills in the period from the entries if the file does not state it, and reports a statement that does not add up.
pub(crate) fn check_balances(statement: &mut Statement, diagnostics: &mut Diagnostics) {
    let days = || statement.entries.iter().map(|entry| entry.booked);
    statement.from = statement.from.or_else(|| days().min());
    statement.to = statement.to.or_else(|| days().max());
    let (Some(opening), Some(closing)) = (statement.opening, statement.closing) else { return };
    let currency = statement.currency;
    let account_suffix = match &*statement.account.key() {
        "" => String::new(),
        key => format!(" of {key}"),
    };
    let Some(computed) = booked_sum(statement).and_then(|sum| opening.amount.checked_add(sum)) else {
        diagnostics.warning(format!("the entries{account_suffix} add up to more than can be stored"));
        return;
    };
    if computed != closing.amount {
        let difference = closing.amount.checked_sub(computed).unwrap_or_default();
        diagnostics.warning(format!(
            "the statement{account_suffix} does not add up: {} and its entries make {} {currency}, but it closes with {}, a \
             difference of {}",
            opening.amount.in_currency(currency),
            computed.in_currency(currency),
            closing.amount.in_currency(currency),
            difference.in_currency(currency),
        ));
    }
}
