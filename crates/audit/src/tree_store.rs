//! The Merkle tree of a tenant's chain, as stored.
//!
//! A checkpoint row contains the right edge of the tree, from which the next checkpoint extends it. Above every 256
//! leaves one node is stored, 256 of them in a row (a tile), and one above every 256 of those. With the edge, the
//! events of one tile and one row per level, any leaf can be proven, however long the chain is.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_store::audit::{archive, block, checkpoint};
use quad_store::{Sql, Tx};

use crate::chain_error;
use crate::hash::Hash;
use crate::limits::TILE_WIDTH;
use crate::merkle::{self, CompleteNode, Frontier, NodeSet};

/// The height of a tile.
const TILE_HEIGHT: u32 = TILE_WIDTH.ilog2();

/// A tree that is extended, with the new nodes to store.
#[derive(Debug, Default)]
pub(crate) struct TreeAppender {
    pub(crate) frontier: Frontier,
    tile_nodes: Vec<CompleteNode>,
}

impl TreeAppender {
    pub(crate) fn from(frontier: Frontier) -> TreeAppender {
        TreeAppender { frontier, tile_nodes: Vec::new() }
    }

    /// Appends an event.
    pub(crate) fn add(&mut self, event_hash: &Hash) {
        let tile_nodes = &mut self.tile_nodes;
        self.frontier.append(event_leaf_hash(event_hash), |node| {
            if node.height % TILE_HEIGHT == 0 {
                tile_nodes.push(node);
            }
        });
    }

    /// Stores the nodes that have become complete.
    pub(crate) fn store(&self, tx: &mut Tx<'_>) -> Result<()> {
        let mut tiles: BTreeMap<(i64, i64), Vec<CompleteNode>> = BTreeMap::new();
        for node in &self.tile_nodes {
            let level = i64::from(node.height / TILE_HEIGHT);
            tiles.entry((level, (node.index / TILE_WIDTH) as i64)).or_default().push(*node);
        }
        for ((level, tile_index), nodes) in tiles {
            let mut hashes = checkpoint::tile(tx, level, tile_index)?.unwrap_or_default();
            for node in nodes {
                if hashes.len() as u64 != node.index % TILE_WIDTH * 32 {
                    return Err(chain_error::stored_chain(
                        "a tile of the tree has the wrong number of hashes",
                    ));
                }
                hashes.extend_from_slice(node.hash.as_bytes());
            }
            checkpoint::put_tile(tx, level, tile_index, hashes)?;
        }
        Ok(())
    }
}

/// The leaf hash of an event.
pub(crate) fn event_leaf_hash(event_hash: &Hash) -> Hash {
    merkle::leaf_hash(event_hash.as_bytes())
}

/// Parses a stored right edge.
pub(crate) fn parse_frontier(size: i64, bytes: &[u8]) -> Result<Frontier> {
    let size = u64::try_from(size).ok();
    size.and_then(|size| Frontier::from_bytes(size, bytes))
        .ok_or_else(|| chain_error::stored_chain("the right edge of the tree has the wrong number of hashes"))
}

/// Loads the nodes that prove leaf `index`.
pub(crate) fn load_proof_nodes(sql: &mut dyn Sql, edge: &Frontier, index: u64) -> Result<NodeSet> {
    let mut node_set = NodeSet::new(edge);
    if let Some(anchor) = archive::archive_end(sql)? {
        // The leaves before the anchor are archived; the roots of their subtrees are known.
        parse_frontier(anchor.last_sequence, &anchor.frontier)?
            .complete_nodes()
            .for_each(|node| node_set.add(node));
    }
    let first = index / TILE_WIDTH * TILE_WIDTH;
    let last = (first + TILE_WIDTH).min(edge.size());
    for (sequence, record) in block::records_between(sql, first as i64 + 1, last as i64)? {
        let hash = event_leaf_hash(&Hash::compute(record.as_bytes()));
        node_set.add(CompleteNode { height: 0, index: (sequence - 1) as u64, hash });
    }
    let heights = (1..).map(|level| level * TILE_HEIGHT).take_while(|height| edge.size() >> height > 0);
    for height in heights {
        let tile_index = (index >> height) / TILE_WIDTH;
        let level = i64::from(height / TILE_HEIGHT);
        let hashes = checkpoint::tile(sql, level, tile_index as i64)?.unwrap_or_default();
        for (position, hash) in hashes.chunks(32).filter_map(Hash::from_slice).enumerate() {
            node_set.add(CompleteNode { height, index: tile_index * TILE_WIDTH + position as u64, hash });
        }
    }
    Ok(node_set)
}
