//! Answers about payment intents and the policy.

use quad_core::Result;
use quad_store::Sql;

use super::{Answer, Question};
use crate::money::format_with_currency;
use crate::payment_intent::{self, IntentStatus};
use crate::{limits, policy};

/// Payment intents that wait for a decision.
pub(super) fn pending_intents(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let mut answer = Answer::default();
    let mut lines = Vec::new();
    for status in
        [IntentStatus::Proposed, IntentStatus::PendingApproval, IntentStatus::AwaitingSecondApproval]
    {
        for row in payment_intent::by_status(sql, status, limits::MAX_CITATIONS)? {
            let line =
                format!("{} {} ({status})", format_with_currency(row.amount, row.currency), row.action_type);
            answer.cite(&row, line.as_str());
            lines.push(line);
        }
    }
    answer.text = if lines.is_empty() {
        "Nothing waits for a decision.".to_owned()
    } else {
        format!("{} wait for a decision: {}.", lines.len(), lines.join("; "))
    };
    Ok(answer)
}

/// What the active policy allows without a person.
pub(super) fn policy(sql: &mut dyn Sql, _: &Question) -> Result<Answer> {
    let Some(active) = policy::active(sql)? else {
        return Ok(Answer::new("No policy is active, so nothing is allowed without a person."));
    };
    let rules =
        active.content.get("rules").and_then(|rules| rules.as_array()).map_or(&[] as &[_], Vec::as_slice);
    let auto: Vec<&str> = rules
        .iter()
        .filter(|rule| rule["execute"] == "auto")
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    let text = if auto.is_empty() {
        format!("The policy {} (version {}) allows nothing by itself.", active.id, active.version)
    } else {
        format!(
            "By the policy {} (version {}), these rules allow by themselves: {}.",
            active.id,
            active.version,
            auto.join(", ")
        )
    };
    let mut answer = Answer::new(text.clone());
    answer.cite(&active, text);
    Ok(answer)
}
