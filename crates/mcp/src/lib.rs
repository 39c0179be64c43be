//! JSON-RPC and the Model Context Protocol (MCP), in both of its eras.
//!
//! A *modern* request (revision 2026-07-28) is complete in itself: it carries its revision, and the server keeps no
//! state between two requests. *Legacy* requests (2025-11-25 and older) follow an `initialize` and may belong to a
//! session. One [`Endpoint`] serves both eras on every transport:
//!
//! ```text
//! bytes → envelope → request (headers, params, _meta) → dispatch → Resolver → response_writer → bytes
//! ```
//!
//! * [`http_post::handle`] answers the body of an HTTP POST, [`session_stream`] the GET and DELETE of a legacy session.
//! * [`stdio_session::StdioSession`] answers lines.
//!
//! This is the only crate that knows protocol messages. It knows no socket, no SQL and no scheme. The caller is
//! authenticated before this crate is called, and every answer comes from the [`quad_core::Resolver`].
#![forbid(unsafe_code)]

mod batch;
mod blocks;
mod completion;
mod discover;
mod dispatch;
pub mod endpoint;
pub mod envelope;
pub mod http_post;
mod initialize;
pub mod limits;
mod listen;
pub mod method;
mod params;
mod progress;
mod prompts;
mod request;
mod resources;
mod response_writer;
pub mod revision;
pub mod rpc_error;
pub mod server_state;
pub mod session_store;
pub mod session_stream;
pub mod stdio_session;
mod stream_limit;
mod subscription;
mod tool_call;
pub mod tool_names;
mod tools;

pub use endpoint::Endpoint;
pub use method::Method;
pub use revision::{Era, Revision};
pub use rpc_error::RpcError;
pub use server_state::{ServerOptions, ServerState};
pub use session_store::SessionStore;
pub use tool_names::ToolNames;

/// The messages of a streamed reply, in order. The reply ends with the stream.
pub type MessageStream = std::pin::Pin<Box<dyn futures_util::Stream<Item = Vec<u8>> + Send>>;

/// The transport of a message. It decides how a missing scope is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP: with a status and a challenge.
    Http,
    /// Stdio: with a message alone.
    Stdio,
}
