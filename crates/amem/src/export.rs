//! Export: a tenant's graph as a file, from one snapshot.
//!
//! The graph is read page by page in one snapshot. So the file is consistent while others write, and memory use is
//! limited to a page.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom};

use quad_core::{AuditLog as _, Error, EventDraft, ReadSets, Result, TenantId};
use quad_store::{Row, Sql, Value as Cell, params};

use crate::files::{
    EdgeItem, FileFormat, Item, JsonlWriter, NodeItem, ServerMemoryWriter, SessionItem, write_amem,
};
use crate::session::{self, SessionId};
use crate::{Amem, counters, limits, micros, vectors};

/// The actor in the audit log.
const ACTOR: &str = "quad memory export";

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// The number of nodes written.
    pub nodes: u64,
    /// The number of edges written.
    pub edges: u64,
}

impl Amem {
    /// Writes a tenant's graph into a file, after truncating it. Calls the progress function with the steps done
    /// and their total. The export is audited.
    pub async fn export(
        &self,
        tenant: &TenantId,
        format: FileFormat,
        mut file: File,
        mut on_progress: impl FnMut(u64, u64) + Send + 'static,
    ) -> Result<ExportSummary> {
        let summary = self
            .store
            .read(tenant, move |sql| {
                // The read is repeated if its snapshot is lost, so the file is truncated first.
                file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(write_error)?;
                let summary = write_graph(sql, format, &file, &mut on_progress)?;
                file.sync_all().map_err(write_error)?;
                Ok(summary)
            })
            .await?;
        let event = EventDraft::system("memory", "memory_exported", ACTOR)
            .input("format", format.as_str())
            .input("nodes", summary.nodes)
            .input("edges", summary.edges)
            .succeeded();
        self.store.append(tenant, event, ReadSets::new(), None).await.map_err(|error| match error {
            quad_core::AppendError::Failed(error) => error,
            other => Error::internal(format!("the export was not written down: {other:?}")),
        })?;
        Ok(summary)
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::bad_input(format!("The file cannot be written: {error}"))
        .hint("Check whether the disk has free space, or write to another folder")
        .with_cause(error)
}

fn write_graph(
    sql: &mut dyn Sql,
    format: FileFormat,
    file: &File,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<ExportSummary> {
    let counters = counters::read(sql)?;
    let to_u64 = |number: i64| u64::try_from(number).unwrap_or_default();
    let summary = ExportSummary { nodes: to_u64(counters.node_count()), edges: to_u64(counters.edges) };
    let total = match format {
        // The parts of the format follow each other, and each reads all nodes or edges again.
        FileFormat::Amem => 4 * summary.nodes + 3 * summary.edges,
        FileFormat::Jsonl | FileFormat::ServerMemory => summary.nodes + summary.edges,
    };
    let progress = RefCell::new((0, on_progress));
    let advance = &|| {
        let (done, on_progress) = &mut *progress.borrow_mut();
        *done += 1;
        if *done % limits::EXPORT_PROGRESS_INTERVAL == 0 || *done == total {
            on_progress(*done, total);
        }
    };
    let sql = &RefCell::new(sql);
    let nodes = || NodeIter { sql, after_id: -1, page: VecDeque::new() }.inspect(move |_| advance());
    let edges =
        || EdgeIter { sql, after_key: (-1, -1, -1), page: VecDeque::new() }.inspect(move |_| advance());
    let out = BufWriter::with_capacity(1 << 20, file);
    match format {
        FileFormat::Amem => write_amem(out, micros::now(), || Ok(nodes()), || Ok(edges()))?,
        FileFormat::Jsonl => {
            let mut out = JsonlWriter::begin(out)?;
            nodes().try_for_each(|node| out.write(&Item::Node(node?)))?;
            edges().try_for_each(|edge| out.write(&Item::Edge(edge?)))?;
            let mut before = None;
            loop {
                let page = session::page(&mut **sql.borrow_mut(), before, limits::PAGE_SESSIONS)?;
                for session in &page {
                    out.write(&Item::Session(session_item(session)))?;
                }
                match page.last() {
                    Some(last) if page.len() == limits::PAGE_SESSIONS => before = Some(last.id),
                    _ => break,
                }
            }
            out.finish()?;
        }
        FileFormat::ServerMemory => {
            let mut out = ServerMemoryWriter::new(out);
            nodes().try_for_each(|node| out.write_node(&node?))?;
            edges().try_for_each(|edge| out.write_edge(&edge?))?;
            out.finish()?;
        }
    }
    Ok(summary)
}

fn session_item(session: &session::Session) -> SessionItem {
    let SessionId(session_id) = session.id;
    SessionItem {
        session_id,
        started_at: Some(session.started_at),
        ended_at: session.ended_at,
        started_by: Some(session.started_by.clone()),
        episode_id: session.episode_id.and_then(|id| u64::try_from(id.0).ok()),
        metadata: session.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()),
    }
}

/// All nodes by ascending id.
struct NodeIter<'a, 's> {
    sql: &'a RefCell<&'s mut dyn Sql>,
    after_id: i64,
    page: VecDeque<NodeItem>,
}

impl NodeIter<'_, '_> {
    fn read_page(&mut self) -> Result<()> {
        let mut sql = self.sql.borrow_mut();
        let tenant = sql.tenant().clone();
        let rows = sql.query(
            "SELECT n.id, n.event_type, n.session_id, n.created_at, n.confidence, n.access_count, n.last_accessed, \
             n.created_by, n.content, v.vector FROM amem_node n \
             LEFT JOIN amem_vector v ON v.tenant_id = n.tenant_id AND v.node_id = n.id \
             WHERE n.tenant_id = $1 AND n.id > $2 ORDER BY n.id LIMIT $3",
            params![tenant.as_str(), self.after_id, limits::EXPORT_NODES as i64],
        )?;
        for row in &rows {
            self.after_id = row.int(0)?;
            self.page.push_back(node_item(row)?);
        }
        Ok(())
    }
}

impl Iterator for NodeIter<'_, '_> {
    type Item = Result<NodeItem>;

