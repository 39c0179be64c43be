//! The transports: HTTP and stdio.
//!
//! [`http::serve`] serves a socket, [`stdio::serve`] a pair of pipes. This is the only crate that knows sockets, HTTP
//! statuses and event streams. Protocol messages are parsed and answered in [`quad_mcp`]; credentials are checked in
//! [`quad_auth`].
#![forbid(unsafe_code)]

mod admission;
mod auth;
mod auth_policy;
mod connection;
mod credential_cache;
mod health;
mod host_check;
pub mod http;
mod http_mcp;
mod limits;
mod line_reader;
mod metadata;
mod metrics;
mod range;
mod request;
mod request_id;
mod resources_get;
mod response;
mod server;
mod sse;
pub mod stdio;
pub mod stdio_fds;

pub use auth_policy::{AuthPolicy, CredentialVerifier};
pub use limits::Timeouts;
pub use request_id::current as request_id;
