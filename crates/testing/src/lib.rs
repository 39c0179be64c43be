//! A scheme and an audit log in memory: the least that a resolver needs. For the tests of other crates.
//!
//! This is a crate and not a feature of `quad-core`: a feature that only tests enable makes cargo compile `quad-core`
//! and everything above it twice.
#![forbid(unsafe_code)]

mod memory_audit_log;
mod toy_scheme;

pub use memory_audit_log::MemoryAuditLog;
pub use toy_scheme::{CallToolFn, CompleteFn, GetPromptFn, ListFn, ReadFn, ToyScheme, empty_page};
