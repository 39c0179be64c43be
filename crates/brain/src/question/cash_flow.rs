//! Answers about income, spending and cash flow.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::period::Period;
use super::{Answer, Question};
use crate::calendar::Month;
use crate::category;
use crate::counterparty::{self, Counterparty};
use crate::entity::Entity as _;
use crate::money::{self, format_with_currency};
use crate::total::{self, Subject};
use crate::transaction::{Direction, Filter, Transaction};
use crate::{calendar, entity, errors, largest};

/// Count and sum by currency, of one direction.
type Sums = BTreeMap<Currency, (i64, Amount)>;

/// The sums of a subject over a period, or of all time.
fn load_sums(
    sql: &mut dyn Sql,
    subject: (Subject, &str),
    period: Option<&Period>,
    direction: &str,
) -> Result<Sums> {
    let mut sums = Sums::new();
    let periods: Vec<String> = match period {
        Some(period) => period.months.iter().map(Month::to_string).collect(),
        None => vec![total::ALL_TIME.to_owned()],
    };
    for period in periods {
        for entry in total::for_subject(sql, subject.0, subject.1, &period)? {
            if entry.direction == direction {
                let sum = sums.entry(entry.currency).or_insert((0, Amount::ZERO));
                *sum = (sum.0 + entry.count, money::add(sum.1, entry.amount)?);
            }
        }
    }
    Ok(sums)
}

/// The sum in the named currency, or in the only one. Several currencies are not added.
fn single_currency(sums: &Sums, question: &Question) -> Result<(Currency, i64, Amount), Answer> {
    let requested = question.currency().filter(|currency| sums.contains_key(currency));
    match (requested, sums.len()) {
        (Some(currency), _) => {
            let (count, amount) = sums.get(&currency).copied().unwrap_or((0, Amount::ZERO));
            Ok((currency, count, amount))
        }
        (None, 0) => Err(Answer::new("Nothing is known of that.")),
        (None, 1) => {
            let (currency, (count, amount)) =
                sums.first_key_value().map_or((Currency::USD, (0, Amount::ZERO)), |(c, s)| (*c, *s));
            Ok((currency, count, amount))
        }
        (None, _) => {
            let codes: Vec<&str> = sums.keys().map(|currency| currency.as_str()).collect();
            Err(Answer::unanswered(format!(
                "That is in several currencies ({}), which are not added. Name one of them.",
                codes.join(", ")
            )))
        }
    }
}

fn period_text(period: Option<&Period>) -> String {
    period.map_or_else(|| "over all time".to_owned(), |period| format!("in {}", period.label))
}

/// Cites the newest transactions of a period.
fn cite_newest(
    sql: &mut dyn Sql,
    answer: &mut Answer,
    period: Option<&Period>,
    direction: Option<Direction>,
    counterparty: Option<&str>,
) -> Result<()> {
    let filter = Filter {
        direction,
        counterparty_id: counterparty.map(str::to_owned),
        since: period.and_then(|period| period.months.first()).map(|month| month.start()),
        until: period.and_then(|period| period.months.last()).map(|month| month.end()),
        ..Filter::default()
    };
    for row in filter.newest(sql, crate::limits::MAX_CITATIONS)? {
        answer.cite(&row, transaction_excerpt(&row));
    }
    Ok(())
}

pub(super) fn transaction_excerpt(row: &Transaction) -> String {
    let description =
        row.description_normalized.as_deref().or(row.description_raw.as_deref()).unwrap_or_default();
    let line = format!(
        "{} {} {} {description}",
        calendar::format_date(row.transaction_date),
        format_with_currency(row.amount, row.currency),
        row.direction
    );
    line.trim_end().to_owned()
}

/// The number of transactions.
pub(super) fn count_transactions(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let mut total_count = 0;
    for direction in Direction::NAMES {
        let sums = load_sums(sql, (Subject::Everything, ""), period.as_ref(), direction)?;
        total_count += sums.values().map(|(count, _)| count).sum::<i64>();
    }
    let mut answer =
        Answer::new(format!("{total_count} transactions were posted {}.", period_text(period.as_ref())));
    cite_newest(sql, &mut answer, period.as_ref(), None, None)?;
    Ok(answer)
}

