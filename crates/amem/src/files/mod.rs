//! Memories as files: the original's `.amem`, the JSONL of `@modelcontextprotocol/server-memory`, and our own JSONL.
//!
//! All are streams of [`Item`]s, so that any can be read into a graph and a graph written as any. Nothing here knows a
//! database. A hostile file gives an error that says what is wrong and where; it never makes a reader panic, nor take more
//! memory than the file's own size justifies.

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
