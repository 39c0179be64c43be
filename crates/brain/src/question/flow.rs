//! What came in and went out.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::period::Period;
use super::{Answer, Question};
use crate::category;
use crate::civil::Month;
use crate::counterparty::{self, Counterparty};
use crate::money::{self, spoken};
use crate::total::{self, Subject};
use crate::transaction::{Direction, Filter, Transaction};
use crate::{civil, noun, peak};

/// Sums of one direction by currency.
type Sums = BTreeMap<Currency, (i64, Amount)>;

/// The sums of a subject over a period, or over all time.
fn sums(
    sql: &mut dyn Sql,
    subject: (Subject, &str),
    period: Option<&Period>,
    direction: &str,
) -> Result<Sums> {
    let mut sums = Sums::new();
    let periods: Vec<String> = match period {
        Some(period) => period.months.iter().map(Month::to_string).collect(),
        None => vec![total::EVER.to_owned()],
    };
    for period in periods {
        for found in total::of(sql, subject.0, subject.1, &period)? {
            if found.direction == direction {
                let sum = sums.entry(found.currency).or_insert((0, Amount::ZERO));
                *sum = (sum.0 + found.count, money::add(sum.1, found.amount)?);
            }
        }
    }
    Ok(sums)
}

/// One of the sums: the one of the named currency, or the only one. Several are not added.
fn only(sums: &Sums, question: &Question) -> Result<(Currency, i64, Amount), Answer> {
    let wanted = question.currency().filter(|currency| sums.contains_key(currency));
    match (wanted, sums.len()) {
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
            Err(Answer::none(format!(
                "That is in several currencies ({}), which are not added. Name one of them.",
                codes.join(", ")
            )))
        }
    }
}

fn when(period: Option<&Period>) -> String {
    period.map_or_else(|| "over all time".to_owned(), |period| format!("in {}", period.label))
}

/// The newest transactions of a period, which an answer about it cites.
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
        until: period.and_then(|period| period.months.last()).map(|month| month.plus(1).start().plus_ms(-1)),
        ..Filter::default()
    };
    for row in filter.newest(sql, crate::limits::CITATIONS)? {
        answer.cite(&row, excerpt(&row));
    }
    Ok(())
}

pub(super) fn excerpt(row: &Transaction) -> String {
    let what = row.description_normalized.as_deref().or(row.description_raw.as_deref()).unwrap_or_default();
    let line = format!(
        "{} {} {} {what}",
        civil::date(row.transaction_date),
        spoken(row.amount, row.currency),
        row.direction
    );
    line.trim_end().to_owned()
}

/// How many transactions.
pub(super) fn count(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let mut counted = 0;
    for direction in Direction::NAMES {
        let sums = sums(sql, (Subject::Everything, ""), period.as_ref(), direction)?;
        counted += sums.values().map(|(count, _)| count).sum::<i64>();
    }
    let mut answer = Answer::new(format!("{counted} transactions were posted {}.", when(period.as_ref())));
    cite_newest(sql, &mut answer, period.as_ref(), None, None)?;
    Ok(answer)
}

/// What was spent: with somebody, on something, or in all.
pub(super) fn spending(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    if let Some(party) = counterparty::named(sql, &question.words)? {
        return with_party(sql, question, &party, Direction::Outflow, "was paid to");
    }
    for found in category::all(sql)? {
        if question.has(&[found.name.to_lowercase().as_str()]) {
            let sums = sums(sql, (Subject::Category, found.id.as_str()), period.as_ref(), "outflow")?;
            let (currency, count, amount) = match only(&sums, question) {
                Ok(sum) => sum,
                Err(answer) => return Ok(answer),
            };
            let mut answer = Answer::new(format!(
                "{} was spent on {} {}, in {count} transactions.",
                spoken(amount, currency),
                found.name,
                when(period.as_ref())
            ));
            answer.cite(&found, found.name.as_str());
            return Ok(answer);
        }
    }
    in_all(sql, question, Direction::Outflow, "was spent")
}

/// What came in.
pub(super) fn income(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    in_all(sql, question, Direction::Inflow, "came in")
}

