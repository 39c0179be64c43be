//! The page of an obligation.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{
    CounterpartyNames, Section, add_transactions, escape_markdown, intent_line, obligation_link,
};
use crate::money::format_with_currency;
use crate::obligation::Obligation;
use crate::transaction::Transaction;
use crate::{calendar, entity, payment_intent};

const INTENTS: usize = 5;
const TRANSACTIONS: usize = 10;

pub(super) fn build_page(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<PageBuilder>> {
    let Some(row) = entity::find::<Obligation>(sql, id)? else { return Ok(None) };
    let amount = format_with_currency(row.amount_due, row.currency);
    let mut builder = PageBuilder::new(sql, format!("{} {id}", row.kind));
    let self_link = obligation_link(&row);
    builder.depend_on(&row);
    builder.expire_at_midnight(now);
    let direction =
        row.direction.map_or("not said whether payable or receivable", |direction| direction.as_str());
    builder.add_line(Section::CurrentTruth, format!("{amount}, {direction}, {} — {self_link}", row.status));
    if let Some(minimum) = row.minimum_due {
        builder.add_line(
            Section::CurrentTruth,
            format!("At least {} — {self_link}", format_with_currency(minimum, row.currency)),
        );
    }
    builder.add_line(
        Section::CurrentTruth,
        format!("Due on {} — {self_link}", calendar::format_date(row.due_date)),
    );
    if let Some(recurrence) = &row.recurrence {
        builder.add_line(
            Section::CurrentTruth,
            format!("Recurs: {} — {self_link}", escape_markdown(recurrence)),
        );
    }
    let names = CounterpartyNames::load(sql, &mut builder, [row.counterparty_id.as_str()])?;
    builder.add_line(Section::LinkedEntities, names.link(row.counterparty_id.as_str()));
    for intent in payment_intent::by_obligation(sql, id, INTENTS)? {
        builder.depend_on(&intent);
        let section = if intent.status.is_open() { Section::LinkedEntities } else { Section::Timeline };
        builder.add_line(section, intent_line(&intent));
    }
    let ids = &row.linked_transaction_ids[..row.linked_transaction_ids.len().min(TRANSACTIONS)];
    let mut linked: Vec<Transaction> = entity::find_many(sql, ids)?;
    linked.sort_by(|a, b| (b.transaction_date, &b.id).cmp(&(a.transaction_date, &a.id)));
    add_transactions(sql, &mut builder, Section::RecentActivity, &linked)?;
    if row.is_overdue(now) {
        builder.add_line(
            Section::RiskNotes,
            format!("Overdue since {} — {self_link}", calendar::format_date(row.due_date)),
        );
    }
    if row.meta.provenance.is_assertion() {
        builder.add_line(
            Section::OpenQuestions,
            format!("Only asserted ({}), not corroborated — {self_link}", row.meta.provenance),
        );
    }
    Ok(Some(builder))
}
