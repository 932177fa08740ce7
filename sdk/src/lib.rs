//! What a ContextEngine plugin depends on.
//!
//! A plugin is a type that implements [`Plugin`] and one trait for each hook that it wants to own: [`Compressor`],
//! [`Selector`], [`Reducer`], [`BranchSummarizer`], [`Observer`], [`Toolbox`]. It reads a [`View`], asks the [`Host`],
//! and answers with a [`Plan`] over positions of that view; the host verifies, records and applies it. [`export!`]
//! makes a component of it, which exports exactly what is implemented and imports only what is called.
//!
//! ```
//! use contextengine_sdk::plan::PlanBuilder;
//! use contextengine_sdk::{
//!     CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Span, Urgency, View,
//!     config,
//! };
//! use serde::Deserialize;
//!
//! /// Older entries make room, the recent ones stay.
//! #[derive(Debug, Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct KeepRecent {
//!     /// Tokens of recent entries that stay.
//!     keep_recent: u32,
//! }
//!
//! impl Default for KeepRecent {
//!     fn default() -> Self {
//!         Self { keep_recent: 20_000 }
//!     }
//! }
//!
//! impl Plugin for KeepRecent {
//!     const ID: &'static str = "keep-recent";
//!
//!     fn describe() -> Description {
//!         Description::new(Self::ID, "0.1.0", "Older entries make room, the recent ones stay.").config_schema(
//!             r#"{"type":"object","properties":{"keep_recent":{"type":"integer"}},"additionalProperties":false}"#,
//!         )
//!     }
//!
//!     fn configure(json: &str) -> Result<Self, String> {
//!         config::parse(json)
//!     }
//! }
//!
//! impl Compressor for KeepRecent {
//!     fn should_compress(&self, _view: &dyn View, _host: &Host, pressure: &Pressure) -> Decision {
//!         let figures = format!("{} tokens of {}", pressure.entries, pressure.budget);
//!         if pressure.entries > pressure.budget {
//!             Decision::compress(Urgency::Hard, figures)
//!         } else {
//!             Decision::wait(figures)
//!         }
//!     }
//!
//!     fn compress(&self, view: &dyn View, _host: &Host, _request: &CompressRequest) -> Result<Outcome, Failure> {
//!         let mut plan = PlanBuilder::new(view);
//!         let cut = plan.layout().keep_at_least(self.keep_recent);
//!         let old = plan.layout().foldable(Span::new(0, cut));
//!         if old.is_empty() {
//!             return Ok(Outcome::Unchanged("everything is recent".to_owned()));
//!         }
//!         let text = format!("[{} older entries were taken out of this conversation.]", old.len());
//!         plan.fold(old, text)?;
//!         Ok(Outcome::Compressed(plan.build()))
//!     }
//! }
//!
//! contextengine_sdk::export!(KeepRecent: Compressor);
//!
//! // The same source is tested natively, with a session and a host in memory.
//! use contextengine_sdk::memory::{MemoryView, TestHost, request};
//! let view = MemoryView::new().user("old").assistant("old").user("new");
//! let plugin = KeepRecent::configure(r#"{"keep_recent": 1}"#)?;
//! let Ok(Outcome::Compressed(plan)) = plugin.compress(&view, &TestHost::new(), &request(&view, 10)) else {
//!     return Err("no plan".to_owned());
//! };
//! assert_eq!(plan.segments.len(), 2, "one summary, one keep");
//! # Ok::<(), String>(())
//! ```
//!
//! What every strategy needs: [`cut`] (where a session can be cut, what must be kept), [`plan`] (a builder that keeps
//! the host's rules), [`budget`] (fitting into tokens), [`sections`] (a text of sections that fits), [`transcript`] (a
//! session as text for a summariser), [`files`] (which files were read and modified), [`glob`] (names by pattern),
//! [`config`], and [`memory`] (a session and a host for tests).
//!
//! Works on Rust 1.85, natively, and on `wasm32-unknown-unknown` and `wasm32-wasip2`. Most of the component above is serde,
//! which reads its configuration.
#![deny(missing_docs)]

#[doc(hidden)]
pub mod bindings;
pub mod budget;
pub mod config;
pub mod cut;
mod export;
pub mod files;
pub mod glob;
mod guest;
mod hooks;
mod host;
pub mod memory;
pub mod plan;
pub mod rules;
pub mod sections;
pub mod transcript;
mod types;
mod view;

pub use hooks::{BranchSummarizer, Compressor, Observer, Plugin, Reducer, Selector, Toolbox};
pub use host::{Host, Services};
pub use types::{
    Block, BranchRequest, CacheState, Compaction, CompactionRecord, Completion, CompressRequest, Decision, Description,
    Dropped, EntryInfo, EntryKind, Failure, Finish, Hit, Image, Level, Marks, ModelError, Note, NoteRole, Outcome,
    Plan, Position, Pressure, Prompt, ReduceRequest, Reduction, Rewrite, Scope, Segment, SelectRequest, Service, Span,
    Summary, Texts, Timestamp, Tool, ToolCall, ToolResult, Trigger, Turn, Unavailable, Urgency, Usage, Verdict,
};
pub use view::View;

/// Version of the ABI that this crate speaks: that of the WIT package.
pub const API_VERSION: &str = "0.1.0";

/// What [`export!`] expands to; not for use by hand.
#[doc(hidden)]
pub mod __rt {
    pub use crate::bindings;
    pub use crate::guest::{Adapter, GuestHost, Instance};

    /// [`API_VERSION`](crate::API_VERSION) as a section holds it.
    pub const API_VERSION_BYTES: [u8; crate::API_VERSION.len()] = *b"0.1.0";
}
