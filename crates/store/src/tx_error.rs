//! Why one attempt at a transaction failed, and whether another attempt may succeed.

use quad_core::Error;

use crate::DbError;

/// The failure of one attempt at a snapshot or a commit.
#[derive(Debug)]
pub(crate) enum TxError {
    /// A conflict with another transaction, or a schema that changed meanwhile: a new attempt may succeed.
    Retry(Error),
    /// A new attempt would fail in the same way.
    Failed(Error),
}

impl TxError {
    /// The error of a closure. Its type does not show whether a statement failed for a reason that a new attempt can
    /// fix, so its transaction has kept that apart.
    pub(crate) fn of_closure(error: Error, saw_retryable: bool) -> TxError {
        if saw_retryable { TxError::Retry(error) } else { TxError::Failed(error) }
    }

    /// The error itself, when there is no further attempt.
    pub(crate) fn into_error(self) -> Error {
        match self {
            TxError::Retry(error) | TxError::Failed(error) => error,
        }
    }
}

impl From<DbError> for TxError {
    fn from(error: DbError) -> TxError {
        let is_retryable = error.is_retryable();
        TxError::of_closure(error.into(), is_retryable)
    }
}

impl From<Error> for TxError {
    fn from(error: Error) -> TxError {
        TxError::Failed(error)
    }
}