    fn next(&mut self) -> Option<Result<NodeItem>> {
        if self.page.is_empty()
            && let Err(error) = self.read_page()
        {
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}

fn node_item(row: &Row) -> Result<NodeItem> {
    Ok(NodeItem {
        id: u64::try_from(row.int(0)?).unwrap_or_default(),
        event_type: u8::try_from(row.int(1)?).unwrap_or_default(),
        session_id: u32::try_from(row.int(2)?).unwrap_or_default(),
        created_at: row.int(3)?,
        confidence: row.real(4)?,
        access_count: u32::try_from(row.int(5)?).unwrap_or(u32::MAX),
        last_accessed: row.int(6)?,
        created_by: Some(row.text(7)?.to_owned()),
        content: row.text(8)?.to_owned(),
        vector: match row.value(9) {
            Cell::Blob(bytes) => Some(vectors::decode(bytes)),
            _ => None,
        },
    })
}

/// All edges by source, target and type.
struct EdgeIter<'a, 's> {
    sql: &'a RefCell<&'s mut dyn Sql>,
    after_key: (i64, i64, i64),
    page: VecDeque<EdgeItem>,
}

impl EdgeIter<'_, '_> {
    fn read_page(&mut self) -> Result<()> {
        let mut sql = self.sql.borrow_mut();
        let tenant = sql.tenant().clone();
        let (source, target, edge_type) = self.after_key;
        let rows = sql.query(
            "SELECT source_id, target_id, edge_type, weight, created_at FROM amem_edge \
             WHERE tenant_id = $1 AND (source_id, target_id, edge_type) > ($2, $3, $4) \
             ORDER BY source_id, target_id, edge_type LIMIT $5",
            params![tenant.as_str(), source, target, edge_type, limits::EXPORT_EDGES as i64],
        )?;
        for row in &rows {
            self.after_key = (row.int(0)?, row.int(1)?, row.int(2)?);
            self.page.push_back(EdgeItem {
                source_id: u64::try_from(self.after_key.0).unwrap_or_default(),
                target_id: u64::try_from(self.after_key.1).unwrap_or_default(),
                edge_type: u8::try_from(self.after_key.2).unwrap_or_default(),
                weight: row.real(3)?,
                created_at: row.int(4)?,
            });
        }
        Ok(())
    }
}

impl Iterator for EdgeIter<'_, '_> {
    type Item = Result<EdgeItem>;

    fn next(&mut self) -> Option<Result<EdgeItem>> {
        if self.page.is_empty()
            && let Err(error) = self.read_page()
        {
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}
