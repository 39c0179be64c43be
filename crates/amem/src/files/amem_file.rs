//! The original's `.amem`, version 1: a header, tables of nodes and edges, compressed texts, vectors.
//!
//! ```text
//! header  64 bytes: "AMEM", version, dimension, flags (u32); node and edge counts (u64);
//!                   where nodes, edges, texts and vectors begin (u64)
//! node    72 bytes: id u64 @0, type u8 @8, created u64 @12, session u32 @20, confidence f32 @24, accesses u32 @28,
//!                   last access u64 @32, decay f32 @40, text offset u64 @44 and length u32 @52,
//!                   first edge u64 @56 and edge count u16 @64
//! edge    32 bytes: source u64, target u64, type u8 @16, weight f32 @20, created u64 @24; by source and target
//! text    an LZ4 block behind its plain size (u32); vector: dimension × f32
//! ```
//! Little-endian throughout. What follows the vectors are indexes that can be made again: they are neither read nor
//! written. The format has no place for who made a node, nor for sessions; vectors of other dimensions than ours and
//! those that are all zeros are left out.

use std::io::{Read, Seek, SeekFrom, Write};

use quad_core::Result;

use super::fault;
use super::item::{self, EDGE_TYPES, EVENT_TYPES, EdgeItem, Item, NodeItem};
use super::limits::{CONTENT_BYTES, DIMENSIONS};
use super::window::{Record, Window};

pub(crate) const HEADER_BYTES: u64 = 64;
pub(crate) const NODE_BYTES: u64 = 72;
pub(crate) const EDGE_BYTES: u64 = 32;
const MAGIC: &[u8; 4] = b"AMEM";
const VERSION: u32 = 1;

/// The longest compressed text: LZ4 grows what it cannot shrink by one in 255 and some bytes, and is preceded by a size.
const COMPRESSED_BYTES: usize = CONTENT_BYTES + CONTENT_BYTES / 10 + 24;

/// Reads a file: first all nodes, then all edges, with memory for one window of each part and for the ids.
pub struct AmemReader<R> {
    file: R,
    file_bytes: u64,
    header: Header,
    nodes: Window,
    edges: Window,
    contents: Window,
    vectors: Window,
    /// Ids of the nodes that were read, ascending, to check the edges by.
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
    nodes_at: u64,
    edges_at: u64,
    contents_at: u64,
    vectors_at: u64,
}

impl<R: Read + Seek> AmemReader<R> {
    /// Reads and checks the header, and that all it promises fits into the file.
    pub fn open(mut file: R) -> Result<AmemReader<R>> {
        let file_bytes = file.seek(SeekFrom::End(0)).map_err(fault::io)?;
        let mut window = Window::default();
        let header = Record(window.get(&mut file, file_bytes, 0, HEADER_BYTES as usize)?);
        if !header.0.starts_with(MAGIC) {
            return Err(fault::at_byte(0, "this is no .amem file: it does not begin with AMEM"));
        }
        if header.u32(4) != VERSION {
            let found = header.u32(4);
            return Err(fault::at_byte(4, format!("version {found} of the format; only {VERSION} is known")));
        }
        let header = Header {
            dimension: u64::from(header.u32(8)),
            node_count: header.u64(16),
            edge_count: header.u64(24),
            nodes_at: header.u64(32),
            edges_at: header.u64(40),
            contents_at: header.u64(48),
            vectors_at: header.u64(56),
        };
        header.check(file_bytes)?;
        Ok(AmemReader {
            file,
            file_bytes,
            header,
            nodes: Window::default(),
            edges: Window::default(),
            contents: Window::default(),
            vectors: Window::default(),
            ids: Vec::new(),
            next_node: 0,
            next_edge: 0,
            vectors_left_out: 0,
            failed: false,
        })
    }

    /// How many nodes the file has.
    pub fn node_count(&self) -> u64 {
        self.header.node_count
    }

    /// How many edges the file has.
    pub fn edge_count(&self) -> u64 {
        self.header.edge_count
    }

    /// How many vectors were left out so far, since they are no directions in our dimension. Zeros, which the original
    /// writes where there is none, do not count.
    pub fn vectors_left_out(&self) -> u64 {
        self.vectors_left_out
    }

