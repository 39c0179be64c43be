//! `quad memory`: import and export.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `quad memory …`
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Take the memories of a file into the graph; those that are there already are not taken twice
    ///
    /// The file's kind is seen from what is in it: the .amem of agentic-memory, the JSONL of
    /// @modelcontextprotocol/server-memory, or what `quad memory export` wrote. An import that was interrupted is
    /// simply run again. Lines that cannot be used are reported and left out; the exit code is then 2.
    Import {
        /// The file
        file: PathBuf,
    },
    /// Write the graph into a file, as of now
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
        /// What sort of file
        #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
        format: MemoryFormat,
    },
}

/// The kinds of files that memories are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryFormat {
    /// Our own, which loses nothing
    Jsonl,
    /// That of agentic-memory
    Amem,
    /// That of @modelcontextprotocol/server-memory
    ServerMemory,
}
