//! Completion of variables in templates and prompts.

use quad_core::scheme::Completion;
use quad_core::{ReadSet, Result, limits as core_limits};
use quad_store::{Sql, params};

use crate::{event_type, tags};

/// The kind of values that a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Node,
    Session,
    Type,
    Depth,
}

/// The kind of a variable of a template or prompt, if known.
pub(crate) fn variable_kind(subject: &str, variable: &str) -> Option<VariableKind> {
    match variable {
        "type" => Some(VariableKind::Type),
        "depth" => Some(VariableKind::Depth),
        "node_id" => Some(VariableKind::Node),
        "session_id" => Some(VariableKind::Session),
        "id" if subject.starts_with("amem://session/") => Some(VariableKind::Session),
        "id" => Some(VariableKind::Node),
        _ => None,
    }
}

/// The values that begin with `prefix`.
pub(crate) fn values(sql: &mut dyn Sql, kind: VariableKind, prefix: &str) -> Result<Completion> {
    let read_set = ReadSet::at_version(sql.version());
    let matching = |candidates: &[&str]| -> Vec<String> {
        let lower = prefix.to_lowercase();
        candidates
            .iter()
            .filter(|candidate| candidate.starts_with(&lower))
            .map(|candidate| (*candidate).to_owned())
            .collect()
    };
    let (values, read_set) = match kind {
        VariableKind::Type => (matching(&event_type::NAMES), read_set),
        VariableKind::Depth => (matching(&["1", "2", "3", "4", "5"]), read_set),
        VariableKind::Node => (ids_with_prefix(sql, "amem_node", prefix)?, read_set.with_tag(tags::nodes())),
        VariableKind::Session => {
            (ids_with_prefix(sql, "amem_session", prefix)?, read_set.with_tag(tags::sessions()))
        }
    };
    Ok(Completion { total: values.len(), values, read_set })
}

/// Ids whose decimal form begins with `prefix`: the prefix itself, then the 10 ids with one more digit, then the
/// 100 with two, each a range of the key. Without a prefix, the newest ids.
fn ids_with_prefix(sql: &mut dyn Sql, table: &'static str, prefix: &str) -> Result<Vec<String>> {
    let tenant = sql.tenant().clone();
    let max = core_limits::COMPLETION_VALUES;
    let mut values = Vec::new();
    if prefix.is_empty() {
        let rows = sql.query(
            &format!("SELECT id FROM {table} WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2"),
            params![tenant.as_str(), max as i64],
        )?;
        for row in &rows {
            values.push(row.int(0)?.to_string());
        }
        return Ok(values);
    }
    let Some((mut low, mut span)) = parse_id_prefix(prefix).map(|number| (number, 1_i64)) else {
        return Ok(values);
    };
    while values.len() < max {
        let rows = sql.query(
            &format!(
                "SELECT id FROM {table} WHERE tenant_id = $1 AND id >= $2 AND id <= $3 ORDER BY id LIMIT $4"
            ),
            params![tenant.as_str(), low, low.saturating_add(span - 1), (max - values.len()) as i64],
        )?;
        for row in &rows {
            values.push(row.int(0)?.to_string());
        }
        // No longer decimal form begins with a zero.
        let (Some(next), Some(next_span)) = (low.checked_mul(10), span.checked_mul(10)) else { break };
        if low == 0 {
            break;
        }
        (low, span) = (next, next_span);
    }
    Ok(values)
}

/// The prefix as a number, if an id can begin with it.
fn parse_id_prefix(prefix: &str) -> Option<i64> {
    let is_numeric = prefix.bytes().all(|byte| byte.is_ascii_digit());
    (is_numeric && (prefix == "0" || !prefix.starts_with('0'))).then(|| prefix.parse().ok())?
}