/// The amount spent: with a counterparty, in a category, or in total.
pub(super) fn spending(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    if let Some(party) = counterparty::find_mentioned(sql, &question.words)? {
        return counterparty_sum(sql, question, &party, Direction::Outflow, "was paid to");
    }
    for category in category::all(sql)? {
        if question.has(&[category.name.to_lowercase().as_str()]) {
            let sums = load_sums(sql, (Subject::Category, category.id.as_str()), period.as_ref(), "outflow")?;
            let (currency, count, amount) = match single_currency(&sums, question) {
                Ok(sum) => sum,
                Err(answer) => return Ok(answer),
            };
            let mut answer = Answer::new(format!(
                "{} was spent on {} {}, in {count} transactions.",
                format_with_currency(amount, currency),
                category.name,
                period_text(period.as_ref())
            ));
            answer.cite(&category, category.name.as_str());
            return Ok(answer);
        }
    }
    total_sum(sql, question, Direction::Outflow, "was spent")
}

/// The income.
pub(super) fn income(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    total_sum(sql, question, Direction::Inflow, "came in")
}

/// The amount received from a counterparty, or in total.
pub(super) fn received(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::find_mentioned(sql, &question.words)? {
        Some(party) => counterparty_sum(sql, question, &party, Direction::Inflow, "was received from"),
        None => total_sum(sql, question, Direction::Inflow, "came in"),
    }
}

fn counterparty_sum(
    sql: &mut dyn Sql,
    question: &Question,
    party: &Counterparty,
    direction: Direction,
    verb: &str,
) -> Result<Answer> {
    let period = question.period();
    let subject = (Subject::Counterparty, party.id.as_str());
    let sums = load_sums(sql, subject, period.as_ref(), direction.as_str())?;
    if sums.is_empty() {
        let mut answer =
            Answer::new(format!("Nothing {verb} {} {}.", party.title(), period_text(period.as_ref())));
        answer.cite(party, party.title());
        return Ok(answer);
    }
    let (currency, count, amount) = match single_currency(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let times = if count == 1 { "transaction" } else { "transactions" };
    let mut answer = Answer::new(format!(
        "{} {verb} {} {}, in {count} {times}.",
        format_with_currency(amount, currency),
        party.title(),
        period_text(period.as_ref())
    ));
    answer.cite(party, party.title());
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), Some(party.id.as_str()))?;
    Ok(answer)
}

fn total_sum(sql: &mut dyn Sql, question: &Question, direction: Direction, verb: &str) -> Result<Answer> {
    let period = question.period();
    let sums = load_sums(sql, (Subject::Everything, ""), period.as_ref(), direction.as_str())?;
    let (currency, count, amount) = match single_currency(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let text = format!(
        "{} {verb} {}, in {count} transactions.",
        format_with_currency(amount, currency),
        period_text(period.as_ref())
    );
    let mut answer = Answer::new(text);
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), None)?;
    Ok(answer)
}

/// The average amount of a transaction.
pub(super) fn average_transaction(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let direction =
        if question.has(&["income", "inflow", "received"]) { Direction::Inflow } else { Direction::Outflow };
    let sums = load_sums(sql, (Subject::Everything, ""), period.as_ref(), direction.as_str())?;
    let (currency, count, amount) = match single_currency(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let mut answer = Answer::new(format!(
        "The average {direction} {} is {}, over {count} transactions.",
        period_text(period.as_ref()),
        format_with_currency(div_rounded(amount, count), currency)
    ));
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), None)?;
    Ok(answer)
}

/// A quotient, rounded to the cent.
fn div_rounded(amount: Amount, count: i64) -> Amount {
    const CENT: i128 = 10_000_000;
    let (total, count) = (amount.total_nanos(), i128::from(count.max(1)));
    let cents = total / CENT;
    // Half a cent is rounded away from zero.
    let rounded = (2 * cents.abs() + count) / (2 * count) * cents.signum();
    Amount::from_nanos(rounded * CENT).unwrap_or(Amount::ZERO)
}

