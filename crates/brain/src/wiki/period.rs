//! The pages of months and quarters.

use std::collections::BTreeMap;

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::Sql;

use super::PageBuilder;
use super::PageName;
use super::page_builder::{CounterpartyNames, Section, add_transactions, obligation_line};
use crate::calendar::Month;
use crate::money::{self, format_with_currency};
use crate::total::{self, Subject, Total};
use crate::transaction::{Filter, Transaction};
use crate::{entity, largest, obligation, tags};

const TOP_COUNTERPARTIES: usize = 5;
const TOP_CASH_FLOW_COUNTERPARTIES: usize = 3;
const LISTED_TRANSACTIONS: usize = 15;
const LISTED_OBLIGATIONS: usize = 25;
const LISTED_LARGEST: usize = 5;

/// Inflow and outflow in one currency.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CashFlow {
    pub inflow: Amount,
    pub outflow: Amount,
    pub count: i64,
}

/// The cash flow of some months by currency.
pub(crate) fn cash_flows(sql: &mut dyn Sql, months: &[Month]) -> Result<BTreeMap<Currency, CashFlow>> {
    let mut flows: BTreeMap<Currency, CashFlow> = BTreeMap::new();
    for month in months {
        for Total { currency, direction, count, amount, .. } in
            total::for_subject(sql, Subject::Everything, "", &month.to_string())?
        {
            let flow = flows.entry(currency).or_default();
            flow.count += count;
            match direction.as_str() {
                "inflow" => flow.inflow = money::add(flow.inflow, amount)?,
                "outflow" => flow.outflow = money::add(flow.outflow, amount)?,
                // A transfer is neither inflow nor outflow; an adjustment is no movement.
                _ => {}
            }
        }
    }
    Ok(flows)
}

