//! The page of a counterparty.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{
    CounterpartyNames, Section, add_transactions, counterparty_link, escape_markdown, invoice_link,
    obligation_line,
};
use crate::counterparty::{Counterparty, RiskLevel, TrustStatus, VerifiedStatus};
use crate::money::format_with_currency;
use crate::total::{self, Subject};
use crate::transaction::Filter;
use crate::{calendar, entity, invoice, obligation};

const LISTED: usize = 10;
const INVOICES: usize = 5;

pub(super) fn build_page(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<PageBuilder>> {
    let Some(counterparty) = entity::find::<Counterparty>(sql, id)? else { return Ok(None) };
    let mut builder = PageBuilder::new(sql, counterparty.title());
    let self_link = counterparty_link(&counterparty);
    builder.depend_on(&counterparty);
    builder.expire_at_midnight(now);
    let verified = counterparty.verified_status.unwrap_or(VerifiedStatus::Unverified);
    builder.add_line(
        Section::CurrentTruth,
        format!("{}, {verified}, trust: {} — {self_link}", counterparty.kind, counterparty.trust_status),
    );
    if let Some(risk) = counterparty.risk_level {
        builder.add_line(Section::CurrentTruth, format!("Risk: {risk} — {self_link}"));
    }
    if !counterparty.aliases.is_empty() {
        let aliases: Vec<String> =
            counterparty.aliases.iter().take(LISTED).map(|alias| escape_markdown(alias)).collect();
        builder
            .add_line(Section::CurrentTruth, format!("Also known as {} — {self_link}", aliases.join(", ")));
    }
    for sum in total::for_subject(sql, Subject::Counterparty, id, total::ALL_TIME)? {
        let amount = format_with_currency(sum.amount, sum.currency);
        builder.record_value(
            format!("{}:{}", sum.currency, sum.direction),
            format!("{} {}", sum.count, sum.amount),
        );
        let noun = if sum.count == 1 { "transaction" } else { "transactions" };
        builder.add_line(
            Section::CurrentTruth,
            format!("{}: {amount} in {} {noun} — {self_link}", sum.direction, sum.count),
        );
    }
    let names = CounterpartyNames::load(sql, &mut builder, [id])?;
    for row in obligation::list_open(sql, Some(id), None, None, LISTED)? {
        builder.depend_on(&row);
        builder.add_line(Section::LinkedEntities, obligation_line(&row, &names, now));
    }
    for row in invoice::newest(sql, Some(id), INVOICES)? {
        builder.depend_on(&row);
        let (amount, day) =
            (format_with_currency(row.amount_due, row.currency), calendar::format_date(row.issue_date));
        builder.add_line(
            Section::LinkedEntities,
            format!("{day}: invoice of {amount}, {} — {}", row.status, invoice_link(&row)),
        );
    }
    let rows = Filter { counterparty_id: Some(id.to_owned()), ..Filter::default() }.newest(sql, LISTED)?;
    add_transactions(sql, &mut builder, Section::RecentActivity, &rows)?;
    match counterparty.risk_level {
        Some(RiskLevel::Sanctioned) => {
            builder.add_line(Section::RiskNotes, format!("Sanctioned: do not pay — {self_link}"))
        }
        Some(RiskLevel::High) => builder.add_line(Section::RiskNotes, format!("High risk — {self_link}")),
        _ => {}
    }
    if verified == VerifiedStatus::Unverified {
        builder.add_line(Section::RiskNotes, format!("The identity is not verified — {self_link}"));
    }
    if counterparty.trust_status == TrustStatus::Paused {
        builder.add_line(Section::RiskNotes, format!("Payments are paused — {self_link}"));
    }
    Ok(Some(builder))
}
