//! Reads the `.amem` format of `agentic-memory`, version 1: a header, tables of nodes and edges, compressed texts,
//! vectors.
//!
//! ```text
//! header  64 bytes: "AMEM", version, dimension, flags (u32); node and edge counts (u64);
//!                   offsets of nodes, edges, texts and vectors (u64)
//! node    72 bytes: id u64 @0, type u8 @8, created u64 @12, session u32 @20, confidence f32 @24, accesses u32 @28,
//!                   last access u64 @32, decay f32 @40, text offset u64 @44 and length u32 @52,
//!                   first edge u64 @56 and edge count u16 @64
//! edge    32 bytes: source u64, target u64, type u8 @16, weight f32 @20, created u64 @24; by source and target
//! text    an LZ4 block after its uncompressed size (u32); vector: dimension × f32
//! ```
//! All numbers are little-endian. After the vectors the file may have indexes; these are neither read nor written.
//! The format has no place for the author of a node, nor for sessions. Vectors that are too long and
//! all-zero vectors are left out.

use std::io::{Read, Seek, SeekFrom};

use quad_core::Result;

use super::item::{EDGE_TYPES, EVENT_TYPES, EdgeItem, Item, NodeItem};
use super::limits::{CONTENT_BYTES, MAX_DIMENSION};
use super::parse_error;
use super::region_reader::{RecordView, RegionReader};
use crate::vectors;

pub(crate) const HEADER_BYTES: u64 = 64;
pub(crate) const NODE_BYTES: u64 = 72;
pub(crate) const EDGE_BYTES: u64 = 32;
pub(crate) const MAGIC: &[u8; 4] = b"AMEM";
pub(crate) const VERSION: u32 = 1;

/// The longest compressed text: LZ4 grows incompressible data by one byte in 255 and some bytes, and a size
/// precedes it.
const MAX_COMPRESSED_BYTES: usize = CONTENT_BYTES + CONTENT_BYTES / 10 + 24;

/// Reads a file: first all nodes, then all edges. Uses memory for one buffer per region and for the ids.
pub struct AmemReader<R> {
    file: R,
    file_bytes: u64,
    header: Header,
    node_region: RegionReader,
    edge_region: RegionReader,
    content_region: RegionReader,
    vector_region: RegionReader,
    /// The ids of the nodes read so far, ascending, to check the ends of edges.
    ids: Vec<u64>,
    next_node: u64,
    next_edge: u64,
    vectors_left_out: u64,
    failed: bool,
}

struct Header {
    dimension: u64,
    node_count: u64,
    edge_count: u64,
    nodes_offset: u64,
    edges_offset: u64,
    contents_offset: u64,
    vectors_offset: u64,
}

impl<R: Read + Seek> AmemReader<R> {
    /// Reads the header, and checks that everything it promises fits into the file.
    pub fn open(mut file: R) -> Result<AmemReader<R>> {
        let file_bytes = file.seek(SeekFrom::End(0)).map_err(parse_error::io_error)?;
        let mut window = RegionReader::default();
        let header = RecordView(window.read_range(&mut file, file_bytes, 0, HEADER_BYTES as usize)?);
        if !header.0.starts_with(MAGIC) {
            return Err(parse_error::at_byte(0, "not an .amem file: it does not begin with AMEM"));
        }
        if header.u32(4) != VERSION {
            let version = header.u32(4);
            return Err(parse_error::at_byte(
                4,
                format!("version {version} of the format is not supported, only {VERSION}"),
            ));
        }
        let header = Header {
            dimension: u64::from(header.u32(8)),
            node_count: header.u64(16),
            edge_count: header.u64(24),
            nodes_offset: header.u64(32),
            edges_offset: header.u64(40),
            contents_offset: header.u64(48),
            vectors_offset: header.u64(56),
        };
        header.check(file_bytes)?;
        Ok(AmemReader {
            file,
            file_bytes,
            header,
            node_region: RegionReader::default(),
            edge_region: RegionReader::default(),
            content_region: RegionReader::default(),
            vector_region: RegionReader::default(),
            ids: Vec::new(),
            next_node: 0,
            next_edge: 0,
            vectors_left_out: 0,
            failed: false,
        })
    }

