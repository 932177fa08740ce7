//! Why a step cannot be part of a plan.

use std::fmt;

use crate::types::{Failure, Position};

/// A step that the host would refuse; the builder is as it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// These positions lie beyond the end of the view.
    BeyondEnd(Vec<Position>),
    /// Groups stand or fall whole; these members are missing.
    SplitsGroup(Vec<Position>),
    /// These must stay: pinned, in flight, or the latest request, or in a group with such an entry.
    Required(Vec<Position>),
    /// An earlier step folded, dropped or rewrote these.
    Taken(Vec<Position>),
    /// Only tool results can be rewritten.
    NotAToolResult(Position),
    /// The step names no position.
    Nothing,
    /// A summary, rewrite or note without words.
    EmptyText,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondEnd(at) => write!(f, "positions {at:?} lie beyond the end of the view"),
            Self::SplitsGroup(at) => {
                write!(f, "groups stand or fall whole: add positions {at:?}, or leave their groups out")
            }
            Self::Required(at) => write!(
                f,
                "positions {at:?} must stay: pinned, in flight, the latest request, or in one group with such an \
                 entry; `Layout::foldable` leaves them out"
            ),
            Self::Taken(at) => write!(f, "positions {at:?} are part of an earlier step"),
            Self::NotAToolResult(at) => write!(f, "position {at} is not a tool result; nothing else can be rewritten"),
            Self::Nothing => f.write_str("the step names no position"),
            Self::EmptyText => f.write_str("the text is empty"),
        }
    }
}

impl std::error::Error for PlanError {}

/// A step that cannot be planned is a defect of the strategy.
impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::Failed(error.to_string())
    }
}
