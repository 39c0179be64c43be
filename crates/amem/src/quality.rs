//! `memory_quality`: a report on doubtful memories. Superseded nodes are left out, since they have been corrected.

use quad_core::{Error, Result, cursor};
use quad_store::{Row, Sql, params};
use serde_json::{Value, json};

use crate::event_type::EventType;
use crate::{counters, decay, limits};

/// What counts as doubtful, and the number of examples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    pub low_confidence: f64,
    pub stale_decay: f64,
    pub examples: usize,
}

/// The scope of its cursors.
const CURSOR_SCOPE: &str = "amem quality";

/// The doubtful nodes of one page.
#[derive(Default)]
struct Findings {
    low_confidence: Vec<i64>,
    stale: Vec<i64>,
    orphans: Vec<i64>,
    unsupported_decisions: Vec<i64>,
    open_contradictions: Vec<Value>,
}

impl Findings {
    fn status(&self) -> &'static str {
        if !self.unsupported_decisions.is_empty() {
            "fail"
        } else if self.low_confidence.is_empty()
            && self.stale.is_empty()
            && self.orphans.is_empty()
            && self.open_contradictions.is_empty()
        {
            "pass"
        } else {
            "warn"
        }
    }
}

/// The report on one page of nodes by ascending id.
pub(crate) fn report(
    sql: &mut dyn Sql,
    thresholds: Thresholds,
    cursor: Option<&str>,
    now: i64,
) -> Result<Value> {
    let after: i64 = match cursor {
        None => -1,
        Some(cursor) => cursor::decode(CURSOR_SCOPE, cursor)?
            .parse()
            .map_err(|_| Error::internal("a sealed cursor does not parse"))?,
    };
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT id, event_type, confidence, effective_access, superseded_by FROM amem_node \
         WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        params![tenant.as_str(), after, limits::QUALITY_PAGE_NODES as i64 + 1],
    )?;
    let has_more = rows.len() > limits::QUALITY_PAGE_NODES;
    let rows = rows.get(..limits::QUALITY_PAGE_NODES).unwrap_or(&rows);
    let last = rows.last().map(|row| row.int(0)).transpose()?.unwrap_or(after);
    let mut findings = Findings::default();
    check_fields(rows, thresholds, now, &mut findings)?;
    check_edges(sql, after, last, &mut findings)?;
    let counters = counters::read(sql)?;
    let examples = |ids: &[i64]| Value::from(ids.get(..thresholds.examples).unwrap_or(ids));
    let contradictions = &findings.open_contradictions;
    let mut document = json!({
        "status": findings.status(),
        "summary": {
            "nodes": counters.node_count(),
            "edges": counters.edges,
            "low_confidence_count": findings.low_confidence.len(),
            "stale_count": findings.stale.len(),
            "orphan_count": findings.orphans.len(),
            "decisions_without_support_count": findings.unsupported_decisions.len(),
            "contradiction_edges": counters.edges_contradicts,
            "supersedes_edges": counters.edges_supersedes,
            "open_contradiction_count": contradictions.len(),
            "examined": rows.len(),
        },
        "examples": {
            "low_confidence": examples(&findings.low_confidence),
            "stale": examples(&findings.stale),
            "orphan": examples(&findings.orphans),
            "unsupported_decisions": examples(&findings.unsupported_decisions),
            "contradictions": contradictions.get(..thresholds.examples).unwrap_or(contradictions),
        },
    });
    if let (true, Some(document)) = (has_more, document.as_object_mut()) {
        document.insert("next_cursor".into(), cursor::encode(CURSOR_SCOPE, &last.to_string()).into());
    }
    Ok(document)
}

/// Finds nodes with a low confidence or score.
fn check_fields(rows: &[Row], thresholds: Thresholds, now: i64, findings: &mut Findings) -> Result<()> {
    for row in rows {
        if row.opt_int(4)?.is_some() {
            continue;
        }
        let event_type = EventType::from_db(row.int(1)?)?;
        if row.real(2)? < thresholds.low_confidence {
            findings.low_confidence.push(row.int(0)?);
        }
        let bound = decay::stale_before(event_type, thresholds.stale_decay, now);
        if bound.is_some_and(|bound| row.int(3).is_ok_and(|effective| effective < bound)) {
            findings.stale.push(row.int(0)?);
        }
    }
    Ok(())
}

/// Finds nodes above `after` up to `last` that lack edges, and their open contradictions.
fn check_edges(sql: &mut dyn Sql, after: i64, last: i64, findings: &mut Findings) -> Result<()> {
    let tenant = sql.tenant().clone();
    let bounds = params![tenant.as_str(), after, last];
    findings.orphans = ids(&sql.query(
        "SELECT n.id FROM amem_node n WHERE n.tenant_id = $1 AND n.id > $2 AND n.id <= $3 AND n.superseded_by IS NULL \
         AND NOT EXISTS (SELECT 1 FROM amem_edge e WHERE e.tenant_id = $1 AND e.source_id = n.id) \
         AND NOT EXISTS (SELECT 1 FROM amem_edge e WHERE e.tenant_id = $1 AND e.target_id = n.id) ORDER BY n.id",
        bounds,
    )?)?;
    // A decision is supported by a cause of its own or by evidence for it.
    findings.unsupported_decisions = ids(&sql.query(
        "SELECT n.id FROM amem_node n WHERE n.tenant_id = $1 AND n.id > $2 AND n.id <= $3 AND n.superseded_by IS NULL \
         AND n.event_type = 1 \
         AND NOT EXISTS (SELECT 1 FROM amem_edge e WHERE e.tenant_id = $1 AND e.source_id = n.id AND e.edge_type = 0) \
         AND NOT EXISTS (SELECT 1 FROM amem_edge e WHERE e.tenant_id = $1 AND e.target_id = n.id AND e.edge_type = 1) \
         ORDER BY n.id",
        bounds,
    )?)?;
    let contradictions = sql.query(
        "SELECT e.source_id, e.target_id FROM amem_edge e \
         JOIN amem_node s ON s.tenant_id = e.tenant_id AND s.id = e.source_id \
         JOIN amem_node t ON t.tenant_id = e.tenant_id AND t.id = e.target_id \
         WHERE e.tenant_id = $1 AND e.source_id > $2 AND e.source_id <= $3 AND e.edge_type = 2 \
         AND s.superseded_by IS NULL AND t.superseded_by IS NULL ORDER BY e.source_id, e.target_id",
        bounds,
    )?;
    findings.open_contradictions = contradictions
        .iter()
        .map(|row| Ok(json!([row.int(0)?, row.int(1)?])))
        .collect::<Result<Vec<Value>>>()?;
    Ok(())
}

fn ids(rows: &[Row]) -> Result<Vec<i64>> {
    rows.iter().map(|row| Ok(row.int(0)?)).collect()
}
