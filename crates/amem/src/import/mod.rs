//! Importing: a file of memories becomes a part of the graph.
//!
//! A file is read in portions, each one transaction. Of every node that comes in, the digest of what the file says of it
//! is kept beside its id here. So a node that is here already is recognised, be it from the same file, from a longer copy
//! of it, or native to this graph; an import that was interrupted is simply run again; and what was forgotten since stays
//! forgotten.
//!
//! Nodes and sessions keep their numbers where these are free, else they get new ones. Edges that are here already keep
//! their weight.

mod portion;
mod renumbering;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{EventDraft, Result, TenantId};
use quad_store::WriteContext;

use crate::files::{BadLines, FileFormat, MemoryFile};
use crate::{Amem, limits, micros};
use portion::{Names, Portion};

/// Who did it, in the audit trail and where a file does not say who made something.
const ACTOR: &str = "quad memory import";

/// How long one transaction should take at most: every read waits for its audit event behind it.
const PORTION_TIME: Duration = Duration::from_millis(50);

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
pub struct Imported {
    /// Nodes that were added.
    pub nodes: u64,
    /// Edges that were added.
    pub edges: u64,
    /// Sessions that were added.
    pub sessions: u64,
    /// Nodes and edges that were there already.
    pub known: u64,
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
        mut tell: impl FnMut(ImportProgress),
    ) -> Result<(FileFormat, Imported)> {
        MemoryFile::check(path)?;
        let mut file = MemoryFile::open(path, micros::now())?;
        let format = file.format();
        let mut names = Arc::new(Names::new(format));
        let mut imported = Imported::default();
        let mut rows = limits::ROWS_PER_WRITE;
        while let Some(portion) = Portion::read(&mut file, rows)? {
            let portion = Arc::new(portion);
            let (learned, took) =
                self.import_portion(tenant, &portion, &names, format, &mut imported).await?;
            rows = adapted(rows, took);
            Arc::make_mut(&mut names).learn(learned);
            let (done, total) = file.progress();
            tell(ImportProgress { done, total, nodes: imported.nodes, edges: imported.edges });
        }
        imported.bad_lines = file.bad_lines();
        imported.vectors_left_out = file.vectors_left_out();
        Ok((format, imported))
    }

    /// Takes one portion in, if there is anything new in it. Says how long its transaction held others up; the wait for its own
    /// turn does not count.
    async fn import_portion(
        &self,
        tenant: &TenantId,
        portion: &Arc<Portion>,
        names: &Arc<Names>,
        format: FileFormat,
        imported: &mut Imported,
    ) -> Result<(portion::Learned, Duration)> {
        let (looked_at, known_names) = (portion.clone(), names.clone());
        let plan = self.store.read(tenant, move |sql| looked_at.plan(sql, &known_names)).await?;
        if plan.is_empty() {
            imported.known += plan.known;
            imported.edges_left_out += plan.edges_left_out;
            return Ok((plan.learned, Duration::ZERO));
        }
        let event = EventDraft::system("memory", "memory_imported", ACTOR)
            .input("format", format.as_str())
            .input("nodes", portion.nodes.len())
            .input("edges", portion.edges.len())
            .succeeded();
        let (written, known_names) = (portion.clone(), names.clone());
        let ((done, took), _) = self
            .store
            .write(&WriteContext::from(tenant), event, move |tx| {
                let begun = Instant::now();
                let done = written.write(tx, &known_names)?;
                Ok((done, begun.elapsed()))
            })
            .await?;
        imported.nodes += done.nodes;
        imported.edges += done.edges;
        imported.sessions += done.sessions;
        imported.known += done.known;
        imported.edges_left_out += done.edges_left_out;
        if let Some(newest) = done.newest {
            // Indexed while the import runs, not at the next search.
            self.engine.grown(tenant, newest);
        }
        Ok((done.learned, took))
    }

    /// Waits until what searches derive from the graph is written: for commands that end.
    pub async fn settle(&self) -> Result<()> {
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || engine.settle()).await.map_err(quad_core::Error::internal)
    }
}

/// How many rows the next transaction should have, if so many took so long.
fn adapted(rows: usize, took: Duration) -> usize {
    if took > PORTION_TIME {
        (rows / 2).max(limits::IMPORT_ROWS_LEAST)
    } else if took < PORTION_TIME / 2 {
        (rows * 2).min(limits::ROWS_PER_WRITE)
    } else {
        rows
    }
}
