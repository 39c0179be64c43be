//! `quad memory`: import and export.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `quad memory …`
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Import memories from a file; existing ones are not added twice
    ///
    /// The format is detected from the content: .amem of agentic-memory, JSONL of @modelcontextprotocol/server-memory,
    /// or a file of `quad memory export`. Run an interrupted import again to continue it. Lines that cannot be read are
    /// reported and skipped; the exit code is then 2.
    Import {
        /// The file
        file: PathBuf,
    },
    /// Export the present graph to a file
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
        /// The format of the file
        #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
        format: MemoryFormat,
    },
}

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryFormat {
    /// JSON lines of quad, lossless
    Jsonl,
    /// The binary format of agentic-memory
    Amem,
    /// The JSON lines of @modelcontextprotocol/server-memory
    ServerMemory,
}
