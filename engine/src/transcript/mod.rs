//! What was said and done: entries and their blocks.
//!
//! A transcript is a log. An entry is never changed once it is in it; a compaction makes new entries that stand for
//! older ones, and the older ones stay. Nothing here knows how an entry was stored or what a model would see of it.

mod block;
mod digest;
mod entry;

pub use block::{Block, Image, ImageSource, Opaque, Reasoning, ToolCall, ToolResult};
pub use digest::{Digest, ParseDigestError, canonical_bytes};
pub use entry::{Compaction, Entry, EntryId, EntryKind, Role, SourcePart, Timestamp};
