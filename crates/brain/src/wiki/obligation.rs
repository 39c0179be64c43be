//! The page of an obligation.

use quad_core::{Result, Timestamp};
use quad_store::Sql;

use super::Draft;
use super::draft::{Names, Section, intent_line, list_transactions, obligation_link, plain};
use crate::money::spoken;
use crate::obligation::Obligation;
use crate::transaction::Transaction;
use crate::{civil, noun, payment_intent};

const INTENTS: usize = 5;
const TRANSACTIONS: usize = 10;

pub(super) fn draft(sql: &mut dyn Sql, id: &str, now: Timestamp) -> Result<Option<Draft>> {
    let Some(row) = noun::find::<Obligation>(sql, id)? else { return Ok(None) };
    let amount = spoken(row.amount_due, row.currency);
    let mut draft = Draft::new(sql, format!("{} {id}", row.kind));
    let me = obligation_link(&row);
    draft.see(&row);
    draft.depends_on_the_day(now);
    let owed = row.direction.map_or("not said whether payable or receivable", |owed| owed.as_str());
    draft.say(Section::CurrentTruth, format!("{amount}, {owed}, {} — {me}", row.status));
    if let Some(minimum) = row.minimum_due {
        draft.say(Section::CurrentTruth, format!("At least {} — {me}", spoken(minimum, row.currency)));
    }
    draft.say(Section::CurrentTruth, format!("Due on {} — {me}", civil::date(row.due_date)));
    if let Some(recurrence) = &row.recurrence {
        draft.say(Section::CurrentTruth, format!("Recurs: {} — {me}", plain(recurrence)));
    }
    let names = Names::of(sql, &mut draft, [row.counterparty_id.as_str()])?;
    draft.say(Section::LinkedEntities, names.link(row.counterparty_id.as_str()));
    for intent in payment_intent::of_obligation(sql, id, INTENTS)? {
        draft.see(&intent);
        let section = if intent.status.is_open() { Section::LinkedEntities } else { Section::Timeline };
        draft.say(section, intent_line(&intent));
    }
    let ids = &row.linked_transaction_ids[..row.linked_transaction_ids.len().min(TRANSACTIONS)];
    let mut linked: Vec<Transaction> = noun::find_many(sql, ids)?;
    linked.sort_by(|one, other| (other.transaction_date, &other.id).cmp(&(one.transaction_date, &one.id)));
    list_transactions(sql, &mut draft, Section::RecentActivity, &linked)?;
    if row.is_overdue(now) {
        draft.say(Section::RiskNotes, format!("Overdue since {} — {me}", civil::date(row.due_date)));
    }
    if row.standing.provenance.is_assertion() {
        draft.say(
            Section::OpenQuestions,
            format!("Only asserted ({}), not corroborated — {me}", row.standing.provenance),
        );
    }
    Ok(Some(draft))
}