/// The summary page of a month; `None` if nothing was posted in it.
pub(super) fn build_monthly_summary(
    sql: &mut dyn Sql,
    month: Month,
    now: Timestamp,
) -> Result<Option<PageBuilder>> {
    let flows = cash_flows(sql, &[month])?;
    let rows = newest_transactions(sql, &[month], LISTED_TRANSACTIONS)?;
    if flows.is_empty() && rows.is_empty() {
        return Ok(None);
    }
    let mut builder = PageBuilder::new(sql, format!("Summary of {month}"));
    builder.read_set.tags.insert(tags::month(month));
    builder.read_set.tags.insert(tags::rows_of_kind("obligation"));
    builder.expire_at_midnight(now);
    add_cash_flow_lines(
        sql,
        &mut builder,
        &flows,
        &[month],
        TOP_COUNTERPARTIES,
        &PageName::MonthlyCashFlow(month),
    )?;
    add_transactions(sql, &mut builder, Section::RecentActivity, &rows)?;
    let due = obligations_due(sql, &[month])?;
    let names =
        CounterpartyNames::load(sql, &mut builder, due.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &due {
        builder.depend_on(row);
        let section = if row.is_overdue(now) { Section::RiskNotes } else { Section::Timeline };
        builder.add_line(section, obligation_line(row, &names, now));
    }
    Ok(Some(builder))
}

/// The cash flow page of some months; `None` if nothing was posted in them.
pub(super) fn build_cash_flow(
    sql: &mut dyn Sql,
    period: &str,
    months: &[Month],
) -> Result<Option<PageBuilder>> {
    let flows = cash_flows(sql, months)?;
    if flows.is_empty() {
        return Ok(None);
    }
    let mut builder = PageBuilder::new(sql, format!("Cash flow of {period}"));
    for month in months {
        builder.read_set.tags.insert(tags::month(month));
    }
    builder.read_set.tags.insert(tags::rows_of_kind("obligation"));
    let first = months.first().copied().unwrap_or(Month::from_timestamp(Timestamp(0)));
    add_cash_flow_lines(
        sql,
        &mut builder,
        &flows,
        months,
        TOP_CASH_FLOW_COUNTERPARTIES,
        &PageName::MonthlySummary(first),
    )?;
    let mut largest: Vec<(Amount, String)> = Vec::new();
    for currency in flows.keys() {
        for direction in ["inflow", "outflow"] {
            for month in months {
                largest.extend(largest::for_month(sql, &month.to_string(), *currency, direction)?);
            }
        }
    }
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let ids: Vec<String> = largest.into_iter().take(LISTED_LARGEST).map(|(_, id)| id).collect();
    let mut rows: Vec<Transaction> = entity::find_many(sql, &ids)?;
    rows.sort_by(|a, b| b.amount.cmp(&a.amount).then_with(|| b.id.cmp(&a.id)));
    add_transactions(sql, &mut builder, Section::RecentActivity, &rows)?;
    let due = obligations_due(sql, months)?;
    let names =
        CounterpartyNames::load(sql, &mut builder, due.iter().map(|row| row.counterparty_id.as_str()))?;
    for row in &due {
        builder.depend_on(row);
        // A cash flow page does not depend on the clock.
        builder.add_line(Section::Timeline, obligation_line(row, &names, first.start()));
    }
    Ok(Some(builder))
}

fn time_bounds(months: &[Month]) -> (Option<Timestamp>, Option<Timestamp>) {
    let start = months.first().map(|month| month.start());
    let end = months.last().map(|month| month.end());
    (start, end)
}

fn newest_transactions(sql: &mut dyn Sql, months: &[Month], limit: usize) -> Result<Vec<Transaction>> {
    let (since, until) = time_bounds(months);
    Filter { since, until, ..Filter::default() }.newest(sql, limit)
}

fn obligations_due(sql: &mut dyn Sql, months: &[Month]) -> Result<Vec<obligation::Obligation>> {
    let (since, until) = time_bounds(months);
    obligation::list_open(sql, None, since, until, LISTED_OBLIGATIONS)
}

/// Inflow, outflow and net by currency, each with its largest counterparties. Currencies are never added.
fn add_cash_flow_lines(
    sql: &mut dyn Sql,
    builder: &mut PageBuilder,
    flows: &BTreeMap<Currency, CashFlow>,
    months: &[Month],
    limit: usize,
    other_page: &PageName,
) -> Result<()> {
    for (currency, flow) in flows {
        let mut top_of: BTreeMap<&str, Vec<(String, Amount)>> = BTreeMap::new();
        for direction in ["inflow", "outflow"] {
            top_of.insert(
                direction,
                total::top_over_months(sql, Subject::Counterparty, months, *currency, direction, limit)?,
            );
        }
        let names =
            CounterpartyNames::load(sql, builder, top_of.values().flatten().map(|(id, _)| id.as_str()))?;
        let net = money::subtract(flow.inflow, flow.outflow)?;
        builder.record_value(
            format!("flow:{currency}"),
            format!("{} {} {}", flow.inflow, flow.outflow, flow.count),
        );
        let mut evidence: BTreeMap<&str, String> = BTreeMap::new();
        for direction in ["inflow", "outflow"] {
            let mut links: Vec<String> = Vec::new();
            for month in months {
                for (_, id) in
                    largest::for_month(sql, &month.to_string(), *currency, direction)?.into_iter().take(2)
                {
                    links.push(super::page_builder::link(&id, &Transaction::uri(&id)));
                }
            }
            evidence.insert(direction, links.join(", "));
        }
        let citation = |direction: &str| match evidence.get(direction).filter(|links| !links.is_empty()) {
            Some(links) => format!("largest: {links}"),
            None => format!("see {}", super::page_builder::link(&other_page.slug(), &other_page.uri())),
        };
        builder.add_line(
            Section::CurrentTruth,
            format!("Inflow: {} — {}", format_with_currency(flow.inflow, *currency), citation("inflow")),
        );
        builder.add_line(
            Section::CurrentTruth,
            format!("Outflow: {} — {}", format_with_currency(flow.outflow, *currency), citation("outflow")),
        );
        let page = super::page_builder::link(&other_page.slug(), &other_page.uri());
        builder.add_line(
            Section::CurrentTruth,
            format!("Net: {} — see {page}", format_with_currency(net, *currency)),
        );
        builder.add_line(
            Section::CurrentTruth,
            format!("{} transactions in {currency} — see {page}", flow.count),
        );
        for (direction, top) in top_of {
            for (id, amount) in top {
                builder.record_value(format!("{direction}:{currency}:{id}"), amount);
                builder.add_line(
                    Section::LinkedEntities,
                    format!(
                        "{direction} of {} — {}",
                        format_with_currency(amount, *currency),
                        names.link(&id)
                    ),
                );
            }
        }
        if net.is_negative() {
            builder.add_line(
                Section::RiskNotes,
                format!("More went out than came in: {} — see {page}", format_with_currency(net, *currency)),
            );
        }
    }
    Ok(())
}
