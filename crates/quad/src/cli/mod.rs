//! The command line: every command, flag and help text. One file per family of commands.

mod access;
mod audit;
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
pub use bkend::{BkendCommand, OrgCommand};
pub use brain::{BrainAdd, BrainCommand, BrainImport};
pub use markdoc::MarkdocCommand;
pub use memory::{MemoryCommand, MemoryFormat};
pub use refrakt::{PlanCommand, PlanCreate, PlanUpdate, PluginSet, RefraktCommand};
pub use serve::{Client, Durability, Serve, Stdio, Tools};
pub use tenant::TenantCommand;

/// A resource server for AI agents: one address for every noun, over the Model Context Protocol.
///
/// Settings come from flags, then from QUAD_* variables, then from quad.toml, then from defaults. Exit codes: 0 done,
/// 1 our fault, 2 bad input or usage, 3 not found, 4 scope missing, 5 conflict, 6 limit or busy.
#[derive(Debug, Parser)]
#[command(name = "quad", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// The folder of the database and the keys [default: quad in the XDG data home]
    #[arg(long, global = true, env = "QUAD_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Keep the data in PostgreSQL instead of the folder
    #[arg(long, global = true, env = "QUAD_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// The settings file [default: quad.toml here, then in the XDG configuration home]
    #[arg(long, global = true, env = "QUAD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The tenant on whose behalf to act [default: local]
    #[arg(long, global = true, env = "QUAD_TENANT", value_name = "NAME")]
    pub tenant: Option<String>,
    /// The folder of the project that refrakt:// serves [default: the working directory]
    #[arg(long, global = true, env = "QUAD_PROJECT", value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve over HTTP, on loopback unless told otherwise
    Serve(Serve),
    /// Serve one client over standard input and output
    Stdio(Stdio),
    /// Read an address and print what is there
    Read {
        /// The address, such as bkend://orgs
        uri: String,
    },
    /// List the addresses that can be read
    Ls {
        /// Only those that start with this
        prefix: Option<String>,
    },
    /// List the address templates
    Templates,
    /// Call a tool
    Call {
        /// The tool's name
        tool: String,
        /// Its arguments, a JSON object ("-" reads them from standard input)
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
    },
    /// Print a line whenever an address changes, until interrupted
    Watch {
        /// The address
        uri: String,
    },
    /// Check that everything is in order, and say what is not
    Doctor {
        /// Read all of every tenant's memory: counters, lists, edges and search indexes must agree
        #[arg(long)]
        deep: bool,
    },
    /// Print the configuration snippet of an MCP client
    ClientConfig {
        /// The client
        name: Client,
        /// Connect over HTTP to a running `quad serve` instead of starting one
        #[arg(long)]
        http: bool,
    },
    /// Copy the database into a file, while it is in use
    Backup {
        /// The file; it must not exist
        file: PathBuf,
    },
    /// Tenants: who owns the data
    Tenant {
        #[command(subcommand)]
        command: TenantCommand,
    },
    /// The backend scheme, bkend://
    Bkend {
        #[command(subcommand)]
        command: BkendCommand,
    },
    /// The money scheme, brain://
    Brain {
        #[command(subcommand)]
        command: BrainCommand,
    },
    /// The project scheme, refrakt://
    Refrakt {
        #[command(subcommand)]
        command: RefraktCommand,
    },
    /// The memory scheme, amem://
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Tokens: who may come in
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// The audit trail: what happened, and the proof of it
    Audit(Audit),
    /// Agents: who is registered, with what, and whether they may come in
    Agent {
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// The keys that sign tokens and sessions
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Markdoc: Markdown with tags
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
