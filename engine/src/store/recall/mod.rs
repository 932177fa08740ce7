//! Full-text recall: finding what was said, also what was compacted away long ago.
//!
//! A text is split into words the same way for the index and for a query, and the same way in every store. A word is a
//! run of letters and digits, without regard to case. Chinese, Japanese and Korean are written with few spaces or
//! none, so their runs are cut into overlapping pairs of characters: then any part of a run is found, of a single
//! character too. Names such as `src/parser.rs` or `max_tokens` are found as a whole: their words must stand together.

mod query;
mod score;
mod snippet;
mod words;

pub use query::{Query, Term};
pub(crate) use score::{Scorer, occurrences};
pub use snippet::snippet;
pub use words::{Word, Words, index_text, words};

use super::{Seq, SessionKey, StoredEntry};
use crate::transcript::{Block, EntryId, EntryKind};

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Search {
    /// Words, separated by spaces. Entries that hold all of them are found; where there is none, those with any.
    pub text: String,
    /// The session to search; `None` searches all.
    pub session: Option<SessionKey>,
    /// Most hits to return.
    pub limit: u32,
}

impl Search {
    /// Looks for words in one session; ten hits at most.
    pub fn new(session: SessionKey, text: impl Into<String>) -> Self {
        Self { text: text.into(), session: Some(session), limit: 10 }
    }

    /// Looks for words in all sessions; ten hits at most.
    pub fn everywhere(text: impl Into<String>) -> Self {
        Self { text: text.into(), session: None, limit: 10 }
    }

    /// Another number of hits.
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The session.
    pub session: SessionKey,
    /// Number of the record.
    pub seq: Seq,
    /// Id of the entry, for [`Store::record`](super::Store::record).
    pub id: EntryId,
    /// What the entry is.
    pub kind: EntryKind,
    /// The words around the first match, on one line.
    pub snippet: String,
    /// Higher is better; comparable within one answer only.
    pub score: f32,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The best matches, best first.
    pub hits: Vec<Hit>,
    /// Records, the newest, that are not in the index yet and were not searched.
    pub unindexed: u64,
}

/// What a batch of indexing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Records that were looked at.
    pub done: u64,
    /// Records that are left.
    pub pending: u64,
}

/// The text of an entry by which it is found: words, results, and calls with their arguments. Reasoning, images and
/// opaque blocks are left out. A result that was shortened is found by its whole text.
pub fn searchable(entry: &StoredEntry) -> String {
    let mut text = String::new();
    let mut add = |piece: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(piece);
    };
    for block in &entry.blocks {
        match block {
            Block::Text(words) => add(words),
            Block::ToolResult(result) => add(entry.original.as_deref().unwrap_or(&result.text)),
            Block::ToolCall(call) => {
                add(&call.name);
                add(&call.arguments);
            }
            Block::Reasoning(_) | Block::Image(_) | Block::Opaque(_) => {}
        }
    }
    text
}
