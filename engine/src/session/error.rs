use crate::compaction::CompactError;
use crate::format::FormatError;
use crate::store::StoreError;

/// Why a session did not do what it was asked. It is as it was then.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Somebody else is compacting the session. Not a failure: wait, or leave it to them.
    #[error("{0}")]
    Busy(#[source] StoreError),
    /// The session changed meanwhile: another branch, another compaction, another process that wrote to it. Read it
    /// again with [`Session::refresh`](super::Session::refresh).
    #[error("the session changed meanwhile: {0}")]
    Stale(#[source] StoreError),
    /// The strategy gave no plan that the host accepts.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// No compaction is in force.
    #[error("there is no compaction to undo")]
    NothingToUndo,
    /// The context cannot be said in the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[source] StoreError),
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy { .. } => SessionError::Busy(error),
            StoreError::Stale { .. } | StoreError::Superseded { .. } | StoreError::LeaseExpired { .. } => {
                SessionError::Stale(error)
            }
            error => SessionError::Store(error),
        }
    }
}