    /// The number of nodes in the file.
    pub fn node_count(&self) -> u64 {
        self.header.node_count
    }

    /// The number of edges in the file.
    pub fn edge_count(&self) -> u64 {
        self.header.edge_count
    }

    /// The number of vectors left out so far: too long, or with numbers that are not finite. All-zero
    /// vectors, which `agentic-memory` writes for nodes without one, do not count.
    pub fn vectors_left_out(&self) -> u64 {
        self.vectors_left_out
    }

    fn read_node(&mut self) -> Result<NodeItem> {
        let record_offset = self.header.nodes_offset + self.next_node * NODE_BYTES;
        let record = RecordView(self.node_region.read_range(
            &mut self.file,
            self.file_bytes,
            record_offset,
            NODE_BYTES as usize,
        )?);
        let id = record.u64(0);
        // The limit of ids in the database.
        if i64::try_from(id).is_err() {
            return Err(parse_error::at_byte(record_offset, format!("{id} is too large for a node's id")));
        }
        if self.ids.last().is_some_and(|last| *last >= id) {
            return Err(parse_error::at_byte(
                record_offset,
                format!("node {id} follows a node whose id is not less"),
            ));
        }
        let event_type = record.u8(8);
        if usize::from(event_type) >= EVENT_TYPES.len() {
            return Err(parse_error::at_byte(
                record_offset + 8,
                format!("{event_type} is not an event type"),
            ));
        }
        let (session_id, access_count) = (record.u32(20), record.u32(28));
        let created_at = read_time(&record, record_offset, 12)?;
        let last_accessed = read_time(&record, record_offset, 32)?;
        let confidence = read_ratio(&record, record_offset, 24)?;
        let (content_offset, compressed_bytes) = (record.u64(44), record.u32(52));
        let content = self.read_content(record_offset, content_offset, compressed_bytes)?;
        let vector = self.read_vector()?;
        self.ids.push(id);
        self.next_node += 1;
        let created_by = None;
        Ok(NodeItem {
            id,
            event_type,
            session_id,
            created_at,
            confidence,
            access_count,
            last_accessed,
            created_by,
            content,
            vector,
        })
    }

    fn read_content(&mut self, record_offset: u64, offset: u64, compressed_bytes: u32) -> Result<String> {
        if compressed_bytes == 0 {
            return Ok(String::new());
        }
        let length = compressed_bytes as usize;
        if length > MAX_COMPRESSED_BYTES {
            return Err(parse_error::at_byte(
                record_offset + 52,
                format!("a compressed text has {length} bytes; the maximum is {MAX_COMPRESSED_BYTES}"),
            ));
        }
        let start = self.header.contents_offset.checked_add(offset).ok_or_else(|| {
            parse_error::at_byte(record_offset + 44, format!("the text offset {offset} is out of range"))
        })?;
        let bytes = self.content_region.read_range(&mut self.file, self.file_bytes, start, length)?;
        let Some((size, block)) = bytes.split_first_chunk::<4>() else {
            return Err(parse_error::at_byte(
                start,
                format!("a compressed text has {length} bytes, too few for its size"),
            ));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size > CONTENT_BYTES {
            return Err(parse_error::at_byte(
                start,
                format!("a text has {size} bytes; the maximum is {CONTENT_BYTES}"),
            ));
        }
        let decompressed = lz4_flex::block::decompress(block, size).map_err(|error| {
            parse_error::at_byte(start + 4, format!("a text cannot be decompressed: {error}"))
        })?;
        if decompressed.len() != size {
            let actual_size = decompressed.len();
            return Err(parse_error::at_byte(
                start,
                format!("a text must have {size} bytes but has {actual_size}"),
            ));
        }
        String::from_utf8(decompressed)
            .map_err(|error| parse_error::at_byte(start, format!("a text is not UTF-8: {error}")))
    }

    fn read_vector(&mut self) -> Result<Option<Vec<f32>>> {
        let dimension = usize::try_from(self.header.dimension).unwrap_or(usize::MAX);
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            // Counted if the file has vectors at all; a vector that is too long is not read.
            self.vectors_left_out += u64::from(dimension > 0);
            return Ok(None);
        }
        let length = dimension * 4;
        let offset = self.header.vectors_offset + self.next_node * length as u64;
        let bytes = self.vector_region.read_range(&mut self.file, self.file_bytes, offset, length)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        if vector.iter().all(|number| *number == 0.0) {
            return Ok(None);
        }
        if !vectors::is_valid(&vector) {
            self.vectors_left_out += 1;
            return Ok(None);
        }
        Ok(Some(vector))
    }

