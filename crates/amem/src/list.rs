//! The lists of the graph: newest nodes, most important nodes, nodes of a session, nodes of a type.

use std::ops::ControlFlow;

use quad_core::{Error, JsonObjectWriter, Result, cursor};
use quad_store::fast_path::FastSql as _;
use quad_store::{Sql, Value as Cell, params};

use crate::event_type::EventType;
use crate::node::{self, Node, NodeField, NodeId, StaticField, StaticNode};
use crate::page_budget::PageBudget;
use crate::session::{self, SessionId};
use crate::{counters, decay, errors, limits};

const RECENT_FIELDS: [StaticField; 6] = [
    StaticField::Id,
    StaticField::EventType,
    StaticField::Content,
    StaticField::Confidence,
    StaticField::Session,
    StaticField::Created,
];
const IMPORTANT_FIELDS: [NodeField; 6] = [
    NodeField::Static(StaticField::Id),
    NodeField::Static(StaticField::EventType),
    NodeField::Static(StaticField::Content),
    NodeField::Static(StaticField::Confidence),
    NodeField::Decay,
    NodeField::Static(StaticField::Session),
];
const SESSION_FIELDS: [StaticField; 5] = [
    StaticField::Id,
    StaticField::EventType,
    StaticField::Content,
    StaticField::Confidence,
    StaticField::Created,
];
const TYPE_FIELDS: [StaticField; 5] = [
    StaticField::Id,
    StaticField::Content,
    StaticField::Confidence,
    StaticField::Session,
    StaticField::Created,
];

/// `amem://graph/recent`.
pub(crate) fn recent(sql: &mut dyn Sql) -> Result<JsonObjectWriter> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {} FROM amem_node WHERE tenant_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
            node::COLUMNS_STATIC
        ),
        params![tenant.as_str(), limits::TOP_NODES as i64],
    )?;
    let nodes = rows.iter().map(StaticNode::from_row).collect::<Result<Vec<_>>>()?;
    let mut document = JsonObjectWriter::default();
    document.put("count", nodes.len());
    document.put_array("nodes", &nodes, |object, node| node.write_json(object, &RECENT_FIELDS));
    Ok(document)
}

/// `amem://graph/important`.
pub(crate) fn important(sql: &mut dyn Sql, now: i64) -> Result<JsonObjectWriter> {
    let mut ranked = ImportanceIter::new(now);
    let mut nodes = Vec::with_capacity(limits::TOP_NODES);
    while nodes.len() < limits::TOP_NODES
        && let Some(node) = ranked.next(sql, limits::TOP_NODES)?
    {
        nodes.push(node);
    }
    let mut document = JsonObjectWriter::default();
    document.put("count", nodes.len());
    document.put_array("nodes", &nodes, |object, node| node.write_json(object, &IMPORTANT_FIELDS, now));
    Ok(document)
}

/// The nodes that nothing supersedes, by descending score at `now`, then by descending effective access, then by
/// id. Merges three sorted ranges of one index, one per score class. A class is read only when the scores of the
/// classes before it fall to its base score.
#[derive(Clone, Debug)]
pub(crate) struct ImportanceIter {
    now: i64,
    classes: [ClassCursor; 3],
}

#[derive(Clone, Debug, Default)]
struct ClassCursor {
    /// Nodes read but not yet returned, the next one last.
    buffered: Vec<Node>,
    /// The key of the last node that was read.
    last_key: Option<(i64, i64)>,
    exhausted: bool,
}

impl ImportanceIter {
    pub(crate) fn new(now: i64) -> ImportanceIter {
        ImportanceIter { now, classes: Default::default() }
    }

    /// Continues from the keys of [`ImportanceIter::resume_keys`].
    pub(crate) fn resume(now: i64, keys: [Option<(i64, i64)>; 3]) -> ImportanceIter {
        ImportanceIter {
            now,
            classes: keys.map(|last_key| ClassCursor { last_key, ..ClassCursor::default() }),
        }
    }

    /// The position in each class.
    pub(crate) fn resume_keys(&self) -> [Option<(i64, i64)>; 3] {
        std::array::from_fn(|class| match self.classes[class].buffered.last() {
            None => self.classes[class].last_key,
            // The next node is not returned yet: its key, with an id just before it.
            Some(next) => Some((next.effective_access, next.id.0 - 1)),
        })
    }

    /// The next node; reads `batch_size` rows at a time.
    pub(crate) fn next(&mut self, sql: &mut dyn Sql, batch_size: usize) -> Result<Option<Node>> {
        let mut best: Option<(usize, f64, i64, NodeId)> = None;
        for class in 0..self.classes.len() {
            if best.as_ref().is_some_and(|(_, score, ..)| *score > decay::BASE_SCORES[class]) {
                break;
            }
            self.fill_buffer(sql, class, batch_size)?;
            let Some(next) = self.classes[class].buffered.last() else { continue };
            let (score, effective, id) = (next.score(self.now), next.effective_access, next.id);
            let is_better = best.as_ref().is_none_or(|(_, best, best_effective, best_id)| {
                (score, effective, *best_id) > (*best, *best_effective, id)
            });
            if is_better {
                best = Some((class, score, effective, id));
            }
        }
        Ok(best.and_then(|(class, ..)| self.classes[class].buffered.pop()))
    }

