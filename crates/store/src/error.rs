//! Errors of a database statement.

use quad_core::Error;

/// A statement failed. Converts to an internal error unless the caller handles the variant.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The row violates a unique index.
    #[error("a row violates the unique index {constraint}")]
    Unique {
        /// The index or constraint, as the backend names it.
        constraint: String,
    },
    /// A conflict with another transaction: a lock, a deadlock, a statement that must be planned again. A retry may
    /// succeed.
    #[error("the database is busy: {0}")]
    Retryable(String),
    /// A table or column that the catalogue has just named does not exist. PostgreSQL drops tables under open
    /// snapshots, and a new snapshot sees the new catalogue, so a retry may succeed. If all retries fail, it is an
    /// internal error.
    #[error("a table or column was dropped meanwhile: {0}")]
    SchemaChanged(String),
    /// The database server does not answer, or the connection to it is lost.
    #[error("the database server does not answer: {0}")]
    Unreachable(String),
    /// The database server accepts no further connection.
    #[error("the database server has too many clients: {0}")]
    TooManyClients(String),
    /// The disk of the database is full.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// The database or its folder cannot be written.
    #[error("the database is read-only: {0}")]
    ReadOnly(String),
    /// The disk failed to read, write or sync.
    #[error("an I/O error: {0}")]
    Io(String),
    /// The database file is no longer the one that was opened: it was deleted, moved or replaced.
    #[error("the database file was deleted or replaced")]
    FileReplaced,
    /// Text that the backend cannot store, such as a NUL character.
    #[error("the database cannot store this text: {0}")]
    InvalidText(String),
    /// A column does not have the expected type.
    #[error("column {index} is not {expected}")]
    Column {
        /// Position of the column, from 0.
        index: usize,
        /// The expected type.
        expected: &'static str,
    },
    /// The parameters of a database URL are wrong.
    #[error("{0}")]
    Connect(String),
    /// Anything else.
    #[error("{0}")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl DbError {
    /// Whether another attempt at the whole transaction may succeed, on the same connection if that is alive.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(
            self,
            DbError::Retryable(_)
                | DbError::SchemaChanged(_)
                | DbError::Unreachable(_)
                | DbError::TooManyClients(_)
        )
    }

    pub(crate) fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DbError {
        DbError::Other(cause.into())
    }

    /// The error of a file operation on the database file.
    pub(crate) fn of_file(error: std::io::Error) -> DbError {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DbError::DiskFull(error.to_string()),
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
                DbError::ReadOnly(error.to_string())
            }
            _ => DbError::Io(error.to_string()),
        }
    }
}

impl From<DbError> for Error {
    fn from(error: DbError) -> Error {
        match error {
            DbError::InvalidText(_) => {
                Error::bad_input("The text contains a character that cannot be stored")
                    .hint("Remove NUL characters (\\u0000)")
                    .with_cause(error)
            }
            DbError::Retryable(_) => Error::busy("The database is busy").with_cause(error),
            DbError::Unreachable(_) => Error::busy("The database does not answer").with_cause(error),
            DbError::TooManyClients(_) => Error::busy("The database has too many clients").with_cause(error),
            DbError::DiskFull(_) => Error::unavailable("DISK_FULL", "The disk of the database is full")
                .hint("Ask the operator to free space on the disk, then send the request again")
                .with_cause(error),
            DbError::ReadOnly(_) => Error::unavailable(
                "DATABASE_READ_ONLY",
                "The database cannot be written",
            )
            .hint(
                "Ask the operator to make the database and its folder writable, then send the request again",
            )
            .with_cause(error),
            DbError::Io(_) => Error::unavailable("DATABASE_IO_ERROR", "The disk of the database fails")
                .hint("Ask the operator to check the disk; the server's log has the error")
                .with_cause(error),
            DbError::FileReplaced => {
                Error::unavailable("DATABASE_REPLACED", "The database file was deleted or replaced")
                    .hint("Ask the operator to put the file back or to restart the server")
                    .with_cause(error)
            }
            _ => Error::internal(error),
        }
    }
}
