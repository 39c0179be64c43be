//! Importing: a file of memories becomes a part of the graph.
//!
//! A file is read in portions, each one transaction. Of every node that comes in, the digest of what the file says of it
//! is kept beside its id here. So a node that is here already is recognised, be it from the same file, from a longer copy
//! of it, or native to this graph; an import that was interrupted is simply run again; and what was forgotten since stays
//! forgotten.
//!
//! Nodes and sessions keep their numbers where these are free, else they get new ones. Edges that are here already keep
//! their weight.

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

/// Who did it, in the audit trail and where a file does not say who made something.
const ACTOR: &str = "quad memory import";

/// How long one transaction should take at most: every read waits for its audit event behind it.
const BATCH_TIME_LIMIT: Duration = Duration::from_millis(50);

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportProgress {
    /// So much of the file has been read …
    pub done: u64,
    /// … of so much, in a unit of the file's own.
    pub total: u64,
    /// Nodes that were added so far.
    pub nodes: u64,
    /// Edges that were added so far.
    pub edges: u64,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportResult {
    /// Nodes that were added.
    pub nodes: u64,
    /// Edges that were added.
    pub edges: u64,
    /// Sessions that were added.
    pub sessions: u64,
    /// Nodes and edges that were there already.
    pub existing: u64,
    /// Edges that were left out: one of their ends has been forgotten, or they would close a circle of corrections.
    pub edges_left_out: u64,
    /// Vectors that were left out: they are no directions in the graph's dimension.
    pub vectors_left_out: u64,
    /// Lines that could not be used.
    pub bad_lines: BadLines,
}

impl Amem {
    /// Imports a file into a tenant's graph, and says after each portion how far it is. Lines that cannot be used are
    /// reported and left out; a binary file that is wrong anywhere is refused before anything is changed.
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
        result.vectors_left_out = file.vectors_left_out();
        Ok((format, result))
    }

    /// Takes one portion in, if there is anything new in it. Says how long its transaction held others up; the wait for its own
    /// turn does not count.
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
        if let Some(newest_id) = batch_result.newest_id {
            // Indexed while the import runs, not at the next search.
            self.engine.notify_added(tenant, newest_id);
        }
        Ok((batch_result.id_map_delta, elapsed))
    }

    /// Waits until what searches derive from the graph is written: for commands that end.
    pub async fn wait_for_index(&self) -> Result<()> {
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || engine.wait_idle()).await.map_err(quad_core::Error::internal)
    }
}

/// How many rows the next transaction should have, if so many took so long.
fn next_batch_size(rows: usize, elapsed: Duration) -> usize {
    if elapsed > BATCH_TIME_LIMIT {
        (rows / 2).max(limits::MIN_IMPORT_ROWS)
    } else if elapsed < BATCH_TIME_LIMIT / 2 {
        (rows * 2).min(limits::ROWS_PER_WRITE)
    } else {
        rows
    }
}
