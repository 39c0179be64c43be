//! The pages of months and quarters.

use std::collections::BTreeMap;

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::Draft;
use super::PageName;
use super::draft::{Names, Section, list_transactions, obligation_line};
use crate::civil::Month;
use crate::money::{self, spoken};
use crate::total::{self, Subject, Total};
use crate::transaction::{Filter, Transaction};
use crate::{noun, obligation, peak, tags};

const TOP: usize = 5;
const TOP_OF_FLOW: usize = 3;
const LISTED: usize = 15;
const DUE: usize = 25;
const LARGEST: usize = 5;

/// What came in and went out in one currency.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub inflow: Amount,
    pub outflow: Amount,
    pub count: i64,
}

/// The sums of some months by currency.
pub(crate) fn flows(sql: &mut dyn Sql, months: &[Month]) -> Result<BTreeMap<Currency, Flow>> {
    let mut flows: BTreeMap<Currency, Flow> = BTreeMap::new();
    for month in months {
        for Total { currency, direction, count, amount, .. } in
            total::of(sql, Subject::Everything, "", &month.to_string())?
        {
            let flow = flows.entry(currency).or_default();
            flow.count += count;
            match direction.as_str() {
                "inflow" => flow.inflow = money::add(flow.inflow, amount)?,
                "outflow" => flow.outflow = money::add(flow.outflow, amount)?,
                // A transfer between own accounts is neither; an adjustment is no movement.
                _ => {}
            }
        }
    }
    Ok(flows)
}

/// The counterparties with the greatest sums over some months.
pub(crate) fn top(
    sql: &mut dyn Sql,
    months: &[Month],
    currency: Currency,
    direction: &str,
    limit: usize,
) -> Result<Vec<(String, Amount)>> {
    let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
    for month in months {
        // More than are shown, since who is first over a quarter may be second in each of its months.
        let greatest =
            total::greatest(sql, Subject::Counterparty, &month.to_string(), currency, direction, limit * 4)?;
        for total in greatest {
            let sum = sums.entry(total.subject_id).or_insert(Amount::ZERO);
            *sum = money::add(*sum, total.amount)?;
        }
    }
    let mut sums: Vec<(String, Amount)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    sums.truncate(limit);
    Ok(sums)
}

