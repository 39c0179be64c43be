//! Who they are.

use quad_core::Result;
use quad_store::Sql;

use super::{Answer, Question};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::limits;

/// Whether somebody is trusted.
pub(super) fn trust(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let Some(party) = counterparty::named(sql, &question.words)? else {
        return Ok(Answer::none("Nobody of that name is known. ledger.counterparties.list has who is."));
    };
    let verified = party.verified_status.map_or("unverified", |status| status.as_str());
    let risk = party.risk_level.map_or("not assessed", |risk| risk.as_str());
    let text = format!("{}: trust {}, {verified}, risk {risk}.", party.title(), party.trust_status);
    let mut answer = Answer::new(text.clone());
    answer.cite(&party, text);
    Ok(answer)
}

fn kind(question: &Question) -> Option<CounterpartyType> {
    let kinds = [
        (&["vendors", "suppliers"][..], CounterpartyType::Vendor),
        (&["customers"], CounterpartyType::Customer),
        (&["merchants"], CounterpartyType::Merchant),
        (&["employees"], CounterpartyType::Employee),
    ];
    kinds.into_iter().find(|(words, _)| question.has(words)).map(|(_, kind)| kind)
}

fn named(kind: Option<CounterpartyType>) -> &'static str {
    kind.map_or("counterparty", CounterpartyType::as_str)
}

/// How many of a kind there are.
pub(super) fn count(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let kind = kind(question);
    let (rows, more) = counterparty::page(sql, None, kind, None, limits::ITEMS_MAX)?;
    if more.is_some() {
        return Ok(Answer::none(format!(
            "There are more than {}; list them with ledger.counterparties.list.",
            limits::ITEMS_MAX
        )));
    }
    let mut answer = Answer::new(format!("There are {} of type {}.", rows.len(), named(kind)));
    cite(&mut answer, &rows);
    Ok(answer)
}

/// Who they are.
pub(super) fn list(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let kind = kind(question);
    let (rows, more) = counterparty::page(sql, None, kind, None, limits::CITATIONS)?;
    let names: Vec<&str> = rows.iter().map(Counterparty::title).collect();
    let rest = if more.is_some() { ", and more" } else { "" };
    let mut answer = Answer::new(if names.is_empty() {
        format!("There is nobody of type {}.", named(kind))
    } else {
        format!("{}{rest}.", names.join(", "))
    });
    cite(&mut answer, &rows);
    Ok(answer)
}

fn cite(answer: &mut Answer, rows: &[Counterparty]) {
    rows.iter().for_each(|row| answer.cite(row, row.title()));
}
