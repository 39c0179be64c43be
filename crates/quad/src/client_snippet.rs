//! Configuration snippets of MCP clients.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::Client;

/// How a client reaches the server.
pub enum ConnectionTarget<'a> {
    /// The client starts `quad stdio`.
    Stdio {
        /// The program.
        program: &'a Path,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// The client connects to a running `quad serve`.
    Http {
        /// The endpoint.
        endpoint: &'a str,
        /// The bearer token, unless the server asks for none.
        token: Option<&'a str>,
    },
}

/// The snippet, and the file to paste it into.
pub fn snippet(client: Client, target: &ConnectionTarget<'_>) -> (String, &'static str) {
    match client {
        Client::ClaudeCode => (pretty(json!({"mcpServers": {"quad": server(target, "http")}})), ".mcp.json"),
        Client::ClaudeDesktop => {
            (pretty(json!({"mcpServers": {"quad": desktop_server(target)}})), "claude_desktop_config.json")
        }
        Client::Cursor => {
            (pretty(json!({"mcpServers": {"quad": server(target, "http")}})), ".cursor/mcp.json")
        }
        Client::Vscode => (pretty(json!({"servers": {"quad": server(target, "http")}})), ".vscode/mcp.json"),
        Client::Inspector => {
            (pretty(json!({"mcpServers": {"quad": server(target, "streamable-http")}})), "mcp.json")
        }
        Client::Codex => (codex(target), "~/.codex/config.toml"),
    }
}

fn pretty(value: Value) -> String {
    format!("{value:#}")
}

fn server(target: &ConnectionTarget<'_>, http_type: &str) -> Value {
    match target {
        ConnectionTarget::Stdio { program, arguments } => {
            json!({"type": "stdio", "command": program.display().to_string(), "args": arguments})
        }
        ConnectionTarget::Http { endpoint, token: Some(token) } => json!({
            "type": http_type,
            "url": endpoint,
            "headers": {"Authorization": format!("Bearer {token}")},
        }),
        ConnectionTarget::Http { endpoint, token: None } => json!({"type": http_type, "url": endpoint}),
    }
}

/// The server for Claude Desktop. Its file takes only commands, so `mcp-remote` connects over HTTP.
fn desktop_server(target: &ConnectionTarget<'_>) -> Value {
    let (endpoint, token) = match target {
        ConnectionTarget::Stdio { program, arguments } => {
            return json!({"command": program.display().to_string(), "args": arguments});
        }
        ConnectionTarget::Http { endpoint, token } => (*endpoint, *token),
    };
    let mut arguments = vec!["-y", "mcp-remote", endpoint, "--transport", "http-only"];
    // Without this flag it accepts plain HTTP for these two names only.
    let is_local = ["http://127.0.0.1:", "http://localhost:"].iter().any(|start| endpoint.starts_with(start));
    if endpoint.starts_with("http://") && !is_local {
        arguments.push("--allow-http");
    }
    let mut server = json!({"command": "npx"});
    if let Some(token) = token {
        // The value has a space, which some systems split in an argument. A variable is not split.
        arguments.extend(["--header", "Authorization:${AUTH_HEADER}"]);
        server["env"] = json!({"AUTH_HEADER": format!("Bearer {token}")});
    }
    server["args"] = arguments.into();
    server
}

/// The snippet for Codex, in TOML.
fn codex(target: &ConnectionTarget<'_>) -> String {
    let mut server = toml::Table::new();
    match target {
        ConnectionTarget::Stdio { program, arguments } => {
            server.insert("command".into(), program.display().to_string().into());
            server.insert("args".into(), arguments.clone().into());
        }
        ConnectionTarget::Http { endpoint, token } => {
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
    fn claude_desktop_gets_a_command_over_http() {
        let server = |endpoint: &str, token: Option<&str>| {
            let (text, _) = snippet(Client::ClaudeDesktop, &ConnectionTarget::Http { endpoint, token });
            serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["quad"].clone()
        };
        let local = server("http://127.0.0.1:1/mcp", Some("abc"));
        assert_eq!(
            local,
            json!({
                "command": "npx",
                "args": ["-y", "mcp-remote", "http://127.0.0.1:1/mcp", "--transport", "http-only",
                    "--header", "Authorization:${AUTH_HEADER}"],
                "env": {"AUTH_HEADER": "Bearer abc"},
            })
        );
        let arguments = |endpoint: &str| server(endpoint, None)["args"].to_string();
        assert!(arguments("http://10.0.0.1:1/mcp").contains("--allow-http"));
        assert!(!arguments("https://quad.example.com/mcp").contains("--allow-http"));
        assert!(!arguments("https://quad.example.com/mcp").contains("--header"));
    }

    #[test]
    fn every_client_gets_a_snippet_that_parses() {
        let http = ConnectionTarget::Http { endpoint: "http://127.0.0.1:1/mcp", token: Some("abc") };
        let stdio =
            ConnectionTarget::Stdio { program: Path::new("quad"), arguments: vec!["stdio".to_owned()] };
        for target in [http, stdio] {
            for client in
                [Client::ClaudeCode, Client::ClaudeDesktop, Client::Cursor, Client::Vscode, Client::Inspector]
            {
                let parsed: Value = serde_json::from_str(&snippet(client, &target).0).unwrap();
                assert!(parsed.pointer("/mcpServers/quad").or(parsed.pointer("/servers/quad")).is_some());
            }
            let parsed: toml::Table = snippet(Client::Codex, &target).0.parse().unwrap();
            assert!(parsed["mcp_servers"]["quad"].is_table());
        }
    }
}
