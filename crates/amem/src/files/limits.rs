//! The limits of the file formats, with the reason for each.

pub use crate::limits::{CONTENT_BYTES, DIMENSION, MAX_DIMENSION};

/// Bytes per read of one region of a file: enough to make the cost of the system call negligible.
pub const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Bytes of one line of JSONL: a node whose text is all control characters, six bytes each, with its vector.
pub const LINE_BYTES: usize = 1 << 20;

/// Rejected lines that are kept with their reasons; more are only counted.
pub const MAX_BAD_LINES_REPORTED: usize = 100;

/// Bytes of entity names kept during an import, to connect them by relations: some million entities.
pub const ENTITY_NAMES_BYTES: usize = 256 << 20;

/// Lines that are searched for a file's format: the first ones may be malformed.
pub const DETECTION_LINES: usize = 64;
