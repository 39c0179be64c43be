//! Fuzz targets: the decoders of everything that an untrusted client can send, each with properties that hold for any
//! bytes.
//!
//! A target passes bytes to the real decoder and panics if a property does not hold. It runs in two ways: under
//! libFuzzer (`./x fuzz`), for any time; and in this crate's own test, which replays the [`corpus`] and
//! [mutates](mutate) it with a fixed seed.
#![forbid(unsafe_code)]
// A target reports what it has found by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod corpus;
mod fixture;
mod jsonrpc;
mod markdoc;
pub mod mutate;
mod template;
mod token;
mod uri;

pub use jsonrpc::jsonrpc;
pub use markdoc::markdoc;
pub use template::template;
pub use token::token;
pub use uri::uri;

/// A fuzz target: a decoder and its properties. Panics if one does not hold for these bytes.
pub type FuzzTarget = fn(&[u8]);

/// Every fuzz target with its name, which is also the name of its corpus.
pub const FUZZ_TARGETS: [(&str, FuzzTarget); 5] =
    [("token", token), ("uri", uri), ("template", template), ("jsonrpc", jsonrpc), ("markdoc", markdoc)];
