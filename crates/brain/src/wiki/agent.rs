//! The page of an agent.

use quad_core::Result;
use quad_store::Sql;

use super::Draft;
use super::draft::{Section, intent_line, plain};
use crate::{AgentSummary, civil, contribution, payment_intent, tags};

const INTENTS: usize = 10;

/// The page of an agent that the registry knows, or that has left a trace in the ledger.
pub(super) fn draft(sql: &mut dyn Sql, id: &str, agent: Option<&AgentSummary>) -> Result<Option<Draft>> {
    let contributor = contribution::contributor(sql, id)?;
    let (intents, _) = payment_intent::of_agent(sql, id, None, None, INTENTS)?;
    if agent.is_none() && contributor.count == 0 && intents.is_empty() {
        return Ok(None);
    }
    let mut draft = Draft::new(sql, id);
    draft.basis.tags.insert(tags::row("agent", id));
    match agent {
        Some(agent) => {
            draft.see_figure(
                "registration",
                format!("{} {} {}", agent.kind, agent.state, agent.scopes.join(" ")),
            );
            let day = civil::date(agent.registered_at);
            draft.say(Section::CurrentTruth, format!("{}, {}, registered on {day}", agent.kind, agent.state));
            draft.say(Section::CurrentTruth, format!("Scopes: {}", plain(&agent.scopes.join(", "))));
            if agent.state != "active" {
                draft.say(Section::RiskNotes, format!("The agent is {}", agent.state));
            }
        }
        None => draft.say(Section::OpenQuestions, "The registry does not know this agent"),
    }
    draft.see_figure("contributions", contributor.count);
    draft.say(Section::CurrentTruth, format!("{} contributions of evidence", contributor.count));
    if contributor.count > 0 && contributor.is_held() {
        draft.say(
            Section::RiskNotes,
            "What it contributes is held back until somebody releases it or it has made more",
        );
    }
    for intent in &intents {
        draft.see(intent);
        draft.say(Section::RecentActivity, intent_line(intent));
    }
    Ok(Some(draft))
}
