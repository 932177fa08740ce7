//! Host runtime for context compaction: a strategy proposes, the host verifies, records and applies.
#![deny(missing_docs)]

pub mod format;
pub mod hooks;
pub mod plan;
pub mod plugin;
pub mod tokens;
pub mod transcript;
pub mod view;
