//! The command line: every command, flag and help text. One file per family of commands.

// The doc comments are help texts, which print a URL as it is.
#![allow(rustdoc::bare_urls)]

mod access;
mod audit;
mod backup;
mod bkend;
mod brain;
mod markdoc;
mod memory;
mod refrakt;
mod serve;
mod tenant;
mod time;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use access::{AgentCommand, KeyCommand, Mint, TokenCommand};
pub use audit::{Audit, AuditCommand, Tail};
pub use backup::{Backup, Restore};
pub use bkend::{BkendCommand, OrgCommand};
pub use brain::{BrainAdd, BrainCommand, BrainImport};
pub use markdoc::MarkdocCommand;
pub use memory::{MemoryAdd, MemoryCommand, MemoryFormat, MemorySearch};
pub use refrakt::{PlanCommand, PlanCreate, PlanHistory, PlanUpdate, PluginSet, RefraktCommand};
pub use serve::{Client, Durability, LogFormat, Serve, Stdio, ToolNames, Tools};
pub use tenant::TenantCommand;

/// A resource server for AI agents: readable, cached and audited resources over the Model Context Protocol.
///
/// Settings come from flags, then from QUAD_* variables, then from quad.toml, then from defaults. Exit codes: 0 done,
/// 1 internal error, 2 bad input or usage, 3 not found, 4 scope missing, 5 conflict, 6 limit or busy.
#[derive(Debug, Parser)]
#[command(name = "quad", version = env!("QUAD_VERSION"), max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// The flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Use this folder for the database and the keys [default: quad in the XDG data home]
    #[arg(long, global = true, env = "QUAD_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Keep the data in PostgreSQL instead of the data folder
    #[arg(long, global = true, env = "QUAD_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Read this settings file [default: quad.toml here, then in the XDG configuration home]
    #[arg(long, global = true, env = "QUAD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Act for this tenant [default: local]
    #[arg(long, global = true, env = "QUAD_TENANT", value_name = "NAME")]
    pub tenant: Option<String>,
    /// Serve this project folder as refrakt:// [default: the working directory]
    #[arg(long, global = true, env = "QUAD_PROJECT", value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve over HTTP, by default on loopback only
    Serve(Serve),
    /// Serve one client over standard input and output
    Stdio(Stdio),
    /// Read a resource and print its contents
    Read {
        /// The address, such as bkend://orgs
        uri: String,
    },
    /// List the readable resources
    Ls {
        /// List only addresses that start with this
        prefix: Option<String>,
    },
    /// List the address templates
    Templates,
    /// List the tools, or show one with its arguments and an example
    Tools {
        /// The tool's name
        name: Option<String>,
    },
    /// Call a tool
    Call {
        /// The tool's name
        tool: String,
        /// The arguments, a JSON object ("-" reads standard input)
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
    },
    /// Print a line at every change of a resource, until interrupted
    Watch {
        /// The address
        uri: String,
    },
    /// Check the installation and the data, and report problems
    Doctor {
        /// Read every tenant's whole memory graph: check its counters, lists, edges and search index
        #[arg(long)]
        deep: bool,
    },
    /// Print the configuration snippet of an MCP client
    ClientConfig {
        /// The client
        name: Client,
        /// Connect over HTTP to the running `quad serve`, or to the configured address, instead of starting `quad stdio`
        #[arg(long)]
        http: bool,
    },
    /// Copy the database, the settings and the encrypted keys into a file, while they are in use
    ///
    /// The file is verified after it was written: every page, every audit chain, every signature. The passphrase can
    /// also be in QUAD_BACKUP_PASSPHRASE. Without one the signing key is left out, and the command says so.
    Backup(Backup),
    /// Restore a file of `quad backup` into the data folder
    ///
    /// Verifies the file first. Nothing is overwritten: the data folder must not hold a database. The passphrase can also
    /// be in QUAD_BACKUP_PASSPHRASE.
    Restore(Restore),
    /// Create and list tenants
    Tenant {
        #[command(subcommand)]
        command: TenantCommand,
    },
    /// Manage organizations and load tables, bkend://
    Bkend {
        #[command(subcommand)]
        command: BkendCommand,
    },
    /// Import, load and export the ledger, brain://
    Brain {
        #[command(subcommand)]
        command: BrainCommand,
    },
    /// Work on a project's plan and runes, refrakt://
    Refrakt {
        #[command(subcommand)]
        command: RefraktCommand,
    },
    /// Remember, search and correct; import and export, amem://
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Create, list and revoke access tokens
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Show, export, verify and archive audit events
    Audit(Audit),
    /// Register agents, set their scopes, suspend or revoke them
    Agent {
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// Rotate, list and drop the keys that sign tokens and sessions
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Parse Markdoc (Markdown with tags)
    Markdoc {
        #[command(subcommand)]
        command: MarkdocCommand,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_definition_is_valid() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }
}
