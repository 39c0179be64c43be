//! `memory_temporal`: compares two ranges of memory, each a time window or some sessions.
//!
//! A node's own fields decide whether it is in a range. So the comparison scans the nodes of the first range and
//! then those of the second, in pages.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Error, Result, canonical, cursor};
use quad_store::{Row, Sql, Value as Cell};
use serde_json::{Value, json};

use crate::edge::{self, Direction, EdgeType, EdgeTypeSet};
use crate::event_type::EventType;
use crate::node::NodeId;
use crate::session::SessionId;
use crate::{decay, limits};

/// Below this score an unchanged memory counts as stale.
const STALE_SCORE: f64 = 0.3;

/// A time window or a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// In microseconds, both inclusive.
    Window {
        start: i64,
        end: i64,
    },
    Sessions(Vec<SessionId>),
}

impl Range {
    fn contains(&self, node: &NodeSummary) -> bool {
        match self {
            Range::Window { start, end } => (*start..=*end).contains(&node.created_at),
            Range::Sessions(ids) => ids.contains(&node.session_id),
        }
    }

    /// The next nodes of one part of the range after a key, in the order of its index. A window has one part, a
    /// list of sessions one per session. `None` if there is no such part.
    fn rows(
        &self,
        sql: &mut dyn Sql,
        part: usize,
        after: Option<(i64, i64)>,
        limit: usize,
    ) -> Result<Option<Vec<Row>>> {
        let tenant = sql.tenant().clone();
        let (query, key): (&str, [Cell; 3]) = match self {
            Range::Window { start, end } if part == 0 => {
                let (at, id) = after.unwrap_or((*start, -1));
                (
                    "SELECT id, event_type, session_id, created_at, effective_access FROM amem_node \
                     WHERE tenant_id = $1 AND (created_at, id) > ($2, $3) AND created_at <= $4 \
                     ORDER BY created_at, id LIMIT $5",
                    [at.into(), id.into(), (*end).into()],
                )
            }
            Range::Sessions(ids) if part < ids.len() => {
                let id = after.map_or(-1, |(_, id)| id);
                (
                    "SELECT id, event_type, session_id, created_at, effective_access FROM amem_node \
                     WHERE tenant_id = $1 AND session_id = $2 AND id > $3 AND id <= $4 ORDER BY id LIMIT $5",
                    [i64::from(ids[part].0).into(), id.into(), i64::MAX.into()],
                )
            }
            _ => return Ok(None),
        };
        let [a, b, c] = key;
        let cells = [Cell::from(tenant.as_str()), a, b, c, Cell::Int(limit as i64)];
        Ok(Some(sql.query(query, &cells)?))
    }
}

/// The fields of a node that the comparison needs.
struct NodeSummary {
    id: NodeId,
    event_type: EventType,
    session_id: SessionId,
    created_at: i64,
    effective_access: i64,
}

impl NodeSummary {
    fn from_row(row: &Row) -> Result<NodeSummary> {
        Ok(NodeSummary {
            id: NodeId(row.int(0)?),
            event_type: EventType::from_db(row.int(1)?)?,
            session_id: SessionId::from_db(row.int(2)?)?,
            created_at: row.int(3)?,
            effective_access: row.int(4)?,
        })
    }
}

/// Where a page ended.
#[derive(Clone, Copy, Debug, Default)]
struct DiffPosition {
    in_second_range: bool,
    part: usize,
    after: Option<(i64, i64)>,
}

impl DiffPosition {
    fn encode(self) -> String {
        let (at, id) = self.after.unwrap_or((i64::MIN, -1));
        format!("{} {} {at} {id}", u8::from(self.in_second_range), self.part)
    }

