//! The stdio transport: one client on a pair of pipes, until it closes its end.

use std::sync::Arc;

use quad_core::resolver::View;
use quad_core::{Principal, Resolver};
use quad_mcp::limits::{LINE_BYTES, PIPE_MESSAGES};
use quad_mcp::stdio_session::StdioSession;
use quad_mcp::{Endpoint, ServerOptions, ServerState, ToolNames};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::sync::mpsc;

use crate::line_reader::{Line, LineReader};

/// The options of the stdio transport.
pub struct StdioOptions {
    /// Answers reads, lists, tool calls and prompts.
    pub resolver: Arc<Resolver>,
    /// The client.
    pub principal: Principal,
    /// The schemes that the client sees.
    pub view: View,
    /// Whether `tools/list` shows every tool, not only the core ones.
    pub all_tools: bool,
    /// The form of the published tool names.
    pub tool_names: ToolNames,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

/// Serves until the reader ends, then finishes running requests. Writes protocol messages only.
pub async fn serve(
    options: StdioOptions,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let StdioOptions { resolver, principal, view, all_tools, tool_names, name, version } = options;
    let state = ServerState::new(ServerOptions { resolver, sessions: None, name, version });
    let (sender, messages) = mpsc::channel(PIPE_MESSAGES);
    let endpoint = Endpoint::new(state, view, all_tools).with_tool_names(tool_names);
    let mut session = StdioSession::new(endpoint, principal, sender);
    let read = async move {
        let mut lines = LineReader::new(reader, LINE_BYTES);
        let result = loop {
            match lines.next_line().await {
                Ok(Some(Line::Text(line))) => session.handle_line(line).await,
                Ok(Some(Line::TooLong)) => session.reject_long_line().await,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // Drops the last sender, which ends `write`.
        session.finish().await;
        result
    };
    let write = write_messages(messages, writer);
    tokio::pin!(read, write);
    tokio::select! {
        result = &mut read => {
            write.await?;
            result
        }
        // The client does not read any more, so no request can be answered.
        result = &mut write => result,
    }
}

async fn write_messages(
    mut messages: mpsc::Receiver<Vec<u8>>,
    writer: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut writer = BufWriter::new(writer);
    while let Some(message) = messages.recv().await {
        writer.write_all(&message).await?;
        writer.write_all(b"\n").await?;
        if messages.is_empty() {
            writer.flush().await?;
        }
    }
    writer.flush().await
}