    fn read_edge(&mut self) -> Result<EdgeItem> {
        let record_offset = self.header.edges_offset + self.next_edge * EDGE_BYTES;
        let record = RecordView(self.edge_region.read_range(
            &mut self.file,
            self.file_bytes,
            record_offset,
            EDGE_BYTES as usize,
        )?);
        let (source_id, target_id, edge_type) = (record.u64(0), record.u64(8), record.u8(16));
        for (id, field_offset) in [(source_id, 0), (target_id, 8)] {
            if self.ids.binary_search(&id).is_err() {
                return Err(parse_error::at_byte(
                    record_offset + field_offset,
                    format!("an edge refers to node {id}, which the file does not have"),
                ));
            }
        }
        if source_id == target_id {
            return Err(parse_error::at_byte(
                record_offset,
                format!("an edge from node {source_id} to itself"),
            ));
        }
        if usize::from(edge_type) >= EDGE_TYPES.len() {
            return Err(parse_error::at_byte(record_offset + 16, format!("{edge_type} is not an edge type")));
        }
        let weight = read_ratio(&record, record_offset, 20)?;
        let created_at = read_time(&record, record_offset, 24)?;
        self.next_edge += 1;
        Ok(EdgeItem { source_id, target_id, edge_type, weight, created_at })
    }
}

impl<R: Read + Seek> Iterator for AmemReader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        if self.failed {
            return None;
        }
        let result = if self.next_node < self.header.node_count {
            self.read_node().map(Item::Node)
        } else if self.next_edge < self.header.edge_count {
            self.read_edge().map(Item::Edge)
        } else {
            return None;
        };
        self.failed = result.is_err();
        Some(result)
    }
}

impl Header {
    fn check(&self, file_bytes: u64) -> Result<()> {
        let check_fits = |header_offset: u64, section: &str, start: u64, count: u64, record_bytes: u64| {
            let end = count.checked_mul(record_bytes).and_then(|bytes| start.checked_add(bytes));
            match end {
                Some(end) if end <= file_bytes && start >= HEADER_BYTES => Ok(()),
                _ => Err(parse_error::at_byte(
                    header_offset,
                    format!(
                        "{count} {section} of {record_bytes} bytes at byte {start} do not fit into a file of {file_bytes}"
                    ),
                )),
            }
        };
        check_fits(32, "nodes", self.nodes_offset, self.node_count, NODE_BYTES)?;
        check_fits(40, "edges", self.edges_offset, self.edge_count, EDGE_BYTES)?;
        check_fits(48, "texts", self.contents_offset, 0, 0)?;
        // The dimension has 32 bits, so the product cannot overflow.
        check_fits(56, "vectors", self.vectors_offset, self.node_count, self.dimension * 4)
    }
}

/// A time in microseconds.
fn read_time(record: &RecordView<'_>, record_offset: u64, field_offset: usize) -> Result<i64> {
    let time = record.u64(field_offset);
    i64::try_from(time).map_err(|_| {
        parse_error::at_byte(
            record_offset + field_offset as u64,
            format!("{time} µs is out of range for a time"),
        )
    })
}

/// A number from 0 to 1. Values outside are clamped, as `agentic-memory` does it.
fn read_ratio(record: &RecordView<'_>, record_offset: u64, field_offset: usize) -> Result<f64> {
    let ratio = record.f32(field_offset);
    if !ratio.is_finite() {
        return Err(parse_error::at_byte(
            record_offset + field_offset as u64,
            format!("{ratio} is not a number from 0 to 1"),
        ));
    }
    // The shortest decimal that gives this float: 0.95, not 0.949999988079071.
    Ok(ratio.clamp(0.0, 1.0).to_string().parse().unwrap_or_else(|_| f64::from(ratio)))
}
