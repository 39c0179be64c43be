//! `quad serve`, `quad stdio` and the clients of `quad client-config`.

use clap::{Args, ValueEnum};
use serde::Deserialize;

/// `quad serve`
#[derive(Args, Debug)]
pub struct Serve {
    /// Listen on this address and port [default: 127.0.0.1:4704]
    #[arg(long, env = "QUAD_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Accept requests without a token as the local tenant's agent; loopback only
    #[arg(long, env = "QUAD_NO_AUTH", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, default_missing_value = "true")]
    pub no_auth: Option<bool>,
    /// Accept these further host names in requests (repeatable)
    #[arg(long, env = "QUAD_ALLOWED_HOSTS", value_name = "HOST", value_delimiter = ',')]
    pub allowed_hosts: Option<Vec<String>>,
    /// Name this address in metadata, such as https://quad.example.com [default: the address of each request]
    #[arg(long, env = "QUAD_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// List the core tools or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// Publish portable tool names (plan_next), which every client accepts, or the original ones (plan.next)
    #[arg(long, env = "QUAD_TOOL_NAMES", value_name = "FORM")]
    pub tool_names: Option<ToolNames>,
    /// Write the audit event of a read before the answer (durable) or soon after it (async)
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
    /// Log every request
    #[arg(long, env = "QUAD_ACCESS_LOG", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, default_missing_value = "true")]
    pub access_log: Option<bool>,
    /// Write log lines as text or as JSON [default: text]
    #[arg(long, env = "QUAD_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// `quad stdio`
#[derive(Args, Debug)]
pub struct Stdio {
    /// Serve one scheme only
    #[arg(long, value_name = "SCHEME")]
    pub only: Option<String>,
    /// List the core tools or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// Publish portable tool names (plan_next), which every client accepts, or the original ones (plan.next)
    #[arg(long, env = "QUAD_TOOL_NAMES", value_name = "FORM")]
    pub tool_names: Option<ToolNames>,
    /// Write the audit event of a read before the answer (durable) or soon after it (async)
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
}

/// When the audit event of a read is written. `quad_store::AuditMode` has the details.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Write the audit event to disk, then answer
    Durable,
    /// Answer first, write the audit event within 5 ms. A killed process can lose the events of the last 5 ms, a power
    /// failure more
    Async,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Which tools `tools/list` shows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Tools {
    /// The most used tools of each scheme
    Core,
    /// All tools
    All,
}

/// The form of the tool names that a server publishes. Calls accept both forms.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ToolNames {
    /// Letters, digits, underscores and hyphens, as model APIs require
    Portable,
    /// The names of the original servers, some with dots
    Original,
}

/// The clients that `quad client-config` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code, `.mcp.json`
    ClaudeCode,
    /// Claude Desktop, `claude_desktop_config.json`
    ClaudeDesktop,
    /// Cursor, `.cursor/mcp.json`
    Cursor,
    /// Visual Studio Code, `.vscode/mcp.json`
    Vscode,
    /// The MCP Inspector, `mcp.json`
    Inspector,
    /// Codex, `config.toml`
    Codex,
}
