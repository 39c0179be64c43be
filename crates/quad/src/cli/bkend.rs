//! `quad bkend`: manage organizations, and load a backend from a file.

use std::path::PathBuf;

use clap::Subcommand;

/// `quad bkend …`
#[derive(Debug, Subcommand)]
pub enum BkendCommand {
    /// Create and list organizations
    Org {
        #[command(subcommand)]
        command: OrgCommand,
    },
    /// Load organizations, projects, environments, tables and records from JSON lines, keeping their ids
    Load {
        /// The file
        file: PathBuf,
    },
}

/// `quad bkend org …`
#[derive(Debug, Subcommand)]
pub enum OrgCommand {
    /// Create an organization
    Add {
        /// The organization's name
        name: String,
        /// The slug [default: made from the name]
        #[arg(long)]
        slug: Option<String>,
        /// The id, to keep one of another system [default: a new id]
        #[arg(long)]
        id: Option<String>,
    },
    /// List the organizations
    List,
}
