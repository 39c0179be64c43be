//! `quad audit`: show, export, verify and archive audit events.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quad_core::Timestamp;

use super::time::time;

/// `quad audit …`
#[derive(Args, Debug)]
pub struct Audit {
    /// Use the system chain (failed authentications) instead of a tenant's
    #[arg(long, global = true)]
    pub system: bool,
    #[command(subcommand)]
    pub command: AuditCommand,
}

/// `quad audit …`
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the newest events, oldest first
    Tail(Tail),
    /// Export the chain and its checkpoints to a file that can be verified anywhere
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
    },
    /// Check that no event was changed, removed or added, and name the first that was
    ///
    /// With files, it needs neither the database nor the data folder. It takes exports, archives (oldest first, then
    /// the export of the rest) and proofs. Without files, it checks the stored chain against checkpoints.jsonl in the
    /// data folder.
    Verify {
        /// Exports, archives or a proof [default: the stored chain]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Trust these checkpoints, kept outside of the server: their keys, and the events that they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Print the proof that an event is in the chain; `quad audit verify` checks it
    Prove {
        /// The event's id
        event: String,
    },
    /// Verify a read receipt against its audit event
    CheckReceipt {
        /// The receipt, or the reply that contains it, as JSON
        file: PathBuf,
        /// Verify against an export, archive or proof instead of the stored chain
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
        /// Trust these checkpoints, kept outside of the server: their keys, and the events that they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Accept a database that is older than checkpoints.jsonl in the data folder, after a restore
    ///
    /// The loss is recorded in the audit chain. The file is kept under another name, as evidence of what was lost, and
    /// a new one begins with the checkpoints of the database.
    AcceptRestore,
    /// Move old events to a file; the rest can still be verified, alone and together with the file
    Archive {
        /// Move events before this time: 2026-02-12, 2026-02-12T08:30:00Z, or an age such as 90d
        #[arg(long, value_name = "TIME", value_parser = time)]
        before: Timestamp,
        /// The file; it must not exist
        file: PathBuf,
    },
}

/// `quad audit tail`
#[derive(Args, Debug)]
pub struct Tail {
    /// Keep printing new events, until interrupted
    #[arg(long, short)]
    pub follow: bool,
    /// Print at most this many events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Only events of this agent or user
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Only events about this address
    #[arg(long)]
    pub uri: Option<String>,
    /// Only events with this action, such as agent.mcp.tool_called
    #[arg(long)]
    pub action: Option<String>,
    /// Only events with this outcome
    #[arg(long, value_parser = ["ok", "refused", "failed"])]
    pub outcome: Option<String>,
    /// Only events from this time on: 2026-02-12, 2026-02-12T08:30:00Z, or an age such as 12h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Timestamp>,
    /// Only events before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Timestamp>,
}