/// The largest transaction of a period.
pub(super) fn largest_transaction(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period().or_else(|| newest_period(sql).ok().flatten());
    let Some(period) = period else { return Ok(Answer::new("There are no transactions.")) };
    let direction =
        if question.has(&["income", "inflow", "deposit", "receipt"]) { "inflow" } else { "outflow" };
    let sums = load_sums(sql, (Subject::Everything, ""), Some(&period), direction)?;
    let (currency, ..) = match single_currency(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let mut largest = Vec::new();
    for month in &period.months {
        largest.extend(largest::for_month(sql, &month.to_string(), currency, direction)?);
    }
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let Some((_, id)) = largest.first() else { return Ok(Answer::new("Nothing is known of that.")) };
    let row: Transaction = entity::get(sql, id)?;
    let mut answer =
        Answer::new(format!("The largest {direction} in {} is {}.", period.label, transaction_excerpt(&row)));
    answer.cite(&row, transaction_excerpt(&row));
    Ok(answer)
}

fn newest_period(sql: &mut dyn Sql) -> Result<Option<Period>> {
    Ok(total::newest_month(sql)?.map(|month| Period::trailing(month, 1)))
}

/// Inflow, outflow and net, with the largest counterparties.
pub(super) fn cash_flow_summary(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        None => match newest_period(sql)? {
            Some(period) => period,
            None => return Ok(Answer::new("There are no transactions.")),
        },
    };
    let inflow = load_sums(sql, (Subject::Everything, ""), Some(&period), "inflow")?;
    let outflow = load_sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
    let mut currencies: Vec<Currency> = inflow.keys().chain(outflow.keys()).copied().collect();
    currencies.sort_unstable();
    currencies.dedup();
    if currencies.is_empty() {
        return Ok(Answer::new(format!("Nothing was posted in {}.", period.label)));
    }
    let mut answer = Answer::default();
    for currency in currencies {
        let sum = |sums: &Sums| sums.get(&currency).map_or(Amount::ZERO, |(_, amount)| *amount);
        let net = money::subtract(sum(&inflow), sum(&outflow))?;
        answer.text.push_str(&format!(
            "In {}: inflow {}, outflow {}, net {}.",
            period.label,
            format_with_currency(sum(&inflow), currency),
            format_with_currency(sum(&outflow), currency),
            format_with_currency(net, currency)
        ));
        for direction in ["inflow", "outflow"] {
            let ranked =
                total::top_over_months(sql, Subject::Counterparty, &period.months, currency, direction, 3)?;
            let names = cite_ranked(sql, &ranked, currency, direction, &mut answer)?;
            if !names.is_empty() {
                answer.text.push_str(&format!(" Largest {direction}: {}.", names.join(", ")));
            }
        }
        answer.text.push(' ');
    }
    answer.text = answer.text.trim_end().to_owned();
    cite_newest(sql, &mut answer, Some(&period), None, None)?;
    Ok(answer)
}

/// Cites counterparties with their sums, and returns them as text.
fn cite_ranked(
    sql: &mut dyn Sql,
    ranked: &[(String, Amount)],
    currency: Currency,
    direction: &str,
    answer: &mut Answer,
) -> Result<Vec<String>> {
    let parties = entity::find_by_ids::<Counterparty>(sql, ranked.iter().map(|(id, _)| id.as_str()))?;
    let mut names = Vec::new();
    for (id, amount) in ranked {
        let Some(party) = parties.get(id) else { return Err(errors::row_not_found(Counterparty::KIND, id)) };
        answer.cite(party, format!("{} {direction}", format_with_currency(*amount, currency)));
        names.push(format!("{} ({})", party.title(), format_with_currency(*amount, currency)));
    }
    Ok(names)
}

