//! `quad watch URI`

use quad_core::resolver::View;
use quad_core::{Error, Kind, Result, Timestamp};
use quad_mcp::stdio_session::StdioSession;
use quad_mcp::{Endpoint, ServerOptions, ServerState};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{SERVER_NAME, SERVER_VERSION};
use crate::app::App;
use crate::output;

/// How many messages may wait to be printed, since a terminal is slower than the database.
const PRINT_QUEUE: usize = 256;

/// Prints a line for every change. It subscribes through the protocol, in this process, like any client.
pub async fn run(app: &App, uri: &str, as_json: bool) -> Result<()> {
    let caller = app.local_agent();
    // A subscription silently omits unreadable addresses; this read returns the reason.
    app.resolver.read(&caller, View::All, uri).await?;
    tokio::spawn(app.project.clone().watch());
    let state = ServerState::new(ServerOptions {
        resolver: app.resolver.clone(),
        sessions: None,
        name: SERVER_NAME,
        version: SERVER_VERSION,
    });
    let (sender, mut messages) = mpsc::channel(PRINT_QUEUE);
    let mut session = StdioSession::new(Endpoint::new(state, View::All, false), caller, sender);
    let request = json!({
        "jsonrpc": "2.0",
        "id": "watch",
        "method": "subscriptions/listen",
        "params": {
            "notifications": {"resourceSubscriptions": [uri]},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "quad watch", "version": SERVER_VERSION},
            },
        },
    });
    session.handle_line(request.to_string().as_bytes()).await;
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Some(message) => print_message(&message, as_json)?,
                None => return Ok(()),
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}

fn print_message(message: &[u8], as_json: bool) -> Result<()> {
    let message: Value = serde_json::from_slice(message).map_err(Error::internal)?;
    if let Some(error) = message.get("error") {
        let text = error["message"].as_str().unwrap_or("The subscription was refused");
        let hint = error["data"]["hint"].as_str().unwrap_or("List the readable addresses with `quad ls`");
        return Err(Error::new(Kind::BadInput, "SUBSCRIPTION_REFUSED", text).hint(hint));
    }
    if message["method"] == "notifications/resources/updated" {
        let (now, uri) = (Timestamp::now(), message["params"]["uri"].as_str().unwrap_or_default());
        if as_json {
            output::print_line(json!({"updated": uri, "at": now}));
        } else {
            output::print_line(format_args!("{now}  {uri}"));
        }
    }
    Ok(())
}