    fn read_node(&mut self) -> Result<NodeItem> {
        let at = self.header.nodes_at + self.next_node * NODE_BYTES;
        let record = Record(self.nodes.get(&mut self.file, self.file_bytes, at, NODE_BYTES as usize)?);
        let id = record.u64(0);
        // The same bound as the graph's own ids have in the database.
        if i64::try_from(id).is_err() {
            return Err(fault::at_byte(at, format!("{id} is too large for a node's id")));
        }
        if self.ids.last().is_some_and(|last| *last >= id) {
            return Err(fault::at_byte(
                at,
                format!("node {id} comes after a node with an id that is not less"),
            ));
        }
        let event_type = record.u8(8);
        if usize::from(event_type) >= EVENT_TYPES.len() {
            return Err(fault::at_byte(at + 8, format!("{event_type} is no event type")));
        }
        let (session_id, access_count) = (record.u32(20), record.u32(28));
        let created_at = time(&record, at, 12)?;
        let last_accessed = time(&record, at, 32)?;
        let confidence = share(&record, at, 24)?;
        let (content_at, compressed) = (record.u64(44), record.u32(52));
        let content = self.read_content(at, content_at, compressed)?;
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

    fn read_content(&mut self, at: u64, offset: u64, compressed: u32) -> Result<String> {
        if compressed == 0 {
            return Ok(String::new());
        }
        let length = compressed as usize;
        if length > COMPRESSED_BYTES {
            return Err(fault::at_byte(
                at + 52,
                format!("a compressed text of {length} bytes is longer than any can be"),
            ));
        }
        let begin = self.header.contents_at.checked_add(offset).ok_or_else(|| {
            fault::at_byte(at + 44, format!("a text should begin {offset} bytes into the texts"))
        })?;
        let bytes = self.contents.get(&mut self.file, self.file_bytes, begin, length)?;
        let Some((size, block)) = bytes.split_first_chunk::<4>() else {
            return Err(fault::at_byte(
                begin,
                format!("a compressed text of {length} bytes has no room for its size"),
            ));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size > CONTENT_BYTES {
            return Err(fault::at_byte(
                begin,
                format!("a text of {size} bytes; {CONTENT_BYTES} are the most"),
            ));
        }
        let plain = lz4_flex::block::decompress(block, size)
            .map_err(|error| fault::at_byte(begin + 4, format!("a text cannot be decompressed: {error}")))?;
        if plain.len() != size {
            let found = plain.len();
            return Err(fault::at_byte(begin, format!("a text should have {size} bytes and has {found}")));
        }
        String::from_utf8(plain)
            .map_err(|error| fault::at_byte(begin, format!("a text is not UTF-8: {error}")))
    }

    fn read_vector(&mut self) -> Result<Option<Vec<f32>>> {
        if self.header.dimension != DIMENSIONS as u64 {
            // Counted only if there is something in them; but of other dimensions it is not even read.
            self.vectors_left_out += u64::from(self.header.dimension > 0);
            return Ok(None);
        }
        let length = DIMENSIONS * 4;
        let at = self.header.vectors_at + self.next_node * length as u64;
        let bytes = self.vectors.get(&mut self.file, self.file_bytes, at, length)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        if vector.iter().all(|number| *number == 0.0) {
            return Ok(None);
        }
        if !item::is_usable(&vector) {
            self.vectors_left_out += 1;
            return Ok(None);
        }
        Ok(Some(vector))
    }

    fn read_edge(&mut self) -> Result<EdgeItem> {
        let at = self.header.edges_at + self.next_edge * EDGE_BYTES;
        let record = Record(self.edges.get(&mut self.file, self.file_bytes, at, EDGE_BYTES as usize)?);
        let (source_id, target_id, edge_type) = (record.u64(0), record.u64(8), record.u8(16));
        for (id, place) in [(source_id, 0), (target_id, 8)] {
            if self.ids.binary_search(&id).is_err() {
                return Err(fault::at_byte(
                    at + place,
                    format!("an edge at node {id}, which the file does not have"),
                ));
            }
        }
        if source_id == target_id {
            return Err(fault::at_byte(at, format!("an edge from node {source_id} to itself")));
        }
        if usize::from(edge_type) >= EDGE_TYPES.len() {
            return Err(fault::at_byte(at + 16, format!("{edge_type} is no edge type")));
        }
        let weight = share(&record, at, 20)?;
        let created_at = time(&record, at, 24)?;
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
        let read = if self.next_node < self.header.node_count {
            self.read_node().map(Item::Node)
        } else if self.next_edge < self.header.edge_count {
            self.read_edge().map(Item::Edge)
        } else {
            return None;
        };
        self.failed = read.is_err();
        Some(read)
    }
}

impl Header {
    fn check(&self, file_bytes: u64) -> Result<()> {
        let fits = |place: u64, what: &str, at: u64, count: u64, each: u64| {
            let end = count.checked_mul(each).and_then(|bytes| at.checked_add(bytes));
            match end {
                Some(end) if end <= file_bytes && at >= HEADER_BYTES => Ok(()),
                _ => Err(fault::at_byte(
                    place,
                    format!(
                        "{count} {what} of {each} bytes at byte {at} do not fit into a file of {file_bytes}"
                    ),
                )),
            }
        };
        fits(32, "nodes", self.nodes_at, self.node_count, NODE_BYTES)?;
        fits(40, "edges", self.edges_at, self.edge_count, EDGE_BYTES)?;
        fits(48, "texts", self.contents_at, 0, 0)?;
        // The dimension is 32 bits wide, so this product is not too large.
        fits(56, "vectors", self.vectors_at, self.node_count, self.dimension * 4)
    }
}

/// A time in microseconds.
fn time(record: &Record<'_>, at: u64, place: usize) -> Result<i64> {
    let time = record.u64(place);
    i64::try_from(time).map_err(|_| fault::at_byte(at + place as u64, format!("{time} µs is no time")))
}

/// A number from 0 to 1. What is beyond is cut, as the original does it.
fn share(record: &Record<'_>, at: u64, place: usize) -> Result<f64> {
    let share = record.f32(place);
    if !share.is_finite() {
        return Err(fault::at_byte(at + place as u64, format!("{share} is no number from 0 to 1")));
    }
    // The shortest decimal that means this float: 0.95, not 0.949999988079071.
    Ok(share.clamp(0.0, 1.0).to_string().parse().unwrap_or_else(|_| f64::from(share)))
}

/// Writes a file. `nodes` and `edges` give the items anew each time that they are called, once for each part of the file:
/// they are read again rather than held. Both must give the same each time: nodes by id, edges by source and target.
/// Decay scores are those of `now`, in microseconds since 1970.
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
    let mut out_degrees = Degrees::new(edges()?);
    let (mut node_count, mut edge_count) = (0_u64, 0_u64);
    for node in nodes()? {
        node?;
        node_count += 1;
    }
    for edge in edges()? {
        edge?;
        edge_count += 1;
    }
    let edges_at = HEADER_BYTES + node_count * NODE_BYTES;
    let contents_at = edges_at + edge_count * EDGE_BYTES;

    // Node records, while the lengths of the compressed texts add up.
    out.seek(SeekFrom::Start(HEADER_BYTES)).map_err(fault::io)?;
    let mut content_bytes = 0_u64;
    let mut first_edge = 0_u64;
    let mut last_id = None;
    for node in nodes()? {
        let node = node?;
        if last_id.is_some_and(|last| last >= node.id) {
            return Err(quad_core::Error::internal("nodes to be written do not ascend"));
        }
        last_id = Some(node.id);
        let compressed = lz4_flex::block::compress_prepend_size(node.content.as_bytes()).len() as u64;
        let degree = out_degrees.of(node.id)?;
        out.write_all(&node_record(&node, now, content_bytes, compressed, first_edge, degree))
            .map_err(fault::io)?;
        content_bytes += compressed;
        first_edge += degree;
    }
    for edge in edges()? {
        out.write_all(&edge_record(&edge?)).map_err(fault::io)?;
    }
    for node in nodes()? {
        let compressed = lz4_flex::block::compress_prepend_size(node?.content.as_bytes());
        out.write_all(&compressed).map_err(fault::io)?;
    }
    for node in nodes()? {
        let mut bytes = [0_u8; DIMENSIONS * 4];
        if let Some(vector) = node?.vector.filter(|vector| item::is_usable(vector)) {
            for (place, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(vector) {
                *place = number.to_le_bytes();
            }
        }
        out.write_all(&bytes).map_err(fault::io)?;
    }
    let mut header = [0_u8; HEADER_BYTES as usize];
    put(&mut header, 0, *MAGIC);
    put(&mut header, 4, VERSION.to_le_bytes());
    put(&mut header, 8, (DIMENSIONS as u32).to_le_bytes());
    put(&mut header, 16, node_count.to_le_bytes());
    put(&mut header, 24, edge_count.to_le_bytes());
    put(&mut header, 32, HEADER_BYTES.to_le_bytes());
    put(&mut header, 40, edges_at.to_le_bytes());
    put(&mut header, 48, contents_at.to_le_bytes());
    put(&mut header, 56, (contents_at + content_bytes).to_le_bytes());
    // Last, so that a file that was not finished is not taken for one.
    out.seek(SeekFrom::Start(0)).map_err(fault::io)?;
    out.write_all(&header).map_err(fault::io)?;
    out.flush().map_err(fault::io)
}

/// How many edges leave each node, from edges that are sorted by their source.
struct Degrees<E: Iterator> {
    edges: std::iter::Peekable<E>,
}

impl<E: Iterator<Item = Result<EdgeItem>>> Degrees<E> {
    fn new(edges: E) -> Degrees<E> {
        Degrees { edges: edges.peekable() }
    }

    fn of(&mut self, id: u64) -> Result<u64> {
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
    content_at: u64,
    compressed: u64,
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
    put(&mut record, 40, decay(node, now).to_le_bytes());
    put(&mut record, 44, content_at.to_le_bytes());
    put(&mut record, 52, (compressed as u32).to_le_bytes());
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

/// The graph's own decay, for the original's field of that name.
fn decay(node: &NodeItem, now: i64) -> f32 {
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

fn put<const N: usize>(record: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = record.get_mut(at..at + N) {
        place.copy_from_slice(&bytes);
    }
}
