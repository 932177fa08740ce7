//! What a ContextEngine plugin depends on.
//!
//! A plugin is a type that implements [`Plugin`] and one trait for each hook that it wants to own: [`Compressor`],
//! [`Selector`], [`Reducer`], [`BranchSummarizer`], [`Observer`], [`Toolbox`]. It reads a [`View`] and answers with a
//! [`Plan`] over positions of that view; the host verifies, records and applies it.

#[doc(hidden)]
pub mod bindings;
pub mod budget;
pub mod config;
pub mod cut;
mod export;
mod guest;
mod hooks;
mod host;
pub mod memory;
pub mod plan;
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
