//! `quad audit`: events, exports, checks.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quad_core::Timestamp;

use super::time::time;

/// `quad audit …`
#[derive(Args, Debug)]
pub struct Audit {
    /// The chain of refusals before a tenant was proven, instead of a tenant's
    #[arg(long, global = true)]
    pub system: bool,
    #[command(subcommand)]
    pub command: AuditCommand,
}

/// What to do with the audit trail.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the newest events, oldest first
    Tail(Tail),
    /// Write the chain and its checkpoints into a file that can be verified anywhere
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
    },
    /// Check that nothing was changed, removed or added, and name the first event that was
    ///
    /// With files it needs neither the database nor the data folder. It takes exports, archives (oldest first, then the
    /// export of the rest) and proofs. Without, it checks the stored chain against checkpoints.jsonl of the data folder.
    Verify {
        /// Exports, archives or a proof [default: the stored chain]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Checkpoints that were kept elsewhere: they vouch for the keys, and for what they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Print the proof that an event is in the chain; `quad audit verify` checks it
    Prove {
        /// Its id
        event: String,
    },
    /// Hold the receipt of a read against the event that recorded it
    CheckReceipt {
        /// The receipt, or the reply that carries it, as JSON
        file: PathBuf,
        /// Check against an export, archive or proof instead of the stored chain
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
        /// Checkpoints that were kept elsewhere: they vouch for the keys, and for what they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Move old events into a file; the rest stays verifiable, alone and together with the file
    Archive {
        /// Move what is older: a time such as 2026-02-12 or 2026-02-12T08:30:00Z, or an age such as 90d
        #[arg(long, value_name = "TIME", value_parser = time)]
        before: Timestamp,
        /// The file; it must not exist
        file: PathBuf,
    },
}

/// `quad audit tail`
#[derive(Args, Debug)]
pub struct Tail {
    /// Go on printing what happens, until interrupted
    #[arg(long, short)]
    pub follow: bool,
    /// How many events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Only those of this agent or user
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Only those about this address
    #[arg(long)]
    pub uri: Option<String>,
    /// Only those of this action, such as agent.mcp.tool_called
    #[arg(long)]
    pub action: Option<String>,
    /// Only those that went so
    #[arg(long, value_parser = ["ok", "refused", "failed"])]
    pub outcome: Option<String>,
    /// Only those from this time on: 2026-02-12, 2026-02-12T08:30:00Z, or an age such as 12h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Timestamp>,
    /// Only those before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Timestamp>,
}