    fn fill_buffer(&mut self, sql: &mut dyn Sql, class: usize, batch_size: usize) -> Result<()> {
        let cursor = &mut self.classes[class];
        if cursor.exhausted || !cursor.buffered.is_empty() {
            return Ok(());
        }
        let tenant = sql.tenant().clone();
        let columns = node::COLUMNS;
        let mut rows = match cursor.last_key {
            None => sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), class as i64, batch_size as i64],
            )?,
            // First the rest of the nodes with the same effective access, then the nodes below it. One combined
            // condition would not be a range of the index.
            Some((effective, id)) => sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     AND effective_access = $4 AND id > $5 ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), class as i64, batch_size as i64, effective, id],
            )?,
        };
        if let Some((effective, _)) = cursor.last_key
            && rows.len() < batch_size
        {
            rows.extend(sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND tier = $2 AND superseded_by IS NULL \
                     AND effective_access < $4 ORDER BY effective_access DESC, id LIMIT $3"
                ),
                params![tenant.as_str(), class as i64, (batch_size - rows.len()) as i64, effective],
            )?);
        }
        cursor.exhausted = rows.len() < batch_size;
        cursor.buffered = Node::from_rows(&rows)?;
        if let Some(last) = cursor.buffered.last() {
            cursor.last_key = Some((last.effective_access, last.id.0));
        }
        cursor.buffered.reverse();
        Ok(())
    }
}

/// A page of a list by ascending id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub after: Option<NodeId>,
    pub limit: usize,
}

/// `amem://session/{id}`.
pub(crate) fn nodes_of_session(sql: &mut dyn Sql, id: SessionId, page: Page) -> Result<JsonObjectWriter> {
    let session = session::get(sql, id)?;
    let mut document = new_document(session.node_count, page);
    document.put("session_id", id.0);
    document.put("node_count", session.node_count);
    let last_id = write_nodes(&mut document, &SESSION_FIELDS, sql, ("session_id", i64::from(id.0)), page)?;
    put_cursor(&mut document, last_id, &session_cursor_scope(id));
    Ok(document)
}

/// `amem://types/{type}`.
pub(crate) fn nodes_of_type(
    sql: &mut dyn Sql,
    event_type: EventType,
    page: Page,
) -> Result<JsonObjectWriter> {
    let count = counters::read(sql)?.node_count_of_type(event_type);
    let mut document = new_document(count, page);
    document.put("event_type", event_type.as_str());
    document.put("count", count);
    let last_id = write_nodes(&mut document, &TYPE_FIELDS, sql, ("event_type", event_type.number()), page)?;
    put_cursor(&mut document, last_id, &type_cursor_scope(event_type));
    Ok(document)
}

/// The cursor scope of a session's list.
pub(crate) fn session_cursor_scope(id: SessionId) -> String {
    format!("amem session {id}")
}

/// The cursor scope of a type's list.
pub(crate) fn type_cursor_scope(event_type: EventType) -> String {
    format!("amem type {}", event_type.as_str())
}

/// The id in a cursor of this scope.
pub(crate) fn decode_cursor(scope: &str, cursor: Option<&str>) -> Result<Option<NodeId>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let key = cursor::decode(scope, cursor)?;
    let id = key.parse().map_err(|_| invalid_cursor())?;
    Ok(Some(NodeId(id)))
}

/// The offset in a cursor.
pub(crate) fn decode_offset(scope: &str, cursor: Option<&str>) -> Result<usize> {
    let Some(cursor) = cursor else { return Ok(0) };
    let key = cursor::decode(scope, cursor)?;
    key.parse().map_err(|_| invalid_cursor())
}

/// A cursor whose key is of another kind.
pub(crate) fn invalid_cursor() -> Error {
    errors::invalid_argument("cursor", "belongs to another list", "Start again without a cursor")
}

/// A document with capacity for a page of `count` nodes.
fn new_document(count: i64, page: Page) -> JsonObjectWriter {
    // The typical content is one sentence.
    const NODE_BYTES: usize = 256;
    let nodes = usize::try_from(count).map_or(0, |count| count.min(page.limit));
    JsonObjectWriter::with_capacity((nodes * NODE_BYTES).min(limits::PAGE_BYTES))
}

/// Writes the cursor of the next page, if there is one.
fn put_cursor(document: &mut JsonObjectWriter, last_id: Option<NodeId>, scope: &str) {
    if let Some(last) = last_id {
        document.put("next_cursor", cursor::encode(scope, &last.to_string()));
    }
}

/// Writes the nodes with `value` in `column`, by ascending id, up to the page limits. Returns the last node if
/// there are more.
fn write_nodes(
    document: &mut JsonObjectWriter,
    fields: &[StaticField],
    sql: &mut dyn Sql,
    (column, value): (&'static str, i64),
    page: Page,
) -> Result<Option<NodeId>> {
    let tenant = sql.tenant().clone();
    let query = format!(
        "SELECT {} FROM amem_node WHERE tenant_id = $1 AND {column} = $2 AND id > $3 ORDER BY id LIMIT $4",
        node::COLUMNS_STATIC
    );
    let mut budget = PageBudget::new(page.limit);
    let mut last = page.after;
    document.put_array_with("nodes", |list| {
        loop {
            // One more row than fits shows whether there are more.
            let batch_size = limits::PAGE_BATCH_ROWS.min(budget.nodes + 1);
            let after = last.map_or(-1, |id| id.0);
            let cells: [Cell; 4] =
                [tenant.as_str().into(), value.into(), after.into(), (batch_size as i64).into()];
            let mut written = 0;
            let mut is_full = false;
            sql.for_each_row(&query, &cells, &mut |row| {
                let node = StaticNode::from_row(row)?;
                if !budget.try_take(node.content) {
                    is_full = true;
                    return Ok(ControlFlow::Break(()));
                }
                list.push(|object| node.write_json(object, fields));
                last = Some(node.id);
                written += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            if is_full {
                return Ok(last);
            }
            if written < batch_size {
                return Ok(None);
            }
        }
    })
}
