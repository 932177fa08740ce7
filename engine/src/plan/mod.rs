//! A proposal and what the host does with it: verify, then apply.
//!
//! A [`Plan`] is what a strategy answers; anything can be in it. A [`VerifiedPlan`] can only be had from [`verify`],
//! and only a verified plan can be applied. Applying cannot fail and loses nothing: kept entries are the very entries
//! of the view, and what a summary covers stays reachable behind it.

mod apply;
mod defect;
mod fate;
mod gate;
mod proposal;
mod structure;
mod verify;

pub use apply::{Applied, Tally};
pub use defect::{Defect, DefectKind, PlanRefused};
pub use fate::Fate;
pub use gate::{GatePolicy, SummaryGate, UnknownPolicy, identifiers};
pub use proposal::{Dropped, Note, Plan, Rewrite, Segment, Span, Summary};
pub use verify::{Rules, VerifiedPlan, verify};

#[cfg(test)]
mod tests;
