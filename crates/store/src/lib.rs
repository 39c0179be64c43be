//! The database: one SQLite file, or PostgreSQL under many nodes. Rows, the change log and the audit chain commit
//! together or not at all.
//!
//! What a scheme sees is small: [`Store::read`] runs a closure in one snapshot, [`Store::write`] runs one in one
//! transaction that also carries the call's audit event, and both hand it the same [`Sql`], in which every query is
//! written once for both backends. Behind it:
//!
//! ```text
//! write, record ──► writer (queue) ──► commit (one group, one transaction) ──► head, change, chain
//!                                             │ after the commit
//!                                             └──► feed (subscribers of this process)
//! ```
//!
//! This crate knows no scheme, no protocol and no socket but the database's.
#![forbid(unsafe_code)]

pub mod audit;
mod audit_mode;
mod backup;
pub mod batch;
mod chain;
mod change;
mod checkpointer;
mod commit;
mod connection;
mod errand;
mod error;
mod feed;
mod head;
mod hold;
mod later;
pub mod limits;
mod migrate;
mod numbered;
mod pool;
mod sql;
mod store;
pub mod tenant;
#[cfg(feature = "testing")]
pub mod testing;
mod value;
mod writer;

pub use audit_mode::AuditMode;
pub use chain::{AuditEvent, hash_record};
pub use change::tags_changed_since;
pub use errand::side_effect;
pub use error::DbError;
pub use migrate::Component;
pub use numbered::IdQuery;
pub use sql::{DeferredRows, RowVisitor, Snapshot, Sql, Tx};
pub use store::{Location, Store, WriteContext};
pub use value::{Row, Value};

/// Which database is underneath. Only bulk loads, locks and user tables' DDL may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One file beside the process.
    Sqlite,
    /// A server that many nodes share.
    Postgres,
}
