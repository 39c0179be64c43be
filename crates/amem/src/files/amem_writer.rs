//! Writes the `.amem` format; its layout is described at the [reader](super::amem_file).

use std::io::{Seek, SeekFrom, Write};

use quad_core::Result;

use super::amem_file::{EDGE_BYTES, HEADER_BYTES, MAGIC, NODE_BYTES, VERSION};
use super::item::{EdgeItem, NodeItem};
use super::limits::DIMENSION;
use super::parse_error;
use crate::vectors;

/// Writes a file. `nodes` and `edges` return a new iterator on each call, one call for each part of the file: items
/// are read again instead of kept in memory. Each call must return the same items: nodes by id, edges by source and
/// target. Decay scores are those of `now`, in microseconds since 1970.
pub fn write_amem<W, N, E>(
    mut out: W,
    now: i64,
    mut nodes: impl FnMut() -> Result<N>,
    mut edges: impl FnMut() -> Result<E>,
) -> Result<()>
where
    W: Write + Seek,
    N: Iterator<Item = Result<NodeItem>>,
    E: Iterator<Item = Result<EdgeItem>>,
{
    let mut out_degrees = OutDegrees::new(edges()?);
    let (mut node_count, mut edge_count, mut dimension) = (0_u64, 0_u64, None);
    for node in nodes()? {
        dimension =
            dimension.or(node?.vector.filter(|vector| vectors::is_valid(vector)).map(|vector| vector.len()));
        node_count += 1;
    }
    let dimension = dimension.unwrap_or(DIMENSION);
    for edge in edges()? {
        edge?;
        edge_count += 1;
    }
    let edges_offset = HEADER_BYTES + node_count * NODE_BYTES;
    let contents_offset = edges_offset + edge_count * EDGE_BYTES;

    // Node records; the lengths of the compressed texts give the offsets.
    out.seek(SeekFrom::Start(HEADER_BYTES)).map_err(parse_error::io_error)?;
    let mut content_bytes = 0_u64;
    let mut first_edge = 0_u64;
    let mut last_id = None;
    for node in nodes()? {
        let node = node?;
        if last_id.is_some_and(|last| last >= node.id) {
            return Err(quad_core::Error::internal("nodes to be written do not ascend"));
        }
        last_id = Some(node.id);
        let compressed_bytes = lz4_flex::block::compress_prepend_size(node.content.as_bytes()).len() as u64;
        let degree = out_degrees.degree_of(node.id)?;
        out.write_all(&node_record(&node, now, content_bytes, compressed_bytes, first_edge, degree))
            .map_err(parse_error::io_error)?;
        content_bytes += compressed_bytes;
        first_edge += degree;
    }
    for edge in edges()? {
        out.write_all(&edge_record(&edge?)).map_err(parse_error::io_error)?;
    }
    for node in nodes()? {
        let compressed = lz4_flex::block::compress_prepend_size(node?.content.as_bytes());
        out.write_all(&compressed).map_err(parse_error::io_error)?;
    }
    for node in nodes()? {
        let mut bytes = vec![0_u8; dimension * 4];
        if let Some(vector) = node?.vector.filter(|vector| vectors::is_valid(vector)) {
            for (slot, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(vector) {
                *slot = number.to_le_bytes();
            }
        }
        out.write_all(&bytes).map_err(parse_error::io_error)?;
    }
    let mut header = [0_u8; HEADER_BYTES as usize];
    put(&mut header, 0, *MAGIC);
    put(&mut header, 4, VERSION.to_le_bytes());
    put(&mut header, 8, (dimension as u32).to_le_bytes());
    put(&mut header, 16, node_count.to_le_bytes());
    put(&mut header, 24, edge_count.to_le_bytes());
    put(&mut header, 32, HEADER_BYTES.to_le_bytes());
    put(&mut header, 40, edges_offset.to_le_bytes());
    put(&mut header, 48, contents_offset.to_le_bytes());
    put(&mut header, 56, (contents_offset + content_bytes).to_le_bytes());
    // Written last, so that an unfinished file is not mistaken for a valid one.
    out.seek(SeekFrom::Start(0)).map_err(parse_error::io_error)?;
    out.write_all(&header).map_err(parse_error::io_error)?;
    out.flush().map_err(parse_error::io_error)
}

/// The number of outgoing edges of each node, from edges sorted by source.
struct OutDegrees<E: Iterator> {
    edges: std::iter::Peekable<E>,
}

impl<E: Iterator<Item = Result<EdgeItem>>> OutDegrees<E> {
    fn new(edges: E) -> OutDegrees<E> {
        OutDegrees { edges: edges.peekable() }
    }

    fn degree_of(&mut self, id: u64) -> Result<u64> {
        let mut degree = 0;
        while let Some(edge) =
            self.edges.next_if(|edge| edge.as_ref().map_or(true, |edge| edge.source_id <= id))
        {
            if edge?.source_id != id {
                return Err(quad_core::Error::internal(
                    "edges to be written are not sorted, or leave no node",
                ));
            }
            degree += 1;
        }
        Ok(degree)
    }
}

fn node_record(
    node: &NodeItem,
    now: i64,
    content_offset: u64,
    compressed_bytes: u64,
    first_edge: u64,
    degree: u64,
) -> [u8; 72] {
    let mut record = [0; NODE_BYTES as usize];
    put(&mut record, 0, node.id.to_le_bytes());
    put(&mut record, 8, [node.event_type]);
    put(&mut record, 12, node.created_at.max(0).to_le_bytes());
    put(&mut record, 20, node.session_id.to_le_bytes());
    put(&mut record, 24, (node.confidence as f32).to_le_bytes());
    put(&mut record, 28, node.access_count.to_le_bytes());
    put(&mut record, 32, node.last_accessed.max(0).to_le_bytes());
    put(&mut record, 40, decay_score(node, now).to_le_bytes());
    put(&mut record, 44, content_offset.to_le_bytes());
    put(&mut record, 52, (compressed_bytes as u32).to_le_bytes());
    put(&mut record, 56, (first_edge * EDGE_BYTES).to_le_bytes());
    put(&mut record, 64, u16::try_from(degree).unwrap_or(u16::MAX).to_le_bytes());
    record
}

fn edge_record(edge: &EdgeItem) -> [u8; 32] {
    let mut record = [0; EDGE_BYTES as usize];
    put(&mut record, 0, edge.source_id.to_le_bytes());
    put(&mut record, 8, edge.target_id.to_le_bytes());
    put(&mut record, 16, [edge.edge_type]);
    put(&mut record, 20, (edge.weight as f32).to_le_bytes());
    put(&mut record, 24, edge.created_at.max(0).to_le_bytes());
    record
}

/// The graph's decay score, for the format's field of that name.
fn decay_score(node: &NodeItem, now: i64) -> f32 {
    const DAY: f64 = 86_400e6;
    let base = match node.event_type {
        2 | 4 => 0.8,
        5 => 0.6,
        _ => 1.0,
    };
    let bonus = (1.0 + f64::from(node.access_count)).log2();
    let days = now.saturating_sub(node.last_accessed) as f64 / DAY - bonus;
    (base * (-0.01 * days).exp().min(1.0)) as f32
}

fn put<const N: usize>(record: &mut [u8], offset: usize, bytes: [u8; N]) {
    if let Some(slot) = record.get_mut(offset..offset + N) {
        slot.copy_from_slice(&bytes);
    }
}
