//! Possible values of the variables in templates and prompts.

use quad_core::scheme::Completion;
use quad_core::{ReadSet, Result, limits as core_limits};
use quad_store::{Sql, params};

use crate::{event_type, tags};

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Node,
    Session,
    Type,
    Depth,
}

/// What the variable of a template or prompt stands for, if that can be told.
pub(crate) fn kind(subject: &str, variable: &str) -> Option<Kind> {
    match variable {
        "type" => Some(Kind::Type),
        "depth" => Some(Kind::Depth),
        "node_id" => Some(Kind::Node),
        "session_id" => Some(Kind::Session),
        "id" if subject.starts_with("amem://session/") => Some(Kind::Session),
        "id" => Some(Kind::Node),
        _ => None,
    }
}

/// The values that begin with `prefix`.
pub(crate) fn values(sql: &mut dyn Sql, kind: Kind, prefix: &str) -> Result<Completion> {
    let basis = ReadSet::at_version(sql.version());
    let words = |words: &[&str]| -> Vec<String> {
        let lower = prefix.to_lowercase();
        words.iter().filter(|word| word.starts_with(&lower)).map(|word| (*word).to_owned()).collect()
    };
    let (values, basis) = match kind {
        Kind::Type => (words(&event_type::NAMES), basis),
        Kind::Depth => (words(&["1", "2", "3", "4", "5"]), basis),
        Kind::Node => (ids(sql, "amem_node", prefix)?, basis.with_tag(tags::nodes())),
        Kind::Session => (ids(sql, "amem_session", prefix)?, basis.with_tag(tags::sessions())),
    };
    Ok(Completion { total: values.len(), values, read_set: basis })
}

/// Ids whose decimal spelling begins with `prefix`: itself, then ten, then a hundred of them, each a range of the key. Without
/// a prefix, the newest.
fn ids(sql: &mut dyn Sql, table: &'static str, prefix: &str) -> Result<Vec<String>> {
    let tenant = sql.tenant().clone();
    let most = core_limits::COMPLETION_VALUES;
    let mut values = Vec::new();
    if prefix.is_empty() {
        let rows = sql.query(
            &format!("SELECT id FROM {table} WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2"),
            params![tenant.as_str(), most as i64],
        )?;
        for row in &rows {
            values.push(row.int(0)?.to_string());
        }
        return Ok(values);
    }
    let Some((mut low, mut span)) = whole(prefix).map(|number| (number, 1_i64)) else {
        return Ok(values);
    };
    while values.len() < most {
        let rows = sql.query(
            &format!(
                "SELECT id FROM {table} WHERE tenant_id = $1 AND id >= $2 AND id <= $3 ORDER BY id LIMIT $4"
            ),
            params![tenant.as_str(), low, low.saturating_add(span - 1), (most - values.len()) as i64],
        )?;
        for row in &rows {
            values.push(row.int(0)?.to_string());
        }
        // No longer spelling begins with a zero.
        let (Some(next), Some(wider)) = (low.checked_mul(10), span.checked_mul(10)) else { break };
        if low == 0 {
            break;
        }
        (low, span) = (next, wider);
    }
    Ok(values)
}

/// A prefix that an id can have.
fn whole(prefix: &str) -> Option<i64> {
    let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (prefix == "0" || !prefix.starts_with('0'))).then(|| prefix.parse().ok())?
}
