//! The doors from outside: a server with a toy scheme, driven over a socket and over pipes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "doors/batches.rs"]
mod batches;
#[path = "doors/client.rs"]
mod client;
#[path = "doors/eras.rs"]
mod eras;
#[path = "doors/limits.rs"]
mod limits;
#[path = "doors/refusals.rs"]
mod refusals;
#[path = "doors/results.rs"]
mod results;
#[path = "doors/server.rs"]
mod server;
#[path = "doors/sessions.rs"]
mod sessions;
#[path = "doors/stdio.rs"]
mod stdio;
#[path = "doors/streams.rs"]
mod streams;
#[path = "doors/toy.rs"]
mod toy;
#[path = "doors/twin.rs"]
mod twin;
