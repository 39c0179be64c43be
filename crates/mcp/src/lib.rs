//! JSON-RPC and the Model Context Protocol, in both of its eras.
//!
//! *Modern* requests (2026-07-28) stand alone: each carries its revision, and nothing is remembered between two of
//! them. *Legacy* requests (2025-11-25 and older) follow an `initialize` and may belong to a session. One [`Endpoint`]
//! serves both, for every transport:
//!
//! ```text
//! bytes → envelope → era → (headers agree?) → dispatch → resolver → reply, spliced around the raw id
//! ```
//!
//! * [`post`] answers the body of an HTTP request, [`session_stream`] the legacy stream of a session.
//! * [`pipe`] answers the lines of a pipe.
//!
//! This is the only crate that knows protocol messages. It knows no socket, no SQL and no scheme: what it answers comes
//! from the [`quad_core::Resolver`], and who asks is decided before it is called.
#![forbid(unsafe_code)]

mod blocks;
mod completion;
mod discover;
mod dispatch;
pub mod endpoint;
pub mod envelope;
mod headers;
pub mod http_post;
mod initialize;
pub mod limits;
mod listen;
mod meta;
pub mod method;
mod params;
mod progress;
mod prompts;
mod resources;
mod response_writer;
pub mod revision;
pub mod rpc_error;
pub mod session_store;
pub mod session_stream;
pub mod stdio_session;
mod stream_limit;
mod subscription;
mod tools;

pub use endpoint::{Endpoint, ServerOptions, ServerState};
pub use method::Method;
pub use revision::{Era, Revision};
pub use rpc_error::RpcError;
pub use session_store::{SessionStore, SessionStoreError};

/// Messages of a reply that is a stream, in order. The stream's end is the reply's end.
pub type MessageStream = std::pin::Pin<Box<dyn futures_util::Stream<Item = Vec<u8>> + Send>>;

/// How a message reached us; decides how a missing scope is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Has statuses and challenges.
    Http,
    /// Has messages only.
    Stdio,
}