/// The page of a month; `None` if nothing was posted in it.
pub(super) fn summary(sql: &mut dyn Sql, month: Month, now: Timestamp) -> Result<Option<Draft>> {
    let flows = flows(sql, &[month])?;
    let rows = newest(sql, &[month], LISTED)?;
    if flows.is_empty() && rows.is_empty() {
        return Ok(None);
    }
    let mut draft = Draft::new(sql, format!("Summary of {month}"));
    draft.basis.tags.insert(tags::month(month));
    draft.basis.tags.insert(tags::all("obligation"));
    draft.depends_on_the_day(now);
    say_flows(sql, &mut draft, &flows, &[month], TOP, &PageName::FlowOfMonth(month))?;
    list_transactions(sql, &mut draft, Section::RecentActivity, &rows)?;
    let due = due(sql, &[month])?;
    let names = Names::of(sql, &mut draft, due.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &due {
        draft.see(row);
        let section = if row.is_overdue(now) { Section::RiskNotes } else { Section::Timeline };
        draft.say(section, obligation_line(row, &names, now));
    }
    Ok(Some(draft))
}

/// The page of what flowed in some months; `None` if nothing did.
pub(super) fn flow(sql: &mut dyn Sql, period: &str, months: &[Month]) -> Result<Option<Draft>> {
    let flows = flows(sql, months)?;
    if flows.is_empty() {
        return Ok(None);
    }
    let mut draft = Draft::new(sql, format!("Cash flow of {period}"));
    for month in months {
        draft.basis.tags.insert(tags::month(month));
    }
    draft.basis.tags.insert(tags::all("obligation"));
    let first = months.first().copied().unwrap_or(Month { year: 1970, month: 1 });
    say_flows(sql, &mut draft, &flows, months, TOP_OF_FLOW, &PageName::Month(first))?;
    let mut largest: Vec<(Amount, String)> = Vec::new();
    for currency in flows.keys() {
        for direction in ["inflow", "outflow"] {
            for month in months {
                largest.extend(peak::of(sql, &month.to_string(), *currency, direction)?);
            }
        }
    }
    largest.sort_unstable_by(|one, other| other.cmp(one));
    let ids: Vec<String> = largest.into_iter().take(LARGEST).map(|(_, id)| id).collect();
    let mut rows: Vec<Transaction> = noun::find_many(sql, &ids)?;
    rows.sort_by(|one, other| other.amount.cmp(&one.amount).then_with(|| other.id.cmp(&one.id)));
    list_transactions(sql, &mut draft, Section::RecentActivity, &rows)?;
    let due = due(sql, months)?;
    let names = Names::of(sql, &mut draft, due.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &due {
        draft.see(row);
        // A page about a period does not look at the clock.
        draft.say(Section::Timeline, obligation_line(row, &names, first.start()));
    }
    Ok(Some(draft))
}

fn bounds(months: &[Month]) -> (Option<Timestamp>, Option<Timestamp>) {
    let start = months.first().map(|month| month.start());
    let end = months.last().map(|month| month.plus(1).start().plus_ms(-1));
    (start, end)
}

fn newest(sql: &mut dyn Sql, months: &[Month], limit: usize) -> Result<Vec<Transaction>> {
    let (since, until) = bounds(months);
    Filter { since, until, ..Filter::default() }.newest(sql, limit)
}

fn due(sql: &mut dyn Sql, months: &[Month]) -> Result<Vec<obligation::Obligation>> {
    let (since, until) = bounds(months);
    obligation::open(sql, None, since, until, DUE)
}

/// Inflow, outflow and net by currency, each with who stands behind it. Currencies are never added.
fn say_flows(
    sql: &mut dyn Sql,
    draft: &mut Draft,
    flows: &BTreeMap<Currency, Flow>,
    months: &[Month],
    limit: usize,
    other_page: &PageName,
) -> Result<()> {
    for (currency, flow) in flows {
        let mut top_of: BTreeMap<&str, Vec<(String, Amount)>> = BTreeMap::new();
        for direction in ["inflow", "outflow"] {
            top_of.insert(direction, top(sql, months, *currency, direction, limit)?);
        }
        let names = Names::of(sql, draft, top_of.values().flatten().map(|(id, _)| id.as_str()))?;
        let net = money::subtract(flow.inflow, flow.outflow)?;
        draft.see_figure(
            format!("flow:{currency}"),
            format!("{} {} {}", flow.inflow, flow.outflow, flow.count),
        );
        let mut evidence: BTreeMap<&str, String> = BTreeMap::new();
        for direction in ["inflow", "outflow"] {
            let mut cited: Vec<String> = Vec::new();
            for month in months {
                for (_, id) in peak::of(sql, &month.to_string(), *currency, direction)?.into_iter().take(2) {
                    cited.push(super::draft::link(&id, &Transaction::uri(&id)));
                }
            }
            evidence.insert(direction, cited.join(", "));
        }
        let cite = |direction: &str| match evidence.get(direction).filter(|cited| !cited.is_empty()) {
            Some(cited) => format!("largest: {cited}"),
            None => format!("see {}", super::draft::link(&other_page.slug(), &other_page.uri())),
        };
        draft.say(
            Section::CurrentTruth,
            format!("Inflow: {} — {}", spoken(flow.inflow, *currency), cite("inflow")),
        );
        draft.say(
            Section::CurrentTruth,
            format!("Outflow: {} — {}", spoken(flow.outflow, *currency), cite("outflow")),
        );
        let page = super::draft::link(&other_page.slug(), &other_page.uri());
        draft.say(Section::CurrentTruth, format!("Net: {} — see {page}", spoken(net, *currency)));
        draft.say(Section::CurrentTruth, format!("{} transactions in {currency} — see {page}", flow.count));
        for (direction, top) in top_of {
            for (id, amount) in top {
                draft.see_figure(format!("{direction}:{currency}:{id}"), amount);
                draft.say(
                    Section::LinkedEntities,
                    format!("{direction} of {} — {}", spoken(amount, *currency), names.link(&id)),
                );
            }
        }
        if net.is_negative() {
            draft.say(
                Section::RiskNotes,
                format!("More went out than came in: {} — see {page}", spoken(net, *currency)),
            );
        }
    }
    Ok(())
}
