//! What commands report: one value each, printed as tables for people or as JSON for programs.

mod compact;
mod fill;
mod inspect;
mod text;

pub(crate) use compact::{CompactReport, Outcome, StrategyReport, Times, WindowReport, Written, millis};
pub(crate) use fill::{Fill, KindName};
pub(crate) use inspect::{InspectReport, Largest, ToolUse};
pub(crate) use text::{ProblemReport, percent, pretty_json, problems, session_line, thousands};
