//! What a model would see now, and what a strategy may know of it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::transcript::{Block, Compaction, Entry, EntryKind, Timestamp};

/// What the host knows of an entry beyond its kind. The same marks as in the plugin ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Marks {
    /// Must survive verbatim.
    pub pinned: bool,
    /// A tool result that reports an error or a refusal.
    pub failed: bool,
    /// A tool call whose result has not arrived yet.
    pub in_flight: bool,
    /// Belongs to the turn that is being worked on.
    pub current_turn: bool,
    /// Holds at least one image.
    pub has_image: bool,
    /// Holds reasoning.
    pub has_reasoning: bool,
    /// Its text was already shortened.
    pub reduced: bool,
}

/// What a strategy needs to decide, without any text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryInfo {
    /// What it is.
    pub kind: EntryKind,
    /// Entries of one group stand or fall together.
    pub group: u32,
    /// User turn, from 0.
    pub turn: u32,
    /// Tokens of the whole entry.
    pub tokens: u32,
    /// UTF-8 bytes of its plain text.
    pub bytes: u32,
    /// What else is known.
    pub marks: Marks,
    /// Index into [`View::tools`].
    pub tool: Option<u32>,
    /// When it was written.
    pub at: Option<Timestamp>,
}

/// The last compaction that a view holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCompaction {
    /// Position of its summary.
    pub at: u32,
    /// Text of its summary.
    pub summary: String,
    /// What else is known of it.
    pub compaction: Compaction,
}

/// A read-only, frozen window on the entries that a model would see. Cheap to clone.
#[derive(Debug, Clone)]
pub struct View {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: Vec<Arc<Entry>>,
    infos: Vec<EntryInfo>,
    tools: Vec<String>,
}

impl View {
    /// Number of entries.
    pub fn len(&self) -> u32 {
        todo!()
    }
    /// All entries.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.inner.entries
    }
    /// What is known of all entries.
    pub fn infos(&self) -> &[EntryInfo] {
        &self.inner.infos
    }
    /// Names of the tools, in order of first use.
    pub fn tools(&self) -> &[String] {
        &self.inner.tools
    }
    /// Sum of the entries' tokens.
    pub fn tokens(&self) -> u32 {
        todo!()
    }
    /// The entry as plain text, at most `limit` bytes, cut at a character boundary. Empty beyond the end.
    pub fn text(&self, at: u32, limit: Option<u32>) -> Cow<'_, str> {
        todo!()
    }
    /// Part of the text, in bytes, snapped inwards to character boundaries.
    pub fn text_range(&self, at: u32, start: u32, end: u32) -> Cow<'_, str> {
        todo!()
    }
    /// The parts of an entry; empty beyond the end.
    pub fn blocks(&self, at: u32) -> &[Block] {
        todo!()
    }
    /// The full text behind a reduced entry or a summary; `None` when the entry is the original.
    pub fn original(&self, at: u32, limit: Option<u32>) -> Option<String> {
        todo!()
    }
    /// The newest compaction that the view holds the summary of.
    pub fn last_compaction(&self) -> Option<LastCompaction> {
        todo!()
    }
    /// A further fact about an entry by name; see the ABI's `view.attribute`. Known names: `id`, `role`.
    pub fn attribute(&self, at: u32, key: &str) -> Option<String> {
        todo!()
    }
}
