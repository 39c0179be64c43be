//! Transport tests: a server with a small test scheme, driven over a socket and over stdio.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod client;
mod eras;
mod fixture;
mod limits;
mod rejections;
mod resources_get;
mod results;
mod server;
mod sessions;
mod stdio;
mod streams;
mod tool_names;
