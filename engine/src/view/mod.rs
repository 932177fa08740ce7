//! What a model would see now, and what a strategy may know of it.
//!
//! A [`View`] is frozen: what changes the context makes a new one. It holds every entry with its tokens (counted
//! before it is built, never again), its group, its turn and its marks. Cloning it is one reference count.

mod group;
mod info;
mod text;

use std::borrow::Cow;
use std::sync::Arc;

pub use info::{EntryInfo, LastCompaction, Marks};

use crate::tokens::EntryCounter;
use crate::transcript::{Block, Entry, EntryKind, Role};

/// How a view is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ViewOptions {
    /// Tokens beyond which a tool loop with signed reasoning is not one group any more but one per assistant entry.
    /// A loop longer than what a compaction may leave could never be kept whole. `None`: a loop is always one group.
    pub loop_limit: Option<u32>,
}

impl ViewOptions {
    /// Splits signed tool loops that are longer than `tokens`.
    pub fn with_loop_limit(mut self, tokens: u32) -> Self {
        self.loop_limit = Some(tokens);
        self
    }
}

/// A read-only, frozen window on the entries that a model would see.
#[derive(Debug, Clone)]
pub struct View {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: Vec<Arc<Entry>>,
    infos: Vec<EntryInfo>,
    tools: Vec<String>,
    tokens: u32,
    options: ViewOptions,
}

impl View {
    /// A view of entries, in the order in which the model reads them. Counts what `counter` has not counted before.
    pub fn new(entries: Vec<Arc<Entry>>, counter: &EntryCounter, options: ViewOptions) -> Self {
        let tokens = entries.iter().map(|entry| counter.entry(entry)).collect();
        Self::with_tokens(entries, tokens, options)
    }

    /// A view of these entries, made as this one was. What this one holds at the same place is not counted again: hashing
    /// all texts to look their tokens up costs more than everything else.
    pub(crate) fn renewed(&self, entries: Vec<Arc<Entry>>, counter: &EntryCounter) -> Self {
        let known = |at: usize, entry: &Arc<Entry>| match self.inner.entries.get(at) {
            Some(same) if Arc::ptr_eq(same, entry) => self.inner.infos[at].tokens,
            _ => counter.entry(entry),
        };
        let tokens = entries.iter().enumerate().map(|(at, entry)| known(at, entry)).collect();
        Self::with_tokens(entries, tokens, self.inner.options)
    }

    /// A view of entries whose tokens are known already; `tokens` holds one figure per entry.
    pub(crate) fn with_tokens(entries: Vec<Arc<Entry>>, tokens: Vec<u32>, options: ViewOptions) -> Self {
        let (infos, tools) = info::describe(&entries, &tokens, options);
        let tokens = tokens.into_iter().fold(0, u32::saturating_add);
        Self { inner: Arc::new(Inner { entries, infos, tools, tokens, options }) }
    }

    /// Number of entries.
    pub fn len(&self) -> u32 {
        u32::try_from(self.inner.entries.len()).unwrap_or(u32::MAX)
    }

    /// Holds no entry.
    pub fn is_empty(&self) -> bool {
        self.inner.entries.is_empty()
    }

    /// All entries.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.inner.entries
    }

    /// The entry at a position; `None` beyond the end.
    pub fn entry(&self, at: u32) -> Option<&Arc<Entry>> {
        self.inner.entries.get(usize::try_from(at).ok()?)
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
        self.inner.tokens
    }

    /// Tokens of one entry; 0 beyond the end.
    pub fn tokens_of(&self, at: u32) -> u32 {
        usize::try_from(at).ok().and_then(|at| self.inner.infos.get(at)).map_or(0, |info| info.tokens)
    }

    /// How the view was made.
    pub fn options(&self) -> ViewOptions {
        self.inner.options
    }

    /// The entry as plain text, at most `limit` bytes, cut at a character boundary. Empty beyond the end.
    ///
    /// Words and results as they are, a call as `name(arguments)`, one block a line; reasoning and images are left out.
    pub fn text(&self, at: u32, limit: Option<u32>) -> Cow<'_, str> {
        text::limited(self.whole_text(at), limit)
    }

    /// Bytes `start..end` of the text, snapped inwards to character boundaries. Empty where there is nothing.
    pub fn text_range(&self, at: u32, start: u32, end: u32) -> Cow<'_, str> {
        text::range(self.whole_text(at), start, end)
    }

    fn whole_text(&self, at: u32) -> Cow<'_, str> {
        self.entry(at).map_or(Cow::Borrowed(""), |entry| text::plain(entry))
    }

    /// The parts of an entry; empty beyond the end.
    pub fn blocks(&self, at: u32) -> &[Block] {
        self.entry(at).map_or(&[], |entry| &entry.blocks)
    }

    /// The full text behind an entry whose text was replaced, or behind a summary the texts of everything that it
    /// covers, at most `limit` bytes; `None` when the entry is the original, or what it replaced is not at hand.
    pub fn original(&self, at: u32, limit: Option<u32>) -> Option<String> {
        let entry = self.entry(at)?;
        if entry.replaces.is_empty() {
            return None;
        }
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Some(original(entry, limit))
    }

    /// The newest compaction whose summary the view holds.
    pub fn last_compaction(&self) -> Option<LastCompaction> {
        let at = self.inner.entries.iter().rposition(|entry| entry.kind == EntryKind::Summary)?;
        let entry = &self.inner.entries[at];
        Some(LastCompaction {
            at: u32::try_from(at).unwrap_or(u32::MAX),
            summary: text::plain(entry).into_owned(),
            compaction: entry.compaction.as_deref().cloned().unwrap_or_default(),
        })
    }

    /// A further fact about an entry by name. Known are `id`, `role` (`system`, `user`, `assistant`, `tool`), and for
    /// a summary of any kind `details`: the JSON that was stored with it.
    pub fn attribute(&self, at: u32, key: &str) -> Option<String> {
        let entry = self.entry(at)?;
        match key {
            "id" => Some(entry.id.to_string()),
            "role" => Some(role_name(entry.role).to_owned()),
            "details" => entry.compaction.as_ref()?.details.clone(),
            _ => None,
        }
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// Texts of everything that an entry replaces, oldest first, originals of replaced ones included. Walks a list of its
/// own: summaries of summaries can be nested deeper than a stack allows.
fn original(entry: &Entry, limit: usize) -> String {
    let mut text = String::new();
    let mut waiting: Vec<&Entry> = entry.replaces.iter().rev().map(AsRef::as_ref).collect();
    while let Some(next) = waiting.pop() {
        if text.len() >= limit {
            break;
        }
        if next.replaces.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&text::plain(next));
        } else {
            waiting.extend(next.replaces.iter().rev().map(AsRef::as_ref));
        }
    }
    text.truncate(text.floor_char_boundary(limit));
    text
}

#[cfg(test)]
mod tests;
