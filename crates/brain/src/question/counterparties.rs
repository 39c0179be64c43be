//! Answers about counterparties.

use quad_core::Result;
use quad_store::Sql;

use super::{Answer, Question};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::limits;

/// The trust status of a counterparty.
pub(super) fn trust(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let Some(party) = counterparty::find_mentioned(sql, &question.words)? else {
        return Ok(Answer::unanswered(
            "No counterparty of that name is known. List them with ledger_counterparties_list.",
        ));
    };
    let verified = party.verified_status.map_or("unverified", |status| status.as_str());
    let risk = party.risk_level.map_or("not assessed", |risk| risk.as_str());
    let text = format!("{}: trust {}, {verified}, risk {risk}.", party.title(), party.trust_status);
    let mut answer = Answer::new(text.clone());
    answer.cite(&party, text);
    Ok(answer)
}

fn requested_kind(question: &Question) -> Option<CounterpartyType> {
    let kinds = [
        (&["vendors", "suppliers"][..], CounterpartyType::Vendor),
        (&["customers"], CounterpartyType::Customer),
        (&["merchants"], CounterpartyType::Merchant),
        (&["employees"], CounterpartyType::Employee),
    ];
    kinds.into_iter().find(|(words, _)| question.has(words)).map(|(_, kind)| kind)
}

fn kind_label(kind: Option<CounterpartyType>) -> &'static str {
    kind.map_or("counterparty", CounterpartyType::as_str)
}

/// The number of counterparties of a type.
pub(super) fn count_counterparties(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let kind = requested_kind(question);
    let (rows, next) = counterparty::page(sql, None, kind, None, limits::ITEMS_MAX)?;
    if next.is_some() {
        return Ok(Answer::unanswered(format!(
            "There are more than {}; list them with ledger_counterparties_list.",
            limits::ITEMS_MAX
        )));
    }
    let mut answer = Answer::new(format!("There are {} of type {}.", rows.len(), kind_label(kind)));
    cite_all(&mut answer, &rows);
    Ok(answer)
}

/// A list of counterparties.
pub(super) fn list_counterparties(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let kind = requested_kind(question);
    let (rows, next) = counterparty::page(sql, None, kind, None, limits::MAX_CITATIONS)?;
    let names: Vec<&str> = rows.iter().map(Counterparty::title).collect();
    let rest = if next.is_some() { ", and more" } else { "" };
    let mut answer = Answer::new(if names.is_empty() {
        format!("There are no counterparties of type {}.", kind_label(kind))
    } else {
        format!("{}{rest}.", names.join(", "))
    });
    cite_all(&mut answer, &rows);
    Ok(answer)
}

fn cite_all(answer: &mut Answer, rows: &[Counterparty]) {
    rows.iter().for_each(|row| answer.cite(row, row.title()));
}