    fn parse(text: &str) -> Option<DiffPosition> {
        let mut words = text.split(' ');
        let in_second_range = words.next()? == "1";
        let part = words.next()?.parse().ok()?;
        let key: (i64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(DiffPosition { in_second_range, part, after: (key.0 != i64::MIN).then_some(key) })
    }
}

/// Compares two ranges and returns one page of the result.
pub(crate) fn diff(
    sql: &mut dyn Sql,
    first: &Range,
    second: &Range,
    cursor: Option<&str>,
    now: i64,
) -> Result<Value> {
    let scope =
        format!("amem temporal {}", canonical::sha256_hex(format!("{first:?} {second:?}").as_bytes()));
    let mut position = match cursor {
        None => DiffPosition::default(),
        Some(cursor) => DiffPosition::parse(&cursor::decode(&scope, cursor)?)
            .ok_or_else(|| Error::internal("a sealed cursor does not parse"))?,
    };
    let (mut in_first, mut added): (Vec<NodeSummary>, BTreeSet<i64>) = (Vec::new(), BTreeSet::new());
    let mut visited = 0;
    let mut has_more = true;
    while visited < limits::MAX_RANGE_DIFF_NODES {
        let range = if position.in_second_range { second } else { first };
        let batch_size = limits::PAGE_BATCH_ROWS.min(limits::MAX_RANGE_DIFF_NODES - visited);
        let Some(rows) = range.rows(sql, position.part, position.after, batch_size)? else {
            if position.in_second_range {
                has_more = false;
                break;
            }
            position = DiffPosition { in_second_range: true, ..DiffPosition::default() };
            continue;
        };
        visited += rows.len();
        let ended = rows.len() < batch_size;
        for row in &rows {
            let node = NodeSummary::from_row(row)?;
            position.after = Some((node.created_at, node.id.0));
            if !position.in_second_range {
                in_first.push(node);
            } else if !first.contains(&node) {
                added.insert(node.id.0);
            }
        }
        if ended {
            position = DiffPosition { part: position.part + 1, after: None, ..position };
        }
    }
    let corrected = find_corrections(sql, &in_first, second)?;
    let (mut unchanged, mut stale) = (BTreeSet::new(), BTreeSet::new());
    for node in in_first.iter().filter(|node| !corrected.contains_key(&node.id)) {
        let score = decay::score(node.event_type.score_class(), node.effective_access, now);
        if score < STALE_SCORE {
            stale.insert(node.id.0)
        } else {
            unchanged.insert(node.id.0)
        };
    }
    let pairs: Vec<Value> = corrected.iter().map(|(old, new)| json!([old.0, new.0])).collect();
    let mut document = json!({
        "added": added,
        "corrected": pairs,
        "unchanged": unchanged,
        "potentially_stale": stale,
        "summary": {
            "added_count": added.len(),
            "corrected_count": pairs.len(),
            "unchanged_count": unchanged.len(),
            "stale_count": stale.len(),
        },
    });
    if let (true, Some(document)) = (has_more, document.as_object_mut()) {
        document.insert("next_cursor".into(), cursor::encode(&scope, &position.encode()).into());
    }
    Ok(document)
}

/// For each of these nodes, the newest superseding node in the second range, if any.
fn find_corrections(
    sql: &mut dyn Sql,
    nodes: &[NodeSummary],
    second: &Range,
) -> Result<BTreeMap<NodeId, NodeId>> {
    let mut corrected = BTreeMap::new();
    for chunk in nodes.chunks(limits::EXPANSION_CHUNK_NODES) {
        let ids: Vec<NodeId> = chunk.iter().map(|node| node.id).collect();
        let edges =
            edge::for_nodes(sql, &ids, Direction::Incoming, EdgeTypeSet::single(EdgeType::Supersedes))?;
        let sources: BTreeSet<NodeId> = edges.values().flatten().map(|edge| edge.source).collect();
        let nodes_by_id = crate::node::find_many(sql, &sources.into_iter().collect::<Vec<_>>())?;
        for edge in edges.into_values().flatten() {
            let Some(source) = nodes_by_id.get(&edge.source) else { continue };
            let summary = NodeSummary {
                id: source.id,
                event_type: source.event_type,
                session_id: source.session_id,
                created_at: source.created_at,
                effective_access: source.effective_access,
            };
            if second.contains(&summary) {
                let by = corrected.entry(edge.target).or_insert(edge.source);
                *by = (*by).max(edge.source);
            }
        }
    }
    Ok(corrected)
}
