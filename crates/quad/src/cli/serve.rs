//! `quad serve`, `quad stdio` and the clients that connect to them.

use clap::{Args, ValueEnum};

/// `quad serve`
#[derive(Args, Debug)]
pub struct Serve {
    /// Where to listen [default: 127.0.0.1:4704]
    #[arg(long, env = "QUAD_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Serve everyone on this machine as the local tenant's agent; loopback only
    #[arg(long, env = "QUAD_NO_AUTH", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, default_missing_value = "true")]
    pub no_auth: Option<bool>,
    /// Further host names under which clients reach this server (repeatable)
    #[arg(long, env = "QUAD_ALLOWED_HOSTS", value_name = "HOST", value_delimiter = ',')]
    pub allowed_hosts: Option<Vec<String>>,
    /// How clients outside reach this server, such as https://quad.example.com [default: as each request does]
    #[arg(long, env = "QUAD_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Which tools to list: the core ones or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// When an answered read is on the disk in the audit trail: before it is answered, or soon after
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
}

/// `quad stdio`
#[derive(Args, Debug)]
pub struct Stdio {
    /// Serve one scheme only
    #[arg(long, value_name = "SCHEME")]
    pub only: Option<String>,
    /// Which tools to list: the core ones or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// When an answered read is on the disk in the audit trail: before it is answered, or soon after
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
}

/// How far the audit event of a read has come when the read is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// On the disk
    Durable,
    /// Committed, and on the disk soon: a power failure may take the last moments, the end of the process does not
    Async,
}

/// Which tools `tools/list` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tools {
    /// At most ten a scheme.
    Core,
    /// Every one.
    All,
}

/// Clients whose configuration we can print.
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
