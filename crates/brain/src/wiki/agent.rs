//! The page of an agent.

use quad_core::Result;
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{Section, escape_markdown, intent_line};
use crate::{AgentSummary, calendar, contribution, payment_intent, tags};

const INTENTS: usize = 10;

/// The page of an agent that is in the registry, or that has contributions or payment intents.
pub(super) fn build_page(
    sql: &mut dyn Sql,
    id: &str,
    agent: Option<&AgentSummary>,
) -> Result<Option<PageBuilder>> {
    let contributor = contribution::load_contributor(sql, id)?;
    let (intents, _) = payment_intent::by_agent(sql, id, None, None, INTENTS)?;
    if agent.is_none() && contributor.count == 0 && intents.is_empty() {
        return Ok(None);
    }
    let mut builder = PageBuilder::new(sql, id);
    builder.read_set.tags.insert(tags::row("agent", id));
    match agent {
        Some(agent) => {
            builder.record_value(
                "registration",
                format!("{} {} {}", agent.kind, agent.state, agent.scopes.join(" ")),
            );
            let day = calendar::format_date(agent.registered_at);
            builder.add_line(
                Section::CurrentTruth,
                format!("{}, {}, registered on {day}", agent.kind, agent.state),
            );
            builder.add_line(
                Section::CurrentTruth,
                format!("Scopes: {}", escape_markdown(&agent.scopes.join(", "))),
            );
            if agent.state != "active" {
                builder.add_line(Section::RiskNotes, format!("The agent is {}", agent.state));
            }
        }
        None => builder.add_line(Section::OpenQuestions, "The agent is not registered"),
    }
    builder.record_value("contributions", contributor.count);
    builder.add_line(Section::CurrentTruth, format!("{} contributions of evidence", contributor.count));
    if contributor.count > 0 && contributor.is_on_hold() {
        builder.add_line(
            Section::RiskNotes,
            "Its contributions are on hold until it is released or has contributed more",
        );
    }
    for intent in &intents {
        builder.depend_on(intent);
        builder.add_line(Section::RecentActivity, intent_line(intent));
    }
    Ok(Some(builder))
}
