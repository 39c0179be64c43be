//! Answers about obligations: payables, receivables, bills, subscriptions, payroll.

use std::collections::BTreeMap;

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::{Answer, Question};
use crate::counterparty::{self, Counterparty};
use crate::money::{self, format_with_currency};
use crate::obligation::{self, Obligation, ObligationDirection, ObligationType};
use crate::total::{self, Subject};
use crate::{calendar, entity, limits};

/// The names of the counterparties of some obligations, by id.
struct PartyNames(BTreeMap<String, Counterparty>);

impl PartyNames {
    fn load(sql: &mut dyn Sql, rows: &[Obligation]) -> Result<PartyNames> {
        entity::find_by_ids(sql, rows.iter().map(|row| row.counterparty_id.as_str())).map(PartyNames)
    }

    fn get<'a>(&'a self, row: &'a Obligation) -> &'a str {
        let id = row.counterparty_id.as_str();
        self.0.get(id).map_or(id, Counterparty::title)
    }
}

fn describe_obligation(row: &Obligation, names: &PartyNames) -> String {
    let amount = format_with_currency(row.amount_due, row.currency);
    format!("{amount} {} {}, due {}", row.kind, names.get(row), calendar::format_date(row.due_date))
}

fn cite_all(sql: &mut dyn Sql, answer: &mut Answer, rows: &[Obligation]) -> Result<()> {
    let rows = &rows[..rows.len().min(limits::MAX_CITATIONS)];
    let names = PartyNames::load(sql, rows)?;
    for row in rows {
        answer.cite(row, describe_obligation(row, &names));
    }
    Ok(())
}

fn filter_direction(rows: Vec<Obligation>, direction: ObligationDirection) -> Vec<Obligation> {
    rows.into_iter().filter(|row| row.direction_or_payable() == direction).collect()
}

/// Open sums of one direction, by currency.
fn open_sums(
    sql: &mut dyn Sql,
    subject: (Subject, &str),
    direction: ObligationDirection,
) -> Result<Vec<(i64, String)>> {
    let totals = total::for_subject(sql, subject.0, subject.1, total::OPEN)?;
    let matching = totals.into_iter().filter(|total| total.direction == direction.as_str());
    Ok(matching.map(|total| (total.count, format_with_currency(total.amount, total.currency))).collect())
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
    let rows = filter_direction(
        obligation::list_open(sql, None, None, None, limits::MAX_OBLIGATIONS_SUMMED)?,
        direction,
    );
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// All open payables.
pub(super) fn payables(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    open_total(sql, ObligationDirection::Payable, "is to be paid")
}

/// All open receivables.
pub(super) fn receivables(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    open_total(sql, ObligationDirection::Receivable, "is to be received")
}

/// What is owed to one counterparty, or to all.
pub(super) fn owed_to_party(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::find_mentioned(sql, &question.words)? {
        Some(party) => open_with_party(sql, &party, ObligationDirection::Payable, "is owed to"),
        None => payables(sql, question),
    }
}

/// What one counterparty owes, or all.
pub(super) fn owed_by_party(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::find_mentioned(sql, &question.words)? {
        Some(party) => open_with_party(sql, &party, ObligationDirection::Receivable, "is owed by"),
        None => receivables(sql, question),
    }
}

fn open_with_party(
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
    let rows = obligation::list_open(sql, Some(party.id.as_str()), None, None, limits::MAX_CITATIONS)?;
    cite_all(sql, &mut answer, &filter_direction(rows, direction))?;
    Ok(answer)
}

/// Overdue payables.
pub(super) fn overdue_payables(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    answer_overdue(sql, question, ObligationDirection::Payable, "to be paid")
}

/// Overdue receivables.
pub(super) fn overdue_receivables(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    answer_overdue(sql, question, ObligationDirection::Receivable, "to be received")
}

fn answer_overdue(
    sql: &mut dyn Sql,
    question: &Question,
    direction: ObligationDirection,
    verb: &str,
) -> Result<Answer> {
    let today = calendar::day_start(question.now).plus_ms(-1);
    let rows = obligation::list_open(sql, None, None, Some(today), limits::MAX_OBLIGATIONS_SUMMED)?;
    if rows.len() == limits::MAX_OBLIGATIONS_SUMMED {
        return Ok(Answer::unanswered(
            "More is overdue than one answer adds up; list it with ledger_obligations_list.",
        ));
    }
    let rows = filter_direction(rows, direction);
    let mut answer = Answer::new(if rows.is_empty() {
        format!("Nothing {verb} is overdue.")
    } else {
        format!("{} in {} obligations {verb} is overdue.", format_sums(&rows)?, rows.len())
    });
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// The sum of rows, by currency.
fn format_sums(rows: &[Obligation]) -> Result<String> {
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row.currency).or_insert(Amount::ZERO);
        *sum = money::add(*sum, row.amount_due)?;
    }
    let lines: Vec<String> =
        sums.into_iter().map(|(currency, amount)| format_with_currency(amount, currency)).collect();
    Ok(lines.join(" and "))
}

