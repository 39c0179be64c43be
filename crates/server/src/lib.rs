//! The doors: HTTP and stdio, and the figures about them.
//!
//! [`http::serve`] answers a socket, [`stdio::serve`] a pair of pipes. What a message means is decided in
//! [`quad_mcp`]; this crate knows connections, headers, statuses and streams, and is the only one that does.
#![forbid(unsafe_code)]

mod accept;
mod auth;
mod connection;
mod connection_timer;
mod credential_cache;
mod health;
mod host_check;
pub mod http;
mod limits;
mod line_reader;
mod mcp;
mod metadata;
mod metrics;
mod range;
mod request_id;
mod resources_get;
mod response;
mod sse;
pub mod stdio;
pub mod stdio_fds;

pub use auth::{AuthPolicy, CredentialError, CredentialVerifier};
pub use limits::Timeouts;
pub use request_id::current as request_id;
