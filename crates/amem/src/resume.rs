//! `memory_session_resume`: the context that a caller loads at the start. It changes nothing.

use quad_core::Result;
use quad_store::{Sql, params};
use serde_json::{Value, json};

use crate::event_type::EventType;
use crate::node::{self, Node, StaticField};
use crate::{caller_state, limits, session};

/// Loads the last episode and the newest memories that nothing supersedes: a third of `limit` each for decisions,
/// facts and inferences above a minimum confidence, the rest for skills and corrections.
pub(crate) fn resume(sql: &mut dyn Sql, subject: &str, limit: usize) -> Result<Value> {
    const FIELDS: [StaticField; 4] =
        [StaticField::Id, StaticField::Content, StaticField::Confidence, StaticField::Session];
    const WITH_TYPE: [StaticField; 5] = [
        StaticField::Id,
        StaticField::EventType,
        StaticField::Content,
        StaticField::Confidence,
        StaticField::Session,
    ];
    let current = caller_state::current_session(sql, subject)?;
    let previous = session::newest_except(sql, current)?;
    let per_type = (limit / 3).max(1);
    let decisions = newest_of_type(sql, EventType::Decision, 0.7, per_type)?;
    let facts = newest_of_type(sql, EventType::Fact, 0.8, per_type)?;
    let inferences = newest_of_type(sql, EventType::Inference, 0.6, per_type)?;
    let rest = limit.saturating_sub(decisions.len() + facts.len() + inferences.len());
    let mut others = newest_of_type(sql, EventType::Skill, 0.0, rest)?;
    others.extend(newest_of_type(sql, EventType::Correction, 0.0, rest)?);
    others.sort_by_key(|node| std::cmp::Reverse((node.created_at, node.id)));
    others.truncate(rest);
    let loaded = decisions.len() + facts.len() + inferences.len() + others.len();
    let to_json = |nodes: &[Node], fields: &[StaticField]| -> Vec<Value> {
        nodes.iter().map(|node| Value::Object(node.as_static().to_json(fields))).collect()
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
        "recent_decisions": to_json(&decisions, &FIELDS),
        "recent_facts": to_json(&facts, &FIELDS),
        "recent_inferences": to_json(&inferences, &FIELDS),
        "recent_other": to_json(&others, &WITH_TYPE),
        "total_loaded": loaded,
        "message": message,
    }))
}

/// The newest episode.
pub(crate) fn last_episode(sql: &mut dyn Sql) -> Result<Value> {
    let found = newest_of_type(sql, EventType::Episode, 0.0, 1)?;
    Ok(found.first().map_or(Value::Null, |node| {
        json!({"session_id": node.session_id.0, "created_at": node.created_at, "summary": node.content})
    }))
}

/// The newest nodes of a type that nothing supersedes, with at least this confidence.
fn newest_of_type(
    sql: &mut dyn Sql,
    event_type: EventType,
    min_confidence: f64,
    limit: usize,
) -> Result<Vec<Node>> {
    let tenant = sql.tenant().clone();
    let (mut found, mut before_id, mut visited) = (Vec::new(), i64::MAX, 0);
    // Starts with a small batch, which is usually enough, and reads larger ones after that.
    let mut batch_size = limit.clamp(4, limits::PAGE_BATCH_ROWS);
    while found.len() < limit && visited < limits::MAX_RESUME_ROWS_SCANNED {
        let rows = sql.query(
            &format!(
                "SELECT {} FROM amem_node WHERE tenant_id = $1 AND event_type = $2 AND id < $3 ORDER BY id DESC LIMIT $4",
                node::COLUMNS
            ),
            params![tenant.as_str(), event_type.number(), before_id, batch_size as i64],
        )?;
        visited += rows.len();
        for row in &rows {
            let node = Node::from_row(row)?;
            before_id = node.id.0;
            if found.len() < limit && node.superseded_by.is_none() && node.confidence >= min_confidence {
                found.push(node);
            }
        }
        if rows.len() < batch_size {
            break;
        }
        batch_size = (batch_size * 4).min(limits::PAGE_BATCH_ROWS);
    }
    Ok(found)
}
