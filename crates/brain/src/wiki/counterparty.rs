//! The page of a counterparty.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::Draft;
use super::draft::{
    Names, Section, counterparty_link, invoice_link, list_transactions, obligation_line, plain,
};
use crate::counterparty::{Counterparty, RiskLevel, TrustStatus, VerifiedStatus};
use crate::money::spoken;
use crate::total::{self, Subject};
use crate::transaction::Filter;
use crate::{civil, invoice, noun, obligation};

const LISTED: usize = 10;
const INVOICES: usize = 5;

pub(super) fn draft(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<Draft>> {
    let Some(counterparty) = noun::find::<Counterparty>(sql, id)? else { return Ok(None) };
    let mut draft = Draft::new(sql, counterparty.title());
    let me = counterparty_link(&counterparty);
    draft.see(&counterparty);
    draft.depends_on_the_day(now);
    let verified = counterparty.verified_status.unwrap_or(VerifiedStatus::Unverified);
    draft.say(
        Section::CurrentTruth,
        format!("{}, {verified}, trust: {} — {me}", counterparty.kind, counterparty.trust_status),
    );
    if let Some(risk) = counterparty.risk_level {
        draft.say(Section::CurrentTruth, format!("Risk: {risk} — {me}"));
    }
    if !counterparty.aliases.is_empty() {
        let aliases: Vec<String> =
            counterparty.aliases.iter().take(LISTED).map(|alias| plain(alias)).collect();
        draft.say(Section::CurrentTruth, format!("Also known as {} — {me}", aliases.join(", ")));
    }
    for sum in total::of(sql, Subject::Counterparty, id, total::EVER)? {
        let amount = spoken(sum.amount, sum.currency);
        draft.see_figure(
            format!("{}:{}", sum.currency, sum.direction),
            format!("{} {}", sum.count, sum.amount),
        );
        let times = if sum.count == 1 { "transaction" } else { "transactions" };
        draft.say(
            Section::CurrentTruth,
            format!("{}: {amount} in {} {times} — {me}", sum.direction, sum.count),
        );
    }
    let names = Names::of(sql, &mut draft, [id])?;
    for row in obligation::open(sql, Some(id), None, None, LISTED)? {
        draft.see(&row);
        draft.say(Section::LinkedEntities, obligation_line(&row, &names, now));
    }
    for row in invoice::newest(sql, Some(id), INVOICES)? {
        draft.see(&row);
        let (amount, day) = (spoken(row.amount_due, row.currency), civil::date(row.issue_date));
        draft.say(
            Section::LinkedEntities,
            format!("{day}: invoice of {amount}, {} — {}", row.status, invoice_link(&row)),
        );
    }
    let rows = Filter { counterparty_id: Some(id.to_owned()), ..Filter::default() }.newest(sql, LISTED)?;
    list_transactions(sql, &mut draft, Section::RecentActivity, &rows)?;
    match counterparty.risk_level {
        Some(RiskLevel::Sanctioned) => {
            draft.say(Section::RiskNotes, format!("Sanctioned: do not pay — {me}"))
        }
        Some(RiskLevel::High) => draft.say(Section::RiskNotes, format!("High risk — {me}")),
        _ => {}
    }
    if verified == VerifiedStatus::Unverified {
        draft.say(Section::RiskNotes, format!("Nobody has verified who this is — {me}"));
    }
    if counterparty.trust_status == TrustStatus::Paused {
        draft.say(Section::RiskNotes, format!("Payments are paused — {me}"));
    }
    Ok(Some(draft))
}
