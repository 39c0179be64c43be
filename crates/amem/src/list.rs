//! The lists of the graph: the newest, the most important, a session's, a type's.

use std::ops::ControlFlow;

use quad_core::{JsonObjectWriter, Result, cursor};
use quad_store::{Sql, Value as Cell, params};

use crate::event_type::EventType;
use crate::node::{self, Field, Node, NodeId};
use crate::session::{self, SessionId};
use crate::{decay, limits, stats};

const RECENT: [Field; 6] =
    [Field::Id, Field::EventType, Field::Content, Field::Confidence, Field::Session, Field::Created];
const IMPORTANT: [Field; 6] =
    [Field::Id, Field::EventType, Field::Content, Field::Confidence, Field::Decay, Field::Session];
const IN_SESSION: [Field; 5] =
    [Field::Id, Field::EventType, Field::Content, Field::Confidence, Field::Created];
const OF_TYPE: [Field; 5] = [Field::Id, Field::Content, Field::Confidence, Field::Session, Field::Created];

/// `amem://graph/recent`.
pub(crate) fn recent(sql: &mut dyn Sql, now: i64) -> Result<JsonObjectWriter> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {} FROM amem_node WHERE tenant_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
            node::COLUMNS_TOLD
        ),
        params![tenant.as_str(), limits::TOP_NODES as i64],
    )?;
    let nodes = rows.iter().map(Node::told).collect::<Result<Vec<_>>>()?;
    Ok(counted(&nodes, &RECENT, now))
}

/// `amem://graph/important`.
pub(crate) fn important(sql: &mut dyn Sql, now: i64) -> Result<JsonObjectWriter> {
    let mut best = ByImportance::new(now);
    let mut nodes = Vec::with_capacity(limits::TOP_NODES);
    while nodes.len() < limits::TOP_NODES
        && let Some(node) = best.next(sql, limits::TOP_NODES)?
    {
        nodes.push(node);
    }
    Ok(counted(&nodes, &IMPORTANT, now))
}

fn counted(nodes: &[Node<impl AsRef<str>>], fields: &[Field], now: i64) -> JsonObjectWriter {
    let mut document = JsonObjectWriter::default();
    document.put("count", nodes.len());
    document.put_array("nodes", nodes, |shown, node| node.write(shown, fields, now));
    document
}

/// The nodes that nothing supersedes, by falling score at one moment, equal ones by falling effective access and then by id:
/// three ordered runs of one index, merged. A run is opened only when the ones before it fall to what it could score.
#[derive(Clone, Debug)]
pub(crate) struct ByImportance {
    now: i64,
    runs: [Run; 3],
}

#[derive(Clone, Debug, Default)]
struct Run {
    /// What has been read and not yet given out, the next one last.
    ahead: Vec<Node>,
    /// The key of the last node that was read.
    read_to: Option<(i64, i64)>,
    ended: bool,
}

impl ByImportance {
    pub(crate) fn new(now: i64) -> ByImportance {
        ByImportance { now, runs: Default::default() }
    }

    /// From the keys on that [`ByImportance::keys`] gave.
    pub(crate) fn resume(now: i64, keys: [Option<(i64, i64)>; 3]) -> ByImportance {
        ByImportance { now, runs: keys.map(|read_to| Run { read_to, ..Run::default() }) }
    }

    /// How far each run was given out.
    pub(crate) fn keys(&self) -> [Option<(i64, i64)>; 3] {
        std::array::from_fn(|tier| match self.runs[tier].ahead.last() {
            None => self.runs[tier].read_to,
            // The first that is still ahead: its key, as if it were just before.
            Some(next) => Some((next.effective_access, next.id.0 - 1)),
        })
    }

    /// The next node; `step` says how many rows to read at a time.
    pub(crate) fn next(&mut self, sql: &mut dyn Sql, step: usize) -> Result<Option<Node>> {
        let mut best: Option<(usize, f64, i64, NodeId)> = None;
        for tier in 0..self.runs.len() {
            if best.as_ref().is_some_and(|(_, score, ..)| *score > decay::BASES[tier]) {
                break;
            }
            self.fill(sql, tier, step)?;
            let Some(next) = self.runs[tier].ahead.last() else { continue };
            let (score, effective, id) = (next.score(self.now), next.effective_access, next.id);
            let is_better = best.as_ref().is_none_or(|(_, best, best_effective, best_id)| {
                (score, effective, *best_id) > (*best, *best_effective, id)
            });
            if is_better {
                best = Some((tier, score, effective, id));
            }
        }
        Ok(best.and_then(|(tier, ..)| self.runs[tier].ahead.pop()))
    }

    fn fill(&mut self, sql: &mut dyn Sql, tier: usize, step: usize) -> Result<()> {
        let run = &mut self.runs[tier];
        if run.ended || !run.ahead.is_empty() {
            return Ok(());
        }
        let tenant = sql.tenant().clone();
        let columns = node::COLUMNS;
        let mut rows = match run.read_to {
            None => sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), tier as i64, step as i64],
            )?,
            // The rest of those with the same key, then what comes after; as one range it would not be one of the index.
            Some((effective, id)) => sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     AND effective_access = $4 AND id > $5 ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), tier as i64, step as i64, effective, id],
            )?,
        };
        if let Some((effective, _)) = run.read_to
            && rows.len() < step
        {
            rows.extend(sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     AND effective_access < $4 ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), tier as i64, (step - rows.len()) as i64, effective],
            )?);
        }
        run.ended = rows.len() < step;
        run.ahead = Node::from_rows(&rows)?;
        if let Some(last) = run.ahead.last() {
            run.read_to = Some((last.effective_access, last.id.0));
        }
        run.ahead.reverse();
        Ok(())
    }
}