/// Payables that are due within some days, by counterparty, overdue ones first.
pub(super) fn bills_due(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let days = parse_days(question);
    let until = calendar::day_start(question.now).plus_ms((days + 1) * calendar::DAY_MS - 1);
    let rows = obligation::list_open(sql, None, None, Some(until), limits::MAX_OBLIGATIONS_SUMMED)?;
    if rows.len() == limits::MAX_OBLIGATIONS_SUMMED {
        return Ok(Answer::unanswered(
            "More is due than one answer adds up; list it with ledger_obligations_list.",
        ));
    }
    let rows = filter_direction(rows, ObligationDirection::Payable);
    if rows.is_empty() {
        return Ok(Answer::new(format!("Nothing is due in the next {days} days.")));
    }
    let names = PartyNames::load(sql, &rows)?;
    let mut by_party: BTreeMap<&str, Vec<Obligation>> = BTreeMap::new();
    for row in &rows {
        by_party.entry(row.counterparty_id.as_str()).or_default().push(row.clone());
    }
    let mut parts = Vec::new();
    for party_obligations in by_party.values() {
        let name = party_obligations.first().map_or("", |row| names.get(row));
        let late_count = party_obligations.iter().filter(|row| row.is_overdue(question.now)).count();
        let overdue_text = if late_count > 0 { format!(", {late_count} overdue") } else { String::new() };
        parts.push((
            overdue_text.is_empty(),
            format!(
                "{name}: {} ({}{overdue_text})",
                format_sums(party_obligations)?,
                party_obligations.len()
            ),
        ));
    }
    parts.sort();
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    let mut answer =
        Answer::new(format!("{} is due in the next {days} days. {}.", format_sums(&rows)?, parts.join("; ")));
    cite_all(sql, &mut answer, &rows)?;
    Ok(answer)
}

/// The number before `days`; 7 by default.
fn parse_days(question: &Question) -> i64 {
    let parts: Vec<&str> = question.words.split_whitespace().collect();
    let parsed =
        parts.windows(2).find(|pair| pair[1].starts_with("day")).and_then(|pair| pair[0].parse().ok());
    parsed.filter(|days| (1..=366).contains(days)).unwrap_or(7)
}

/// The payable with the next due date.
pub(super) fn next_payable(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let from = calendar::day_start(question.now);
    answer_chosen(sql, Some(from), "The next is", |rows| rows.into_iter().next())
}

/// The largest payable.
pub(super) fn largest_payable(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    answer_chosen(sql, None, "The largest is", |rows| {
        rows.into_iter().max_by(|a, b| a.amount_due.cmp(&b.amount_due).then_with(|| b.id.cmp(&a.id)))
    })
}

fn answer_chosen(
    sql: &mut dyn Sql,
    from: Option<Timestamp>,
    intro: &str,
    choose: impl Fn(Vec<Obligation>) -> Option<Obligation>,
) -> Result<Answer> {
    let rows = obligation::list_open(sql, None, from, None, limits::MAX_OBLIGATIONS_SUMMED)?;
    let rows = filter_direction(rows, ObligationDirection::Payable);
    let Some(row) = choose(rows) else { return Ok(Answer::new("Nothing is to be paid.")) };
    let text = describe_obligation(&row, &PartyNames::load(sql, std::slice::from_ref(&row))?);
    let mut answer = Answer::new(format!("{intro} {text}."));
    answer.cite(&row, text);
    Ok(answer)
}

/// The monthly cost of an obligation; `None` if its recurrence is unknown.
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

/// Active subscriptions and their monthly cost.
pub(super) fn subscriptions(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let filter =
        obligation::Filter { kind: Some(ObligationType::Subscription), ..obligation::Filter::default() };
    let (rows, next) = filter.page(sql, None, limits::MAX_OBLIGATIONS_SUMMED)?;
    if next.is_some() {
        return Ok(Answer::unanswered("There are more subscriptions than one answer adds up."));
    }
    // A subscription may have one obligation per payment; the newest of each counterparty counts.
    let mut newest: BTreeMap<String, Obligation> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.status.is_open()) {
        newest.insert(row.counterparty_id.as_str().to_owned(), row);
    }
    let mut sums: BTreeMap<Currency, Amount> = BTreeMap::new();
    let mut answer = Answer::default();
    let mut parts = Vec::new();
    let newest: Vec<Obligation> = newest.into_values().collect();
    let names = PartyNames::load(sql, &newest)?;
    for row in &newest {
        let name = names.get(row);
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

/// The payroll of a period.
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
