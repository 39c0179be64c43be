//! The doors: HTTP and stdio, and the figures about them.
//!
//! [`http::serve`] answers a socket, [`stdio::serve`] a pair of pipes. What a message means is decided in
//! [`quad_wire`]; this crate knows connections, headers, statuses and streams, and is the only one that does.
#![forbid(unsafe_code)]

mod accept;
mod acquaintance;
mod clock;
mod door;
mod entry;
mod guard;
mod health;
pub mod http;
mod limits;
mod lines;
mod mcp;
mod metadata;
mod metrics;
mod problem;
mod range;
mod request_id;
mod sse;
pub mod standard;
pub mod stdio;
mod twin;

pub use door::{CredentialError, AuthPolicy, CredentialVerifier};
pub use limits::Timeouts;
pub use request_id::current as request_id;
