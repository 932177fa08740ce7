//! What a strategy reads: the entries that the model would see now.

use crate::bindings::imports::contextengine::plugin::types as abi;
use crate::types::{Block, CompactionRecord, EntryInfo, Position, Span, Texts};

/// A read-only window on the entries the model would see now; the WIT resource `view` as a trait.
///
/// In a component it is the host's view; in a test it is a [`MemoryView`](crate::memory::MemoryView). All offsets are
/// UTF-8 bytes. A position or range beyond the end is not an error: it reads as empty.
pub trait View {
    /// Number of entries.
    fn len(&self) -> u32;

    /// There is no entry.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of a range of entries, without text. One call for all entries is cheaper than one for each.
    fn entries(&self, range: Span) -> Vec<EntryInfo>;

    /// What is known of all entries.
    fn all(&self) -> Vec<EntryInfo> {
        self.entries(Span::new(0, self.len()))
    }

    /// Names of the tools that occur, in order of first use; [`EntryInfo::tool`] is an index into it.
    fn tools(&self) -> Vec<String>;

    /// The entry as plain text, at most `limit` bytes, cut at a character boundary; without reasoning and images.
    fn text(&self, at: Position, limit: Option<u32>) -> String;

    /// Part of that text, snapped inwards to character boundaries.
    fn text_range(&self, at: Position, start: u32, end: u32) -> String;

    /// The texts of a range, each at most `limit` bytes.
    fn texts(&self, range: Span, limit: Option<u32>) -> Texts;

    /// The parts of the entry.
    fn blocks(&self, at: Position) -> Vec<Block>;

    /// The full text behind a reduced entry, or behind a summary the text of everything it covers; `None` when the
    /// entry is the original.
    fn original(&self, at: Position, limit: Option<u32>) -> Option<String>;

    /// What the last compaction on this branch recorded.
    fn last_compaction(&self) -> Option<CompactionRecord>;

    /// Further facts about an entry by name: `id`, `role`, and of a summary the `details`.
    fn attribute(&self, at: Position, key: &str) -> Option<String>;

    /// JSON that was stored with the summary at a position: its attribute `details`, or what the last compaction
    /// recorded if this is its summary.
    fn details(&self, at: Position) -> Option<String> {
        let recorded = || self.last_compaction().filter(|last| last.at == at).and_then(|last| last.details);
        self.attribute(at, "details").or_else(recorded)
    }
}

impl View for abi::View {
    fn len(&self) -> u32 {
        Self::len(self)
    }

    fn entries(&self, range: Span) -> Vec<EntryInfo> {
        Self::entries(self, range)
    }

    fn tools(&self) -> Vec<String> {
        Self::tools(self)
    }

    fn text(&self, at: Position, limit: Option<u32>) -> String {
        Self::text(self, at, limit)
    }

    fn text_range(&self, at: Position, start: u32, end: u32) -> String {
        Self::text_range(self, at, start, end)
    }

    fn texts(&self, range: Span, limit: Option<u32>) -> Texts {
        Self::texts(self, range, limit)
    }

    fn blocks(&self, at: Position) -> Vec<Block> {
        Self::blocks(self, at)
    }

    fn original(&self, at: Position, limit: Option<u32>) -> Option<String> {
        Self::original(self, at, limit)
    }

    fn last_compaction(&self) -> Option<CompactionRecord> {
        Self::last_compaction(self)
    }

    fn attribute(&self, at: Position, key: &str) -> Option<String> {
        Self::attribute(self, at, key)
    }
}
