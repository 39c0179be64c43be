//! The database: one SQLite file, or one PostgreSQL server for many nodes. Rows, change log and audit chain are
//! committed together or not at all.
//!
//! A scheme uses few items: [`Store::read`] runs a closure in one snapshot, and [`Store::write`] runs one in a
//! transaction that also holds the call's audit event. Both pass it an [`Sql`], so every query is written once for
//! both databases.
//!
//! ```text
//! Store::read ────► pool ────► Snapshot
//! Store::write ──┐
//! audit append ──┴► commit_thread (queue) ──► commit (one batch, one transaction) ──► head, change_log, chain
//!                                                │ after the commit
//!                                                ├──► recent_changes (subscribers of this process)
//!                                                └──► chain_ends (checkpoint signer of this process)
//! ```
//!
//! On PostgreSQL a write does not pass the queue: it commits on a connection of its own.
//!
//! The concepts are explained in the crate's README. This crate knows no scheme, no protocol, and no socket but the
//! database's.
#![forbid(unsafe_code)]

pub mod audit;
mod audit_mode;
pub mod backup;
pub mod batch;
mod chain;
pub mod chain_ends;
mod change_log;
mod commit;
mod commit_thread;
mod connection;
mod database_copy;
mod deferred_audit;
mod error;
pub mod fast_path;
mod folder_check;
mod head;
mod head_lease;
pub mod limits;
mod metrics;
mod migrate;
mod pool;
mod recent_changes;
mod sql;
mod store;
pub mod tenant;
#[cfg(feature = "testing")]
pub mod testing;
mod tx_error;
mod value;
mod wal_checkpoint;
mod write_transaction;

pub use audit_mode::AuditMode;
pub use chain::{AuditEvent, hash_record};
pub use database_copy::{DatabaseCopy, SnapshotSource};
pub use error::DbError;
pub use folder_check::check_folder_writable;
pub use migrate::Component;
pub use pool::PoolUsage;
pub use sql::{Snapshot, Sql, Tx};
pub use store::{Location, Store, WriteContext};
pub use value::{Row, Value};

/// Which database it is. Only bulk loads, locks and the DDL of user tables may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One file on this machine.
    Sqlite,
    /// A server, which several nodes can share.
    Postgres,
}
