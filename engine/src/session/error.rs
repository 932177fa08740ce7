use crate::compaction::CompactError;
use crate::format::FormatError;
use crate::slots::Slot;
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
    /// Nobody is bound to the slot.
    #[error("nobody owns `{slot}`; bind a plugin to it, as in {slot} = [\"regex-anchors\"] under [slots]")]
    NoOwner {
        /// The slot.
        slot: Slot,
    },
    /// Another one owns the slot by now, so what this one wrote was refused.
    #[error(
        "what `{owner}` wrote for slot `{slot}` was refused: {}", by.as_ref().map_or(
            "nobody owns that slot any more".to_owned(), |by| format!("`{by}` owns that slot now"))
    )]
    Superseded {
        /// The slot.
        slot: Slot,
        /// Id of the plugin that wrote.
        owner: String,
        /// Id of the plugin that it has to give way to.
        by: Option<String>,
    },
    /// A plugin failed, and the setup wants nobody else to stand in.
    #[error("`{plugin}` failed in slot `{slot}`, and `strict` wants nobody to stand in: {reason}")]
    Strict {
        /// The slot.
        slot: Slot,
        /// Id of the plugin that failed.
        plugin: String,
        /// How.
        reason: String,
    },
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
