//! What commands report: one value each, printed as tables for people or as JSON for programs.

mod compact;
mod fill;
mod inspect;
mod text;

pub(crate) use compact::{CompactReport, StrategyReport, Times, WindowReport, Written, millis};
pub(crate) use fill::{Fill, KindName};
pub(crate) use inspect::{InspectReport, Largest, ToolUse};
pub(crate) use text::{Read, counted, json, percent, thousands};

/// Raised when a field of the JSON reports is renamed, removed or changes its meaning; new fields do not count.
pub(crate) const REPORT_VERSION: u32 = 1;