/// A part of a list by rising id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub after: Option<NodeId>,
    pub limit: usize,
}

/// `amem://session/{id}`.
pub(crate) fn session(sql: &mut dyn Sql, id: SessionId, page: Page, now: i64) -> Result<JsonObjectWriter> {
    let session = session::expect(sql, id)?;
    let mut document = page_of(session.node_count, page);
    document.put("session_id", id.0);
    document.put("node_count", session.node_count);
    let more_after = put_nodes(&mut document, &IN_SESSION, now, sql, ("session_id", i64::from(id.0)), page)?;
    close(&mut document, more_after, &session_list(id));
    Ok(document)
}

/// `amem://types/{type}`.
pub(crate) fn of_type(sql: &mut dyn Sql, event_type: EventType, page: Page, now: i64) -> Result<JsonObjectWriter> {
    let count = stats::read(sql)?.of_type(event_type);
    let mut document = page_of(count, page);
    document.put("event_type", event_type.as_str());
    document.put("count", count);
    let more_after = put_nodes(&mut document, &OF_TYPE, now, sql, ("event_type", event_type.number()), page)?;
    close(&mut document, more_after, &type_list(event_type));
    Ok(document)
}

/// The name under which cursors of a session are sealed.
pub(crate) fn session_list(id: SessionId) -> String {
    format!("amem session {id}")
}

/// The name under which cursors of a type are sealed.
pub(crate) fn type_list(event_type: EventType) -> String {
    format!("amem type {}", event_type.as_str())
}

/// The id inside such a cursor.
pub(crate) fn after(list: &str, cursor: Option<&str>) -> Result<Option<NodeId>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let key = cursor::decode(list, cursor)?;
    let id = key.parse().map_err(|_| crate::refusal::invalid("cursor", "is not of this list"))?;
    Ok(Some(NodeId(id)))
}

/// A document with room for a page of so many nodes.
fn page_of(count: i64, page: Page) -> JsonObjectWriter {
    // Most say one sentence.
    const NODE_BYTES: usize = 256;
    let nodes = usize::try_from(count).map_or(0, |count| count.min(page.limit));
    JsonObjectWriter::with_capacity((nodes * NODE_BYTES).min(limits::PAGE_BYTES))
}

/// Says how to go on, where there is more.
fn close(document: &mut JsonObjectWriter, more_after: Option<NodeId>, list: &str) {
    if let Some(last) = more_after {
        document.put("next_cursor", cursor::encode(list, &last.to_string()));
    }
}

/// Puts the nodes that have some value in a column, by rising id, as many as one document should hold; the last of them, if there
/// are more.
fn put_nodes(
    document: &mut JsonObjectWriter,
    fields: &[Field],
    now: i64,
    sql: &mut dyn Sql,
    (column, value): (&'static str, i64),
    page: Page,
) -> Result<Option<NodeId>> {
    let tenant = sql.tenant().clone();
    let query = format!(
        "SELECT {} FROM amem_node WHERE tenant_id = $1 AND {column} = $2 AND id > $3 ORDER BY id LIMIT $4",
        node::COLUMNS_TOLD
    );
    let mut room = Room::new(page.limit);
    let mut last = page.after;
    document.put_array_with("nodes", |list| {
        loop {
            // One more than there is room for tells whether there are more.
            let step = limits::PAGE_STEP.min(room.nodes + 1);
            let after = last.map_or(-1, |id| id.0);
            let cells: [Cell; 4] = [tenant.as_str().into(), value.into(), after.into(), (step as i64).into()];
            let mut taken = 0;
            let mut is_full = false;
            sql.for_each_row(&query, &cells, &mut |row| {
                let node = Node::told(row)?;
                if !room.take(&node) {
                    is_full = true;
                    return Ok(ControlFlow::Break(()));
                }
                list.push(|shown| node.write(shown, fields, now));
                last = Some(node.id);
                taken += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            if is_full {
                return Ok(last);
            }
            if taken < step {
                return Ok(None);
            }
        }
    })
}

/// How much more a document holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    nodes: usize,
    bytes: usize,
    is_empty: bool,
}

impl Room {
    pub(crate) fn new(nodes: usize) -> Room {
        Room { nodes, bytes: limits::PAGE_BYTES, is_empty: true }
    }

    /// Makes place for a node; the first one always has it.
    pub(crate) fn take(&mut self, node: &Node<impl AsRef<str>>) -> bool {
        const FRAME: usize = 160;
        let bytes = node.content.as_ref().len() + FRAME;
        if self.nodes == 0 || (bytes > self.bytes && !self.is_empty) {
            return false;
        }
        self.nodes -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_empty = false;
        true
    }
}
