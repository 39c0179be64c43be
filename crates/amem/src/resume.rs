//! `memory_session_resume`: what a caller should know when it comes back. It reads and changes nothing.

use quad_core::Result;
use quad_store::{Sql, params};
use serde_json::{Value, json};

use crate::event_type::EventType;
use crate::node::{self, Field, Node};
use crate::{limits, place, session};

/// Loads the last episode and the newest of what is still believed: a third of `limit` each of decisions, facts and
/// inferences that are sure enough, the rest skills and corrections.
pub(crate) fn resume(sql: &mut dyn Sql, subject: &str, limit: usize, now: i64) -> Result<Value> {
    const FIELDS: [Field; 4] = [Field::Id, Field::Content, Field::Confidence, Field::Session];
    const WITH_TYPE: [Field; 5] =
        [Field::Id, Field::EventType, Field::Content, Field::Confidence, Field::Session];
    let current = place::session_of(sql, subject)?;
    let previous = session::newest_other(sql, current)?;
    let share = (limit / 3).max(1);
    let decisions = newest(sql, EventType::Decision, 0.7, share)?;
    let facts = newest(sql, EventType::Fact, 0.8, share)?;
    let inferences = newest(sql, EventType::Inference, 0.6, share)?;
    let rest = limit.saturating_sub(decisions.len() + facts.len() + inferences.len());
    let mut others = newest(sql, EventType::Skill, 0.0, rest)?;
    others.extend(newest(sql, EventType::Correction, 0.0, rest)?);
    others.sort_by_key(|node| std::cmp::Reverse((node.created_at, node.id)));
    others.truncate(rest);
    let loaded = decisions.len() + facts.len() + inferences.len() + others.len();
    let show = |nodes: &[Node], fields: &[Field]| -> Vec<Value> {
        nodes.iter().map(|node| Value::Object(node.show(fields, now))).collect()
    };
    let message = match loaded {
        0 => "There is nothing to resume: the memory is empty".to_owned(),
        1 => "Resumed with 1 memory".to_owned(),
        _ => format!("Resumed with {loaded} memories"),
    };
    Ok(json!({
        "current_session": current.map(|id| id.0),
        "previous_session": previous.map(|id| id.0),
        "last_episode": last_episode(sql)?,
        "recent_decisions": show(&decisions, &FIELDS),
        "recent_facts": show(&facts, &FIELDS),
        "recent_inferences": show(&inferences, &FIELDS),
        "recent_other": show(&others, &WITH_TYPE),
        "total_loaded": loaded,
        "message": message,
    }))
}

/// The newest episode.
pub(crate) fn last_episode(sql: &mut dyn Sql) -> Result<Value> {
    let found = newest(sql, EventType::Episode, 0.0, 1)?;
    Ok(found.first().map_or(Value::Null, |node| {
        json!({"session_id": node.session_id.0, "created_at": node.created_at, "summary": node.content})
    }))
}

/// The newest nodes of a type that nothing supersedes and that are at least so sure.
fn newest(sql: &mut dyn Sql, event_type: EventType, confidence: f64, wanted: usize) -> Result<Vec<Node>> {
    let tenant = sql.tenant().clone();
    let (mut found, mut below, mut visited) = (Vec::new(), i64::MAX, 0);
    // Most are sure enough; where they are not, ever more are looked at.
    let mut step = wanted.clamp(4, limits::PAGE_STEP);
    while found.len() < wanted && visited < limits::RESUME_VISITED {
        let rows = sql.query(
            &format!(
                "SELECT {} FROM amem_node WHERE tenant_id = $1 AND event_type = $2 AND id < $3 ORDER BY id DESC LIMIT $4",
                node::COLUMNS
            ),
            params![tenant.as_str(), event_type.number(), below, step as i64],
        )?;
        visited += rows.len();
        for row in &rows {
            let node = Node::from_row(row)?;
            below = node.id.0;
            if found.len() < wanted && node.superseded_by.is_none() && node.confidence >= confidence {
                found.push(node);
            }
        }
        if rows.len() < step {
            break;
        }
        step = (step * 4).min(limits::PAGE_STEP);
    }
    Ok(found)
}
