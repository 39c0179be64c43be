//! What is owed, to us and by us.

use std::collections::BTreeMap;

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::{Answer, Question};
use crate::counterparty::{self, Counterparty};
use crate::money::{self, spoken};
use crate::obligation::{self, Obligation, ObligationDirection};
use crate::total::{self, Subject};
use crate::{civil, limits, noun};

fn line(sql: &mut dyn Sql, row: &Obligation) -> Result<String> {
    let party = noun::find::<Counterparty>(sql, row.counterparty_id.as_str())?;
    let name = party.as_ref().map_or(row.counterparty_id.as_str(), |party| party.title());
    let amount = spoken(row.amount_due, row.currency);
    Ok(format!("{amount} {} {name}, due {}", row.kind, civil::date(row.due_date)))
}

fn cite_all(sql: &mut dyn Sql, answer: &mut Answer, rows: &[Obligation]) -> Result<()> {
    for row in rows.iter().take(limits::CITATIONS) {
        let excerpt = line(sql, row)?;
        answer.cite(row, excerpt);
    }
    Ok(())
}

fn of_direction(rows: Vec<Obligation>, direction: ObligationDirection) -> Vec<Obligation> {
    rows.into_iter().filter(|row| row.owed() == direction).collect()
}

/// Open sums of one direction, each currency by itself.
fn open_sums(
    sql: &mut dyn Sql,
    subject: (Subject, &str),
    direction: ObligationDirection,
) -> Result<Vec<(i64, String)>> {
    let totals = total::of(sql, subject.0, subject.1, total::OPEN)?;
    let wanted = totals.into_iter().filter(|total| total.direction == direction.as_str());
    Ok(wanted.map(|total| (total.count, spoken(total.amount, total.currency))).collect())
}

fn open_total(sql: &mut dyn Sql, direction: ObligationDirection, verb: &str) -> Result<Answer> {
    let sums = open_sums(sql, (Subject::Everything, ""), direction)?;
    let count: i64 = sums.iter().map(|(count, _)| count).sum();
    let amounts: Vec<&str> = sums.iter().map(|(_, amount)| amount.as_str()).collect();
    let mut answer = Answer::new(if amounts.is_empty() {
        format!("Nothing is open that {verb}.")
    } else {
        format!("{} in {count} open obligations {verb}.", amounts.join(" and "))
    });
    let rows = of_direction(obligation::open(sql, None, None, None, limits::OBLIGATIONS_SUMMED)?, direction);
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// What we owe.
pub(super) fn payables(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    open_total(sql, ObligationDirection::Payable, "is to be paid")
}

/// What we are owed.
pub(super) fn receivables(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    open_total(sql, ObligationDirection::Receivable, "is to be received")
}

/// What we owe somebody, or everybody.
pub(super) fn owed_to_party(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::named(sql, &question.words)? {
        Some(party) => with_party(sql, &party, ObligationDirection::Payable, "is owed to"),
        None => payables(sql, question),
    }
}

/// What somebody owes us, or everybody.
pub(super) fn owed_by_party(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::named(sql, &question.words)? {
        Some(party) => with_party(sql, &party, ObligationDirection::Receivable, "is owed by"),
        None => receivables(sql, question),
    }
}

fn with_party(
    sql: &mut dyn Sql,
    party: &Counterparty,
    direction: ObligationDirection,
    verb: &str,
) -> Result<Answer> {
    let sums = open_sums(sql, (Subject::Counterparty, party.id.as_str()), direction)?;
    let amounts: Vec<&str> = sums.iter().map(|(_, amount)| amount.as_str()).collect();
    let mut answer = Answer::new(if amounts.is_empty() {
        format!("Nothing {verb} {}.", party.title())
    } else {
        format!("{} {verb} {}.", amounts.join(" and "), party.title())
    });
    answer.cite(party, party.title());
    let rows = obligation::open(sql, Some(party.id.as_str()), None, None, limits::CITATIONS)?;
    cite_all(sql, &mut answer, &of_direction(rows, direction))?;
    Ok(answer)
}

/// What we should have paid.
pub(super) fn overdue_payables(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    overdue(sql, question, ObligationDirection::Payable, "to be paid")
}

/// What we should have received.
pub(super) fn overdue_receivables(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    overdue(sql, question, ObligationDirection::Receivable, "to be received")
}

fn overdue(
    sql: &mut dyn Sql,
    question: &Question,
    direction: ObligationDirection,
    verb: &str,
) -> Result<Answer> {
    let today = civil::day_start(question.now).plus_ms(-1);
    let rows = obligation::open(sql, None, None, Some(today), limits::OBLIGATIONS_SUMMED)?;
    if rows.len() == limits::OBLIGATIONS_SUMMED {
        return Ok(Answer::none(
            "More is overdue than one answer adds up; list it with ledger.obligations.list.",
        ));
    }
    let rows = of_direction(rows, direction);
    let mut answer = Answer::new(if rows.is_empty() {
        format!("Nothing {verb} is overdue.")
    } else {
        format!("{} in {} obligations {verb} is overdue.", summed(&rows)?, rows.len())
    });
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// Sums of rows, each currency by itself.
fn summed(rows: &[Obligation]) -> Result<String> {
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row.currency).or_insert(Amount::ZERO);
        *sum = money::add(*sum, row.amount_due)?;
    }
    let lines: Vec<String> = sums.into_iter().map(|(currency, amount)| spoken(amount, currency)).collect();
    Ok(lines.join(" and "))
}

