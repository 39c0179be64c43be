//! Buffers the inserts of one caller across the jobs of a group commit: see [`DeferredRows`].
//!
//! A group commit often consists of many single inserts of one caller. Each would read and write the counters, the
//! caller state and its session, and change the same index pages. The buffer does so once for all of them.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Tx;
use quad_store::fast_path::DeferredRows;

use crate::adjacency::EdgesBySource;
use crate::caller_state::{self, CallerState};
use crate::counters::Counters;
use crate::edge::{self, Edge};
use crate::node::{self, Node};
use crate::{adjacency, limits};

/// The buffered inserts of a caller, with the counters and the caller state that include them.
#[derive(Clone)]
pub(crate) struct InsertBuffer {
    subject: Arc<str>,
    pub counters: Counters,
    pub caller_state: CallerState,
    /// Shared with the buffer of the previous job, which is restored if a job fails.
    pub inserts: Vec<Arc<BufferedInsert>>,
}

/// The rows of one job.
pub(crate) struct BufferedInsert {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub at: i64,
}

impl InsertBuffer {
    /// The buffer of this caller: the one that an earlier job left, or a new one with the stored state. The buffer
    /// of another caller is written first.
    pub(crate) fn acquire(tx: &mut Tx<'_>, subject: &str) -> Result<InsertBuffer> {
        if let Some(buffer) = tx.take_deferred_rows::<InsertBuffer>() {
            if *buffer.subject == *subject {
                return Ok(Arc::unwrap_or_clone(buffer));
            }
            buffer.write(tx)?;
        }
        let (counters, caller_state) = caller_state::lock_with_counters(tx, subject)?;
        Ok(InsertBuffer { subject: subject.into(), counters, caller_state, inserts: Vec::new() })
    }

    /// Leaves the buffer to the next job, or to the commit, which writes it.
    pub(crate) fn park(mut self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: usize = self.inserts.iter().map(|insert| insert.nodes.len()).sum();
        if nodes >= limits::BUFFERED_NODES {
            self.flush_rows(tx)?;
        }
        tx.defer_rows(Arc::new(self))
    }

    /// Writes the buffered nodes and edges, but not the counters.
    pub(crate) fn flush_rows(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert_rows(tx)?;
        self.inserts.clear();
        Ok(())
    }

    fn insert_rows(&self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: Vec<&Node> = self.inserts.iter().flat_map(|insert| &insert.nodes).collect();
        let edges = self.inserts.iter().flat_map(|insert| insert.edges.iter().map(|edge| (*edge, insert.at)));
        let edges: Vec<(Edge, i64)> = edges.collect();
        let edges_by_source = EdgesBySource::new(edges.iter().map(|(edge, _)| edge));
        node::insert(tx, &self.subject, &nodes, &edges_by_source)?;
        edge::insert_rows(tx, &edges)?;
        // Only sources that existed before remain: the node that the chain continued from.
        adjacency::rebuild(tx, &edges_by_source.other_sources(nodes))
    }
}

impl DeferredRows for InsertBuffer {
    fn write(&self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert_rows(tx)?;
        self.caller_state.save(tx, &self.subject)?;
        self.counters.save(tx)
    }
}