/// What somebody paid to us.
pub(super) fn received(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    match counterparty::named(sql, &question.words)? {
        Some(party) => with_party(sql, question, &party, Direction::Inflow, "was received from"),
        None => in_all(sql, question, Direction::Inflow, "came in"),
    }
}

fn with_party(
    sql: &mut dyn Sql,
    question: &Question,
    party: &Counterparty,
    direction: Direction,
    verb: &str,
) -> Result<Answer> {
    let period = question.period();
    let subject = (Subject::Counterparty, party.id.as_str());
    let sums = sums(sql, subject, period.as_ref(), direction.as_str())?;
    if sums.is_empty() {
        let mut answer = Answer::new(format!("Nothing {verb} {} {}.", party.title(), when(period.as_ref())));
        answer.cite(party, party.title());
        return Ok(answer);
    }
    let (currency, count, amount) = match only(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let times = if count == 1 { "transaction" } else { "transactions" };
    let mut answer = Answer::new(format!(
        "{} {verb} {} {}, in {count} {times}.",
        spoken(amount, currency),
        party.title(),
        when(period.as_ref())
    ));
    answer.cite(party, party.title());
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), Some(party.id.as_str()))?;
    Ok(answer)
}

fn in_all(sql: &mut dyn Sql, question: &Question, direction: Direction, verb: &str) -> Result<Answer> {
    let period = question.period();
    let sums = sums(sql, (Subject::Everything, ""), period.as_ref(), direction.as_str())?;
    let (currency, count, amount) = match only(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let text =
        format!("{} {verb} {}, in {count} transactions.", spoken(amount, currency), when(period.as_ref()));
    let mut answer = Answer::new(text);
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), None)?;
    Ok(answer)
}

/// What one transaction comes to.
pub(super) fn average(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let direction =
        if question.has(&["income", "inflow", "received"]) { Direction::Inflow } else { Direction::Outflow };
    let sums = sums(sql, (Subject::Everything, ""), period.as_ref(), direction.as_str())?;
    let (currency, count, amount) = match only(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let mut answer = Answer::new(format!(
        "The average {direction} {} is {}, over {count} transactions.",
        when(period.as_ref()),
        spoken(divided(amount, count), currency)
    ));
    cite_newest(sql, &mut answer, period.as_ref(), Some(direction), None)?;
    Ok(answer)
}

/// A sum by a count, to the cent.
fn divided(amount: Amount, count: i64) -> Amount {
    const CENT: i128 = 10_000_000;
    let (total, count) = (amount.total_nanos(), i128::from(count.max(1)));
    let cents = total / CENT;
    // Half a cent goes away from zero.
    let rounded = (2 * cents.abs() + count) / (2 * count) * cents.signum();
    Amount::from_nanos(rounded * CENT).unwrap_or(Amount::ZERO)
}

/// The largest movement of a period.
pub(super) fn largest(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period().or_else(|| newest_period(sql).ok().flatten());
    let Some(period) = period else { return Ok(Answer::new("There are no transactions.")) };
    let direction =
        if question.has(&["income", "inflow", "deposit", "receipt"]) { "inflow" } else { "outflow" };
    let sums = sums(sql, (Subject::Everything, ""), Some(&period), direction)?;
    let (currency, ..) = match only(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let mut peaks = Vec::new();
    for month in &period.months {
        peaks.extend(peak::of(sql, &month.to_string(), currency, direction)?);
    }
    peaks.sort_unstable_by(|one, other| other.cmp(one));
    let Some((_, id)) = peaks.first() else { return Ok(Answer::new("Nothing is known of that.")) };
    let row: Transaction = noun::expect(sql, id)?;
    let mut answer =
        Answer::new(format!("The largest {direction} in {} is {}.", period.label, excerpt(&row)));
    answer.cite(&row, excerpt(&row));
    Ok(answer)
}

fn newest_period(sql: &mut dyn Sql) -> Result<Option<Period>> {
    Ok(total::newest_month(sql)?.map(|month| Period::trailing(month, 1)))
}

/// Inflow, outflow, net, and who stands behind them.
pub(super) fn summary(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        None => match newest_period(sql)? {
            Some(period) => period,
            None => return Ok(Answer::new("There are no transactions.")),
        },
    };
    let inflow = sums(sql, (Subject::Everything, ""), Some(&period), "inflow")?;
    let outflow = sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
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
            spoken(sum(&inflow), currency),
            spoken(sum(&outflow), currency),
            spoken(net, currency)
        ));
        for direction in ["inflow", "outflow"] {
            let names = greatest(sql, &period, currency, direction, &mut answer)?;
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

fn greatest(
    sql: &mut dyn Sql,
    period: &Period,
    currency: Currency,
    direction: &str,
    answer: &mut Answer,
) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for (id, amount) in ranked(sql, period, currency, direction, 3)? {
        let party: Counterparty = noun::expect(sql, &id)?;
        answer.cite(&party, format!("{} {direction}", spoken(amount, currency)));
        names.push(format!("{} ({})", party.title(), spoken(amount, currency)));
    }
    Ok(names)
}

