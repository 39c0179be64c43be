//! Every limit of the file formats, by name and with its reason.

/// Bytes of a node's text; the graph's own limit.
pub const CONTENT_BYTES: usize = 65_536;

/// Numbers in a vector; the graph's one dimension. Vectors of other lengths are left out.
pub const DIMENSIONS: usize = crate::search::limits::DIMENSIONS;

/// Bytes that are read from one part of a file at a time: large enough that the system call is not the cost.
pub const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Bytes of one line of JSONL: a node whose text is all control characters, six bytes each, with its vector.
pub const LINE_BYTES: usize = 1 << 20;

/// Malformed lines that are remembered with their reasons; more are only counted.
pub const MAX_BAD_LINES_REPORTED: usize = 100;

/// Bytes of names that an import of entities remembers, to connect them by relations: a graph of some million entities.
pub const ENTITY_NAMES_BYTES: usize = 256 << 20;

/// Lines in which a file's kind is looked for: some of them may be broken.
pub const DETECTION_LINES: usize = 64;
