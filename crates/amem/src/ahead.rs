//! Additions of one caller that wait to be written with those of the next job: see [`Gathered`].
//!
//! A group commit is often many single additions of one caller. Each of them would read and write the counters, the caller's place
//! and its session, and change the same pages of every index again; together they do so once.

use std::sync::Arc;

use quad_core::Result;
use quad_store::{DeferredRows, Tx};

use crate::edge::{self, Edge};
use crate::node::{self, Node};
use crate::place::{self, Place};
use crate::stats::Stats;
use crate::{limits, outgoing};

/// What a caller has added, and how far the graph is with it.
#[derive(Clone)]
pub(crate) struct Ahead {
    subject: Arc<str>,
    pub stats: Stats,
    pub place: Place,
    /// Shared with the state before the job, to which a failed one goes back.
    pub pieces: Vec<Arc<Piece>>,
}

/// What one job has added.
pub(crate) struct Piece {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub at: i64,
}

impl Ahead {
    /// The state of the graph for a caller that is to add to it: as an earlier job has left it, or as it is stored.
    pub(crate) fn take(tx: &mut Tx<'_>, subject: &str) -> Result<Ahead> {
        if let Some(ahead) = tx.take_deferred_rows::<Ahead>() {
            if *ahead.subject == *subject {
                return Ok(Arc::unwrap_or_clone(ahead));
            }
            ahead.write(tx)?;
        }
        let (stats, place) = place::lock(tx, subject)?;
        Ok(Ahead { subject: subject.into(), stats, place, pieces: Vec::new() })
    }

    /// Leaves it to the next job, or to the commit.
    pub(crate) fn gather(mut self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: usize = self.pieces.iter().map(|piece| piece.nodes.len()).sum();
        if nodes >= limits::GATHERED_NODES {
            self.write_pieces(tx)?;
        }
        tx.defer_rows(Arc::new(self))
    }

    /// Writes the nodes and edges, not the counters.
    pub(crate) fn write_pieces(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert(tx)?;
        self.pieces.clear();
        Ok(())
    }

    fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let nodes: Vec<&Node> = self.pieces.iter().flat_map(|piece| &piece.nodes).collect();
        let edges = self.pieces.iter().flat_map(|piece| piece.edges.iter().map(|edge| (*edge, piece.at)));
        let edges: Vec<(Edge, i64)> = edges.collect();
        let mut leaving = outgoing::by_source(edges.iter().map(|(edge, _)| edge));
        node::insert(tx, &self.subject, &nodes, &leaving)?;
        edge::insert_rows(tx, &edges)?;
        // Those that were there before: the one that the chain goes on from.
        nodes.iter().for_each(|node| drop(leaving.remove(&node.id)));
        outgoing::refresh(tx, &leaving.into_keys().collect())
    }
}

impl DeferredRows for Ahead {
    fn write(&self, tx: &mut Tx<'_>) -> Result<()> {
        self.insert(tx)?;
        self.place.save(tx, &self.subject)?;
        self.stats.save(tx)
    }
}