fn ranked(
    sql: &mut dyn Sql,
    period: &Period,
    currency: Currency,
    direction: &str,
    limit: usize,
) -> Result<Vec<(String, Amount)>> {
    let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
    for month in &period.months {
        for found in
            total::greatest(sql, Subject::Counterparty, &month.to_string(), currency, direction, limit * 4)?
        {
            let sum = sums.entry(found.subject_id).or_insert(Amount::ZERO);
            *sum = money::add(*sum, found.amount)?;
        }
    }
    let mut sums: Vec<(String, Amount)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    sums.truncate(limit);
    Ok(sums)
}

/// Who received or paid most.
pub(super) fn top(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let direction = if question.has(&["customer", "customers"]) { "inflow" } else { "outflow" };
    let period = question.period();
    let sums = sums(sql, (Subject::Everything, ""), period.as_ref(), direction)?;
    let (currency, ..) = match only(&sums, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let ranked = match &period {
        Some(period) => ranked(sql, period, currency, direction, 5)?,
        None => total::greatest(sql, Subject::Counterparty, total::EVER, currency, direction, 5)?
            .into_iter()
            .map(|found| (found.subject_id, found.amount))
            .collect(),
    };
    let mut answer = Answer::default();
    let mut names = Vec::new();
    for (id, amount) in ranked {
        let party: Counterparty = noun::expect(sql, &id)?;
        answer.cite(&party, format!("{} {direction}", spoken(amount, currency)));
        names.push(format!("{} ({})", party.title(), spoken(amount, currency)));
    }
    answer.text = if names.is_empty() {
        "No counterparty is known.".to_owned()
    } else {
        format!("By {direction} {}: {}.", when(period.as_ref()), names.join(", "))
    };
    Ok(answer)
}

/// How spending moved against the period before.
pub(super) fn spending_change(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        None => match newest_period(sql)? {
            Some(period) => period,
            None => return Ok(Answer::new("There are no transactions.")),
        },
    };
    let before = period.before();
    let now = sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
    let then = sums(sql, (Subject::Everything, ""), Some(&before), "outflow")?;
    let mut both = now.clone();
    for (currency, sum) in &then {
        both.entry(*currency).or_insert(*sum);
    }
    let (currency, ..) = match only(&both, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let sum = |sums: &Sums| sums.get(&currency).map_or(Amount::ZERO, |(_, amount)| *amount);
    let change = money::subtract(sum(&now), sum(&then))?;
    let verb = if change.is_negative() { "fell" } else { "rose" };
    let mut answer = Answer::new(format!(
        "Spending {verb} by {} from {} in {} to {} in {}.",
        spoken(change.checked_abs().unwrap_or(change), currency),
        spoken(sum(&then), currency),
        before.label,
        spoken(sum(&now), currency),
        period.label
    ));
    let mut moved: BTreeMap<String, Amount> = BTreeMap::new();
    for (of, sign) in [(&period, 1), (&before, -1)] {
        for (id, amount) in ranked(sql, of, currency, "outflow", 20)? {
            let known = moved.entry(id).or_insert(Amount::ZERO);
            *known = if sign > 0 { money::add(*known, amount)? } else { money::subtract(*known, amount)? };
        }
    }
    let mut moved: Vec<(String, Amount)> =
        moved.into_iter().filter(|(_, amount)| !amount.is_zero()).collect();
    moved.sort_by_key(|(id, amount)| (std::cmp::Reverse(amount.checked_abs()), id.clone()));
    let mut movers = Vec::new();
    for (id, amount) in moved.into_iter().take(3) {
        let party: Counterparty = noun::expect(sql, &id)?;
        let sign = if amount.is_negative() { "" } else { "+" };
        movers.push(format!("{} ({sign}{})", party.title(), spoken(amount, currency)));
        answer.cite(&party, format!("{sign}{}", spoken(amount, currency)));
    }
    if !movers.is_empty() {
        answer.text.push_str(&format!(" What moved most: {}.", movers.join(", ")));
    }
    cite_newest(sql, &mut answer, Some(&period), Some(Direction::Outflow), None)?;
    Ok(answer)
}

/// What a month brings or costs on average.
pub(super) fn trailing_average(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = match question.period() {
        Some(period) => period,
        // The last whole months before this one.
        None => Period::trailing(Month::of(question.now).plus(-1), 12),
    };
    let inflow = sums(sql, (Subject::Everything, ""), Some(&period), "inflow")?;
    let outflow = sums(sql, (Subject::Everything, ""), Some(&period), "outflow")?;
    let mut both = inflow.clone();
    for (currency, sum) in &outflow {
        both.entry(*currency).or_insert(*sum);
    }
    let (currency, ..) = match only(&both, question) {
        Ok(sum) => sum,
        Err(answer) => return Ok(answer),
    };
    let sum = |sums: &Sums| sums.get(&currency).map_or(Amount::ZERO, |(_, amount)| *amount);
    let (what, amount) = if question.has(super::SPENDING) {
        ("outflow", sum(&outflow))
    } else if question.has(&["income", "inflow", "revenue"]) {
        ("inflow", sum(&inflow))
    } else {
        ("net", money::subtract(sum(&inflow), sum(&outflow))?)
    };
    let months = period.months.len() as i64;
    let mut answer = Answer::new(format!(
        "The average monthly {what} over {months} months ({}) is {}.",
        period.label,
        spoken(divided(amount, months), currency)
    ));
    cite_newest(sql, &mut answer, Some(&period), None, None)?;
    Ok(answer)
}

/// What was spent on what.
pub(super) fn by_category(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let mut lines: Vec<(Amount, String)> = Vec::new();
    let mut seen = Sums::new();
    let mut answer = Answer::default();
    for found in category::all(sql)? {
        let sums = sums(sql, (Subject::Category, found.id.as_str()), period.as_ref(), "outflow")?;
        for (currency, (count, amount)) in sums {
            if question.currency().is_none_or(|wanted| wanted == currency) {
                seen.entry(currency).or_insert((count, amount));
                lines.push((amount, format!("{} {}", found.name, spoken(amount, currency))));
                answer.cite(&found, spoken(amount, currency));
            }
        }
    }
    lines.sort_by(|one, other| other.cmp(one));
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    answer.text = if lines.is_empty() {
        format!("No spending has a category {}.", when(period.as_ref()))
    } else {
        format!("Spending by category {}: {}.", when(period.as_ref()), lines.join(", "))
    };
    Ok(answer)
}

/// The newest transactions.
pub(super) fn list(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let period = question.period();
    let party = counterparty::named(sql, &question.words)?;
    let mut answer = Answer::default();
    cite_newest(sql, &mut answer, period.as_ref(), None, party.as_ref().map(|party| party.id.as_str()))?;
    let lines: Vec<&str> = answer.evidence.iter().map(|(_, _, excerpt)| excerpt.as_str()).collect();
    answer.text = if lines.is_empty() {
        format!("There are no transactions {}.", when(period.as_ref()))
    } else {
        format!("The newest transactions {}: {}.", when(period.as_ref()), lines.join("; "))
    };
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_is_rounded_to_the_cent() {
        let check = |amount: &str, count: i64, expect: &str| {
            assert_eq!(money::wire(divided(Amount::parse(amount).unwrap(), count)), expect);
        };
        check("1300000", 12, "108333.33");
        check("10", 3, "3.33");
        check("20", 3, "6.67");
        check("-20", 3, "-6.67");
        check("5", 0, "5.00");
    }
}
