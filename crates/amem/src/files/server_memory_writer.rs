//! Writes the JSONL of `@modelcontextprotocol/server-memory`. A node becomes an entity `node-ID` of its type with
//! its text as the only observation; an edge becomes a relation. The format has no place for confidence, times,
//! sessions, weights and vectors.

use std::io::Write;

use quad_core::Result;
use serde_json::{Value, json};

use super::item::{EDGE_TYPES, EVENT_TYPES, EdgeItem, NodeItem};
use super::parse_error;

/// Writes a file of this format.
pub struct ServerMemoryWriter<W> {
    out: W,
}

impl<W: Write> ServerMemoryWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> ServerMemoryWriter<W> {
        ServerMemoryWriter { out }
    }

    /// Adds an entity.
    pub fn write_node(&mut self, node: &NodeItem) -> Result<()> {
        let kind = EVENT_TYPES.get(usize::from(node.event_type)).copied().unwrap_or_default();
        self.write_line(&json!({"type": "entity", "name": entity_name(node.id), "entityType": kind,
            "observations": [node.content]}))
    }

    /// Adds a relation.
    pub fn write_edge(&mut self, edge: &EdgeItem) -> Result<()> {
        let kind = EDGE_TYPES.get(usize::from(edge.edge_type)).copied().unwrap_or_default();
        self.write_line(&json!({"type": "relation", "from": entity_name(edge.source_id), "to": entity_name(edge.target_id),
            "relationType": kind}))
    }

    fn write_line(&mut self, line: &Value) -> Result<()> {
        writeln!(self.out, "{line}").map_err(parse_error::io_error)
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush().map_err(parse_error::io_error)?;
        Ok(self.out)
    }
}

/// The name of a node's entity.
fn entity_name(id: u64) -> String {
    format!("node-{id}")
}
