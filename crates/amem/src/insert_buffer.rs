//! Additions of one caller that wait to be written with those of the next job: see [`DeferredRows`].
//!
//! A group commit is often many single additions of one caller. Each of them would read and write the counters, the caller's place
//! and its session, and change the same pages of every index again; together they do so once.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Tx;
use quad_store::fast_path::DeferredRows;

use crate::caller_state::{self, CallerState};
use crate::counters::Counters;
use crate::edge::{self, Edge};
use crate::node::{self, Node};
use crate::{limits, packed_edges};

/// What a caller has added, and how far the graph is with it.
#[derive(Clone)]
pub(crate) struct InsertBuffer {
    subject: Arc<str>,
    pub counters: Counters,
    pub caller_state: CallerState,
    /// Shared with the state before the job, to which a failed one goes back.
    pub inserts: Vec<Arc<BufferedInsert>>,
}

/// What one job has added.
pub(crate) struct BufferedInsert {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub at: i64,
}

impl InsertBuffer {
    /// The state of the graph for a caller that is to add to it: as an earlier job has left it, or as it is stored.
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

    /// Leaves it to the next job, or to the commit.
    pub(crate) fn park(mut self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: usize = self.inserts.iter().map(|insert| insert.nodes.len()).sum();
        if nodes >= limits::BUFFERED_NODES {
            self.flush_rows(tx)?;
        }
        tx.defer_rows(Arc::new(self))
    }

    /// Writes the nodes and edges, not the counters.
    pub(crate) fn flush_rows(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert_rows(tx)?;
        self.inserts.clear();
        Ok(())
    }

    fn insert_rows(&self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: Vec<&Node> = self.inserts.iter().flat_map(|insert| &insert.nodes).collect();
        let edges = self.inserts.iter().flat_map(|insert| insert.edges.iter().map(|edge| (*edge, insert.at)));
        let edges: Vec<(Edge, i64)> = edges.collect();
        let mut edges_by_source = packed_edges::group_by_source(edges.iter().map(|(edge, _)| edge));
        node::insert(tx, &self.subject, &nodes, &edges_by_source)?;
        edge::insert_rows(tx, &edges)?;
        // Those that were there before: the one that the chain goes on from.
        nodes.iter().for_each(|node| drop(edges_by_source.remove(&node.id)));
        packed_edges::rebuild(tx, &edges_by_source.into_keys().collect())
    }
}

impl DeferredRows for InsertBuffer {
    fn write(&self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert_rows(tx)?;
        self.caller_state.save(tx, &self.subject)?;
        self.counters.save(tx)
    }
}