/// What has to be paid within some days, by whom it is owed; what is late first.
pub(super) fn bills_due(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let days = days(question);
    let until = civil::day_start(question.now).plus_ms((days + 1) * civil::DAY_MS - 1);
    let rows = obligation::open(sql, None, None, Some(until), limits::OBLIGATIONS_SUMMED)?;
    if rows.len() == limits::OBLIGATIONS_SUMMED {
        return Ok(Answer::none(
            "More is due than one answer adds up; list it with ledger.obligations.list.",
        ));
    }
    let rows = of_direction(rows, ObligationDirection::Payable);
    if rows.is_empty() {
        return Ok(Answer::new(format!("Nothing is due in the next {days} days.")));
    }
    let mut by_party: BTreeMap<String, Vec<Obligation>> = BTreeMap::new();
    for row in &rows {
        by_party.entry(row.counterparty_id.as_str().to_owned()).or_default().push(row.clone());
    }
    let mut parts = Vec::new();
    for (id, owed) in &by_party {
        let name = noun::find::<Counterparty>(sql, id)?.map_or(id.clone(), |party| party.title().to_owned());
        let late = owed.iter().filter(|row| row.is_overdue(question.now)).count();
        let late = if late > 0 { format!(", {late} overdue") } else { String::new() };
        parts.push((late.is_empty(), format!("{name}: {} ({}{late})", summed(owed)?, owed.len())));
    }
    parts.sort();
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    let mut answer =
        Answer::new(format!("{} is due in the next {days} days. {}.", summed(&rows)?, parts.join("; ")));
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// The number before `days`; a week unless said.
fn days(question: &Question) -> i64 {
    let parts: Vec<&str> = question.words.split_whitespace().collect();
    let named =
        parts.windows(2).find(|pair| pair[1].starts_with("day")).and_then(|pair| pair[0].parse().ok());
    named.filter(|days| (1..=366).contains(days)).unwrap_or(7)
}

/// What has to be paid first.
pub(super) fn next_payable(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let from = civil::day_start(question.now);
    first(sql, Some(from), "The next is", |rows| rows.into_iter().next())
}

/// The largest thing that has to be paid.
pub(super) fn largest_payable(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    first(sql, None, "The largest is", |rows| {
        rows.into_iter()
            .max_by(|one, other| one.amount_due.cmp(&other.amount_due).then_with(|| other.id.cmp(&one.id)))
    })
}

fn first(
    sql: &mut dyn Sql,
    from: Option<Timestamp>,
    intro: &str,
    choose: impl Fn(Vec<Obligation>) -> Option<Obligation>,
) -> Result<Answer> {
    let rows = obligation::open(sql, None, from, None, limits::OBLIGATIONS_SUMMED)?;
    let rows = of_direction(rows, ObligationDirection::Payable);
    let Some(row) = choose(rows) else { return Ok(Answer::new("Nothing is to be paid.")) };
    let text = line(sql, &row)?;
    let mut answer = Answer::new(format!("{intro} {text}."));
    answer.cite(&row, text);
    Ok(answer)
}
