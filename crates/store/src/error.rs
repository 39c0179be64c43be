//! Errors of a database statement.

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
    /// Whether another attempt at the whole transaction may succeed.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(self, DbError::Retryable(_) | DbError::SchemaChanged(_))
    }

    pub(crate) fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DbError {
        DbError::Other(cause.into())
    }
}

impl From<DbError> for quad_core::Error {
    fn from(error: DbError) -> quad_core::Error {
        match error {
            DbError::InvalidText(_) => {
                quad_core::Error::bad_input("The text contains a character that cannot be stored")
                    .hint("Remove NUL characters (\\u0000)")
                    .with_cause(error)
            }
            DbError::Retryable(_) => {
                quad_core::Error::new(quad_core::Kind::Limit, "BUSY", "The database is busy")
                    .hint("Retry the request")
                    .with_cause(error)
            }
            _ => quad_core::Error::internal(error),
        }
    }
}
