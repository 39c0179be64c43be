//! What the fuzzers call: the decoders of everything that a stranger can send, and what must hold for any bytes.
//!
//! A probe takes bytes, hands them to the real decoder and panics if something does not hold that always must. It is run in
//! two ways: by `./x fuzz`, under libFuzzer, for as long as one likes; and by this crate's own test, which replays the corpora
//! in `fuzz/corpus` and [mutates](mutate) them a little with a fixed seed.
#![forbid(unsafe_code)]
// A probe tells what it has found by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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

/// A decoder under test.
pub type FuzzTarget = fn(&[u8]);

/// Every probe, by the name of its corpus.
pub const FUZZ_TARGETS: [(&str, FuzzTarget); 5] =
    [("token", token), ("uri", uri), ("template", template), ("jsonrpc", jsonrpc), ("markdoc", markdoc)];
