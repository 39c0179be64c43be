//! The size of a page of nodes, by their number and by the bytes of their contents.

use crate::limits;

/// The number of nodes and bytes that a page may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageBudget {
    pub(crate) nodes: usize,
    bytes: usize,
    is_empty: bool,
}

impl PageBudget {
    pub(crate) fn new(nodes: usize) -> PageBudget {
        PageBudget { nodes, bytes: limits::PAGE_BYTES, is_empty: true }
    }

    /// Takes room for a node with this content if there is enough; the first node always fits.
    pub(crate) fn try_take(&mut self, content: &str) -> bool {
        const NODE_OVERHEAD_BYTES: usize = 160;
        let bytes = content.len() + NODE_OVERHEAD_BYTES;
        if self.nodes == 0 || (bytes > self.bytes && !self.is_empty) {
            return false;
        }
        self.nodes -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_empty = false;
        true
    }
}
