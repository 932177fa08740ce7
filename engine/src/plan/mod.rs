//! A proposal and what the host does with it: verify, then apply.
//!
//! A [`Plan`] is what a strategy answers; anything can be in it. A [`VerifiedPlan`] can only be had from
//! [`verify`], and only a verified plan can be applied.

mod proposal;

pub use proposal::{Dropped, Note, Plan, Rewrite, Segment, Span, Summary};
