//! `quad bkend`: organizations, and loading a whole backend.

use std::path::PathBuf;

use clap::Subcommand;

/// `quad bkend …`
#[derive(Debug, Subcommand)]
pub enum BkendCommand {
    /// Organizations
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
    /// Make an organization
    Add {
        /// Its name
        name: String,
        /// Its slug [default: made from the name]
        #[arg(long)]
        slug: Option<String>,
        /// Its id, to keep one from elsewhere [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
    /// List the organizations
    List,
}
