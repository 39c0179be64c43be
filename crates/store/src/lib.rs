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
mod change_log;
mod commit;
mod commit_thread;
mod connection;
mod deferred_audit;
mod error;
mod head;
mod head_lease;
pub mod limits;
mod migrate;
mod pool;
mod recent_changes;
mod rows_by_id;
mod side_effect;
mod sql;
mod store;
pub mod tenant;
#[cfg(feature = "testing")]
pub mod testing;
mod value;
mod wal_checkpoint;

pub use audit_mode::AuditMode;
pub use chain::{AuditEvent, hash_record};
pub use change_log::tags_changed_since;
pub use error::DbError;
pub use migrate::Component;
pub use rows_by_id::IdQuery;
pub use side_effect::side_effect;
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
