//! Memories as files: the `.amem` of `agentic-memory`, the JSONL of `@modelcontextprotocol/server-memory`, and our
//! own JSONL.
//!
//! Each format is a stream of [`Item`]s, so any can be imported and a graph can be exported as any. This module
//! knows no database. A malformed file causes an error with its place; no file makes a reader panic or use more
//! memory than the file's size justifies.

pub mod amem_file;
pub mod amem_writer;
pub mod bad_lines;
pub mod item;
pub mod jsonl;
pub mod limits;
pub mod memory_file;
pub mod server_memory;
pub mod server_memory_writer;

mod line_reader;
mod parse_error;
mod region_reader;

pub use amem_file::AmemReader;
pub use amem_writer::write_amem;
pub use bad_lines::{BadLine, BadLines};
pub use item::{EDGE_TYPES, EVENT_TYPES, EdgeItem, Item, NodeItem, SessionItem};
pub use jsonl::{JsonlReader, JsonlWriter};
pub use memory_file::{FileFormat, MemoryFile};
pub use server_memory::ServerMemoryReader;
pub use server_memory_writer::ServerMemoryWriter;

#[cfg(test)]
mod tests;