/// The counterparties with the largest sums.
pub(super) fn top_counterparties(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let direction = if question.has(&["customer", "customers"]) { "inflow" } else { "outflow" };
    let period = question.period();
    let sums = load_sums(sql, (Subject::Everything, ""), period.as_ref(), direction)?;
    let (currency, ..) = match single_currency(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let ranked = match &period {
        Some(period) => {
            total::top_over_months(sql, Subject::Counterparty, &period.months, currency, direction, 5)?
        }
        None => total::top(sql, Subject::Counterparty, total::ALL_TIME, currency, direction, 5)?
            .into_iter()
            .map(|entry| (entry.subject_id, entry.amount))
            .collect(),
    };
    let mut answer = Answer::default();
    let names = cite_ranked(sql, &ranked, currency, direction, &mut answer)?;
    answer.text = if names.is_empty() {
        "No counterparty is known.".to_owned()
    } else {
        format!("By {direction} {}: {}.", period_text(period.as_ref()), names.join(", "))
    };
    Ok(answer)
}

/// The change of spending against the previous period.
pub(super) fn spending_change(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        None => match newest_period(sql)? {
            Some(period) => period,
            None => return Ok(Answer::new("There are no transactions.")),
        },
    };
    let previous_period = period.previous();
    let current = load_sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
    let previous = load_sums(sql, (Subject::Everything, ""), Some(&previous_period), "outflow")?;
    let mut combined = current.clone();
    for (currency, sum) in &previous {
        combined.entry(*currency).or_insert(*sum);
    }
    let (currency, ..) = match single_currency(&combined, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let sum = |sums: &Sums| sums.get(&currency).map_or(Amount::ZERO, |(_, amount)| *amount);
    let change = money::subtract(sum(&current), sum(&previous))?;
    let verb = if change.is_negative() { "fell" } else { "rose" };
    let mut answer = Answer::new(format!(
        "Spending {verb} by {} from {} in {} to {} in {}.",
        format_with_currency(change.checked_abs().unwrap_or(change), currency),
        format_with_currency(sum(&previous), currency),
        previous_period.label,
        format_with_currency(sum(&current), currency),
        period.label
    ));
    let mut changes: BTreeMap<String, Amount> = BTreeMap::new();
    for (source_period, sign) in [(&period, 1), (&previous_period, -1)] {
        for (id, amount) in total::top_over_months(
            sql,
            Subject::Counterparty,
            &source_period.months,
            currency,
            "outflow",
            20,
        )? {
            let delta = changes.entry(id).or_insert(Amount::ZERO);
            *delta = if sign > 0 { money::add(*delta, amount)? } else { money::subtract(*delta, amount)? };
        }
    }
    let mut changes: Vec<(String, Amount)> =
        changes.into_iter().filter(|(_, amount)| !amount.is_zero()).collect();
    changes.sort_by_key(|(id, amount)| (std::cmp::Reverse(amount.checked_abs()), id.clone()));
    let mut movers = Vec::new();
    for (id, amount) in changes.into_iter().take(3) {
        let party: Counterparty = entity::get(sql, &id)?;
        let sign = if amount.is_negative() { "" } else { "+" };
        movers.push(format!("{} ({sign}{})", party.title(), format_with_currency(amount, currency)));
        answer.cite(&party, format!("{sign}{}", format_with_currency(amount, currency)));
    }
    if !movers.is_empty() {
        answer.text.push_str(&format!(" What moved most: {}.", movers.join(", ")));
    }
    cite_newest(sql, &mut answer, Some(&period), Some(Direction::Outflow), None)?;
    Ok(answer)
}

/// The monthly average.
pub(super) fn trailing_average(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        // The last twelve full months.
        None => Period::trailing(Month::from_timestamp(question.now).add_months(-1), 12),
    };
    let inflow = load_sums(sql, (Subject::Everything, ""), Some(&period), "inflow")?;
    let outflow = load_sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
    let mut combined = inflow.clone();
    for (currency, sum) in &outflow {
        combined.entry(*currency).or_insert(*sum);
    }
    let (currency, ..) = match single_currency(&combined, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let sum = |sums: &Sums| sums.get(&currency).map_or(Amount::ZERO, |(_, amount)| *amount);
    let (label, amount) = if question.has(super::SPENDING_WORDS) {
        ("outflow", sum(&outflow))
    } else if question.has(&["income", "inflow", "revenue"]) {
        ("inflow", sum(&inflow))
    } else {
        ("net", money::subtract(sum(&inflow), sum(&outflow))?)
    };
    let months = period.months.len() as i64;
    let mut answer = Answer::new(format!(
        "The average monthly {label} over {months} months ({}) is {}.",
        period.label,
        format_with_currency(div_rounded(amount, months), currency)
    ));
    cite_newest(sql, &mut answer, Some(&period), None, None)?;
    Ok(answer)
}

/// Spending by category.
pub(super) fn by_category(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let mut lines: Vec<(Amount, String)> = Vec::new();
    let mut answer = Answer::default();
    for category in category::all(sql)? {
        let sums = load_sums(sql, (Subject::Category, category.id.as_str()), period.as_ref(), "outflow")?;
        for (currency, (_, amount)) in sums {
            if question.currency().is_none_or(|requested| requested == currency) {
                lines.push((amount, format!("{} {}", category.name, format_with_currency(amount, currency))));
                answer.cite(&category, format_with_currency(amount, currency));
            }
        }
    }
    lines.sort_by(|a, b| b.cmp(a));
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    answer.text = if lines.is_empty() {
        format!("No spending has a category {}.", period_text(period.as_ref()))
    } else {
        format!("Spending by category {}: {}.", period_text(period.as_ref()), lines.join(", "))
    };
    Ok(answer)
}

/// The newest transactions.
pub(super) fn list_transactions(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let party = counterparty::find_mentioned(sql, &question.words)?;
    let mut answer = Answer::default();
    cite_newest(sql, &mut answer, period.as_ref(), None, party.as_ref().map(|party| party.id.as_str()))?;
    let lines: Vec<&str> = answer.evidence.iter().map(|(_, _, excerpt)| excerpt.as_str()).collect();
    answer.text = if lines.is_empty() {
        format!("There are no transactions {}.", period_text(period.as_ref()))
    } else {
        format!("The newest transactions {}: {}.", period_text(period.as_ref()), lines.join("; "))
    };
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn div_rounded_rounds_to_the_cent() {
        let check = |amount: &str, count: i64, expect: &str| {
            assert_eq!(money::to_wire(div_rounded(Amount::parse(amount).unwrap(), count)), expect);
        };
        check("1300000", 12, "108333.33");
        check("10", 3, "3.33");
        check("20", 3, "6.67");
        check("-20", 3, "-6.67");
        check("5", 0, "5.00");
    }
}
