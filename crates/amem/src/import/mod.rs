//! Import: adds the memories of a file to the graph.
//!
//! A file is read in batches, each one transaction. For every imported node, a digest of its content in the file is
//! stored with its local id. So a node is recognised when it comes again: from the same file, from a longer copy of
//! it, or from an export of this graph. An interrupted import is simply run again. Nodes that were deleted after an
//! import are not imported again.
//!
//! Nodes and sessions keep their ids if these are free, else they get new ones. Edges that exist already keep their
//! weight.

mod batch;
mod node_id_map;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{EventDraft, Result, TenantId};
use quad_store::WriteContext;

use crate::files::{BadLines, FileFormat, MemoryFile};
use crate::{Amem, limits, micros};
use batch::{IdMap, ImportBatch};

/// The actor in the audit log, and the author of items without one.
const ACTOR: &str = "quad memory import";

/// The target duration of one transaction. Other writes wait for it, and so does the audit event of each read.
const BATCH_TIME_LIMIT: Duration = Duration::from_millis(50);

/// The progress of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportProgress {
    /// The part of the file read so far.
    pub done: u64,
    /// The whole file, in the same unit.
    pub total: u64,
    /// Nodes added so far.
    pub nodes: u64,
    /// Edges added so far.
    pub edges: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportResult {
    /// Nodes added.
    pub nodes: u64,
    /// Edges added.
    pub edges: u64,
    /// Sessions added.
    pub sessions: u64,
    /// Nodes and edges that existed already.
    pub existing: u64,
    /// Edges left out: one of their ends was deleted, or they would close a cycle of corrections.
    pub edges_left_out: u64,
    /// Vectors left out: of another dimension than those of the graph, or invalid.
    pub vectors_left_out: u64,
    /// Lines rejected.
    pub bad_lines: BadLines,
}

impl Amem {
    /// Imports a file into a tenant's graph, and reports progress after each batch. Invalid lines are reported and
    /// left out; a binary file with any error is rejected before anything is changed.
    pub async fn import(
        &self,
        tenant: &TenantId,
        path: &Path,
        mut on_progress: impl FnMut(ImportProgress),
    ) -> Result<(FileFormat, ImportResult)> {
        MemoryFile::validate(path)?;
        let mut file = MemoryFile::open(path, micros::now())?;
        let format = file.format();
        let mut id_map = Arc::new(IdMap::new(format));
        let mut result = ImportResult::default();
        let mut rows = limits::ROWS_PER_WRITE;
        while let Some(batch) = ImportBatch::read(&mut file, rows)? {
            let batch = Arc::new(batch);
            let (id_map_delta, elapsed) =
                self.import_batch(tenant, &batch, &id_map, format, &mut result).await?;
            rows = next_batch_size(rows, elapsed);
            Arc::make_mut(&mut id_map).apply(id_map_delta);
            let (done, total) = file.progress();
            on_progress(ImportProgress { done, total, nodes: result.nodes, edges: result.edges });
        }
        result.bad_lines = file.bad_lines();
        result.vectors_left_out += file.vectors_left_out();
        Ok((format, result))
    }

    /// Writes one batch if it has anything new. Returns the duration of its transaction, without the time spent
    /// waiting for it.
    async fn import_batch(
        &self,
        tenant: &TenantId,
        batch: &Arc<ImportBatch>,
        id_map: &Arc<IdMap>,
        format: FileFormat,
        result: &mut ImportResult,
    ) -> Result<(batch::IdMapDelta, Duration)> {
        let (batch_to_plan, id_map_to_plan) = (batch.clone(), id_map.clone());
        let plan = self.store.read(tenant, move |sql| batch_to_plan.plan(sql, &id_map_to_plan)).await?;
        if plan.is_empty() {
            result.existing += plan.existing;
            result.edges_left_out += plan.edges_left_out;
            return Ok((plan.id_map_delta, Duration::ZERO));
        }
        let event = EventDraft::system("memory", "memory_imported", ACTOR)
            .input("format", format.as_str())
            .input("nodes", batch.nodes.len())
            .input("edges", batch.edges.len())
            .succeeded();
        let (batch_to_write, id_map_to_write) = (batch.clone(), id_map.clone());
        let ((batch_result, elapsed), _) = self
            .store
            .write(&WriteContext::from(tenant), event, move |tx| {
                let started = Instant::now();
                let batch_result = batch_to_write.write(tx, &id_map_to_write)?;
                Ok((batch_result, started.elapsed()))
            })
            .await?;
        result.nodes += batch_result.nodes;
        result.edges += batch_result.edges;
        result.sessions += batch_result.sessions;
        result.existing += batch_result.existing;
        result.edges_left_out += batch_result.edges_left_out;
        result.vectors_left_out += batch_result.vectors_left_out;
        if let Some(newest_id) = batch_result.newest_id {
            // Starts indexing while the import runs instead of at the next search.
            self.engine.notify_added(tenant, newest_id);
        }
        Ok((batch_result.id_map_delta, elapsed))
    }

    /// Waits until the search indexes are written: for commands that end.
    pub async fn wait_for_index(&self) -> Result<()> {
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || engine.wait_idle()).await.map_err(quad_core::Error::internal)
    }
}

/// The number of rows for the next transaction, from the duration of the last one.
fn next_batch_size(rows: usize, elapsed: Duration) -> usize {
    if elapsed > BATCH_TIME_LIMIT {
        (rows / 2).max(limits::MIN_IMPORT_ROWS)
    } else if elapsed < BATCH_TIME_LIMIT / 2 {
        (rows * 2).min(limits::ROWS_PER_WRITE)
    } else {
        rows
    }
}
