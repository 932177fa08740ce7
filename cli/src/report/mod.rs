//! What commands report: one value each, printed as tables for people or as JSON for programs.

mod compact;
mod fill;
mod inspect;
mod log;
mod session;
mod text;

pub(crate) use compact::{
    CompactReport, PassedOverReport, Recorded, StrategyReport, Times, WindowReport, Written, millis,
};
pub(crate) use fill::{Fill, KindName};
pub(crate) use inspect::{ContextReport, InspectReport, Largest, ShowReport, ToolUse};
pub(crate) use log::{CompactionReport, Damage, LogReport, State};
pub(crate) use session::{ExportReport, HitReport, ImportReport, ListReport, Listed, SearchReport, UndoReport};
pub(crate) use text::{Read, counted, json, percent, remark_lines, thousands};

/// Raised when a field of the JSON reports is renamed, removed or changes its meaning; new fields do not count.
pub(crate) const REPORT_VERSION: u32 = 1;
