//! What a database can answer instead of rows.

/// A statement failed. Turns into an internal error unless the caller knows better.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// A unique index refused the row.
    #[error("the unique index {constraint} refused a row")]
    Unique {
        /// The index or constraint, as the backend names it.
        constraint: String,
    },
    /// Somebody else was in the way: a lock, a deadlock, a statement that must be planned anew. Trying again helps.
    #[error("the database is busy: {0}")]
    Retryable(String),
    /// A table or column that the catalogue has just named is not there. PostgreSQL drops them under open snapshots; in a
    /// fresh one the catalogue knows. If it stays so, it is an internal error.
    #[error("dropped meanwhile: {0}")]
    SchemaChanged(String),
    /// Text that the backend cannot store, such as a NUL character.
    #[error("the database cannot store this text: {0}")]
    InvalidText(String),
    /// A column did not hold what the query expected.
    #[error("column {index} is not {expected}")]
    Column {
        /// Which column.
        index: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// Anything else.
    #[error("{0}")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl DbError {
    pub(crate) fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DbError {
        DbError::Other(cause.into())
    }
}

impl From<DbError> for quad_core::Error {
    fn from(error: DbError) -> quad_core::Error {
        match error {
            DbError::InvalidText(_) => {
                quad_core::Error::bad_input("The text holds a character that cannot be stored")
                    .hint("Remove NUL characters (\\u0000)")
                    .with_cause(error)
            }
            DbError::Retryable(_) => {
                quad_core::Error::new(quad_core::Kind::Limit, "BUSY", "The database is busy")
                    .hint("Try again in a moment")
                    .with_cause(error)
            }
            _ => quad_core::Error::internal(error),
        }
    }
}
