//! What to paste into an MCP client.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::Client;

/// How a client reaches the server.
pub enum Reach<'a> {
    /// It starts a process of its own.
    Stdio {
        /// The program.
        program: &'a Path,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// It talks to a server that runs.
    Http {
        /// The endpoint.
        endpoint: &'a str,
        /// The bearer token, unless the server asks for none.
        token: Option<&'a str>,
    },
}

/// The snippet, and the file that it belongs into.
pub fn snippet(client: Client, reach: &Reach<'_>) -> (String, &'static str) {
    match client {
        Client::ClaudeCode => (pretty(json!({"mcpServers": {"quad": server(reach, "http")}})), ".mcp.json"),
        Client::ClaudeDesktop => {
            (pretty(json!({"mcpServers": {"quad": server(reach, "http")}})), "claude_desktop_config.json")
        }
        Client::Cursor => {
            (pretty(json!({"mcpServers": {"quad": server(reach, "http")}})), ".cursor/mcp.json")
        }
        Client::Vscode => (pretty(json!({"servers": {"quad": server(reach, "http")}})), ".vscode/mcp.json"),
        Client::Inspector => {
            (pretty(json!({"mcpServers": {"quad": server(reach, "streamable-http")}})), "mcp.json")
        }
        Client::Codex => (codex(reach), "~/.codex/config.toml"),
    }
}

fn pretty(value: Value) -> String {
    format!("{value:#}")
}

fn server(reach: &Reach<'_>, http_type: &str) -> Value {
    match reach {
        Reach::Stdio { program, arguments } => {
            json!({"type": "stdio", "command": program.display().to_string(), "args": arguments})
        }
        Reach::Http { endpoint, token: Some(token) } => json!({
            "type": http_type,
            "url": endpoint,
            "headers": {"Authorization": format!("Bearer {token}")},
        }),
        Reach::Http { endpoint, token: None } => json!({"type": http_type, "url": endpoint}),
    }
}

/// Codex reads TOML.
fn codex(reach: &Reach<'_>) -> String {
    let mut server = toml::Table::new();
    match reach {
        Reach::Stdio { program, arguments } => {
            server.insert("command".into(), program.display().to_string().into());
            server.insert("args".into(), arguments.clone().into());
        }
        Reach::Http { endpoint, token } => {
            server.insert("url".into(), (*endpoint).into());
            if let Some(token) = token {
                let headers =
                    toml::Table::from_iter([("Authorization".to_owned(), format!("Bearer {token}").into())]);
                server.insert("http_headers".into(), headers.into());
            }
        }
    }
    let servers = toml::Table::from_iter([("quad".to_owned(), toml::Value::Table(server))]);
    toml::Table::from_iter([("mcp_servers".to_owned(), toml::Value::Table(servers))]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_gets_a_snippet_that_parses() {
        let http = Reach::Http { endpoint: "http://127.0.0.1:1/mcp", token: Some("abc") };
        let stdio = Reach::Stdio { program: Path::new("quad"), arguments: vec!["stdio".to_owned()] };
        for reach in [http, stdio] {
            for client in
                [Client::ClaudeCode, Client::ClaudeDesktop, Client::Cursor, Client::Vscode, Client::Inspector]
            {
                let parsed: Value = serde_json::from_str(&snippet(client, &reach).0).unwrap();
                assert!(parsed.pointer("/mcpServers/quad").or(parsed.pointer("/servers/quad")).is_some());
            }
            let parsed: toml::Table = snippet(Client::Codex, &reach).0.parse().unwrap();
            assert!(parsed["mcp_servers"]["quad"].is_table());
        }
    }
}
