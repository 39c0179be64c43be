//! Recorded output of the npm packages. The reader is shared with the parity tests of `markdoc`.

#[path = "../../../markdoc/tests/recorded/mod.rs"]
mod shared;

pub use shared::*;
