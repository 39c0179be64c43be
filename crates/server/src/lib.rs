//! The doors: HTTP and stdio, and the figures about them.
//!
//! [`http::serve`] answers a socket, [`stdio::serve`] a pair of pipes. What a message means is decided in
//! [`quad_wire`]; this crate knows connections, headers, statuses and streams, and is the only one that does.
#![forbid(unsafe_code)]

mod accept;
mod credential_cache;
mod connection_timer;
mod auth;
mod connection;
mod host_check;
mod health;
pub mod http;
mod limits;
mod line_reader;
mod mcp;
mod metadata;
mod metrics;
mod response;
mod range;
mod request_id;
mod sse;
pub mod stdio_fds;
pub mod stdio;
mod resources_get;

pub use auth::{CredentialError, AuthPolicy, CredentialVerifier};
pub use limits::Timeouts;
pub use request_id::current as request_id;
