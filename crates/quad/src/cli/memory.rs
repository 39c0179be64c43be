//! `quad memory`: remember, find, correct, forget; import and export.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `quad memory …`
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Remember something
    Add(MemoryAdd),
    /// Find memories, the best first
    Search(MemorySearch),
    /// Show one memory with its links. This counts as a read of it
    Show {
        /// The memory's id
        id: String,
    },
    /// List the newest memories
    Recent {
        /// Show at most this many
        #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Only this type (repeatable)
        #[arg(long = "type", value_name = "TYPE")]
        types: Vec<MemoryType>,
    },
    /// List the sessions, the newest first
    Sessions {
        /// Show at most this many
        #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
        limit: u16,
    },
    /// Say what is right instead. The old memory stays, marked
    Correct {
        /// The id of the memory that is wrong
        id: String,
        /// What is right ("-" reads it from standard input)
        text: String,
        /// Why; kept in the audit trail
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Remove a memory and its links for good
    Forget {
        /// The memory's id
        id: String,
        /// Why; kept in the audit trail
        #[arg(long, value_name = "TEXT", default_value = "forgotten at the command line")]
        reason: String,
    },
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

/// `quad memory add`
#[derive(Args, Debug)]
pub struct MemoryAdd {
    /// What to remember, one statement in quotes ("-" reads it from standard input)
    pub text: String,
    /// What it is
    #[arg(long = "type", value_name = "TYPE", default_value = "fact")]
    pub memory_type: MemoryType,
    /// The id of a memory that is the reason for it (repeatable)
    #[arg(long, value_name = "ID")]
    pub because: Vec<String>,
    /// How sure it is, from 0 to 1 [default: 0.9]
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<f64>,
}

/// `quad memory search`
#[derive(Args, Debug)]
pub struct MemorySearch {
    /// Words, "phrases" and prefixes*
    #[arg(required = true, value_name = "WORD")]
    pub words: Vec<String>,
    /// Only this type (repeatable)
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<MemoryType>,
    /// Also what was corrected
    #[arg(long)]
    pub all: bool,
    /// Show at most this many
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
}

/// The types of memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryType {
    /// Something learned
    Fact,
    /// A choice
    Decision,
    /// A conclusion from other memories
    Inference,
    /// What replaces an earlier memory
    Correction,
    /// How something is done
    Skill,
    /// What happened in a session
    Episode,
}

impl MemoryType {
    /// The name in tools and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            MemoryType::Fact => "fact",
            MemoryType::Decision => "decision",
            MemoryType::Inference => "inference",
            MemoryType::Correction => "correction",
            MemoryType::Skill => "skill",
            MemoryType::Episode => "episode",
        }
    }
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
