//! The context that a plan makes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::fate::Fate;
use super::proposal::{Note, Plan, Rewrite, Segment, Span, Summary};
use crate::tokens::EntryCounter;
use crate::transcript::{Compaction, Entry, EntryKind};
use crate::view::View;

/// A new context and what it was made from.
#[derive(Debug, Clone)]
pub struct Applied {
    view: View,
    tally: Tally,
}

/// How many entries and tokens of the old context met which fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tally {
    /// Entries that stay as they are.
    pub kept: u32,
    /// Their tokens.
    pub kept_tokens: u32,
    /// Tool results that stay with another text.
    pub rewritten: u32,
    /// Their tokens before.
    pub rewritten_tokens: u32,
    /// Entries that a summary stands for.
    pub covered: u32,
    /// Their tokens.
    pub covered_tokens: u32,
    /// Entries that went.
    pub dropped: u32,
    /// Their tokens.
    pub dropped_tokens: u32,
    /// Summaries that were written.
    pub summaries: u32,
    /// Tokens of the summaries.
    pub summary_tokens: u32,
    /// Notes that were added.
    pub notes: u32,
    /// Tokens of the notes.
    pub note_tokens: u32,
}

impl Applied {
    /// The new context.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What became of the old one.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

/// Makes the new context. `fates` holds one fate per position, and the plan accounts for each position once.
pub(super) fn apply(plan: &Plan, author: &str, fates: &[Fate], view: &View, counter: &EntryCounter) -> Applied {
    let mut maker = Maker { author, view, counter, entries: Vec::new(), tokens: Vec::new(), tally: count(fates, view) };
    for (index, segment) in plan.segments.iter().enumerate() {
        match segment {
            Segment::Keep(span) => maker.keep(*span),
            Segment::Rewrite(rewrite) => maker.rewrite(rewrite),
            Segment::Summary(summary) => maker.summary(index, summary),
            Segment::Note(note) => maker.note(index, note),
            Segment::Drop(_) => {}
        }
    }
    maker.finish()
}

fn count(fates: &[Fate], view: &View) -> Tally {
    let mut tally = Tally::default();
    for (fate, info) in fates.iter().zip(view.infos()) {
        let (entries, tokens) = match fate {
            Fate::Kept => (&mut tally.kept, &mut tally.kept_tokens),
            Fate::Rewritten => (&mut tally.rewritten, &mut tally.rewritten_tokens),
            Fate::Covered { .. } => (&mut tally.covered, &mut tally.covered_tokens),
            Fate::Dropped => (&mut tally.dropped, &mut tally.dropped_tokens),
        };
        *entries += 1;
        *tokens = tokens.saturating_add(info.tokens);
    }
    tally
}

struct Maker<'a> {
    author: &'a str,
    view: &'a View,
    counter: &'a EntryCounter,
    entries: Vec<Arc<Entry>>,
    tokens: Vec<u32>,
    tally: Tally,
}

impl Maker<'_> {
    fn keep(&mut self, span: Span) {
        for at in span.start..span.end {
            let Some(entry) = self.view.entry(at) else { return };
            self.entries.push(Arc::clone(entry));
            self.tokens.push(self.view.tokens_of(at));
        }
    }

    fn rewrite(&mut self, rewrite: &Rewrite) {
        let Some(original) = self.view.entry(rewrite.at) else {
            return;
        };
        let mut entry = original.with_text(&rewrite.text);
        // Behind a second rewrite stands the original, not the first.
        if !original.is_edited() {
            entry.replaces = vec![Arc::clone(original)];
        }
        self.push(entry);
    }

    fn summary(&mut self, segment: usize, summary: &Summary) {
        let covered = summary
            .covers
            .iter()
            .flat_map(|span| span.start..span.end)
            .filter_map(|at| self.view.entry(at))
            .cloned()
            .collect();
        let mut entry =
            Entry::text(self.new_id("summary", segment, &summary.text), EntryKind::Summary, summary.text.as_str());
        entry.replaces = covered;
        entry.compaction = Some(Box::new(Compaction {
            plugin: self.author.to_owned(),
            details: summary.details.clone(),
            ..Compaction::default()
        }));
        let tokens = self.push(entry);
        self.tally.summaries += 1;
        self.tally.summary_tokens = self.tally.summary_tokens.saturating_add(tokens);
    }

    fn note(&mut self, segment: usize, note: &Note) {
        let mut entry = Entry::text(self.new_id("note", segment, &note.text), EntryKind::Note, note.text.as_str());
        entry.role = note.role;
        let tokens = self.push(entry);
        self.tally.notes += 1;
        self.tally.note_tokens = self.tally.note_tokens.saturating_add(tokens);
    }

    /// An id that is new, and the same whenever the same plan is applied to the same view: a hash of the text, of the
    /// place and of the entry that the view ends with.
    fn new_id(&self, what: &str, segment: usize, text: &str) -> String {
        let after = self.view.entries().last().map_or("", |entry| entry.id.as_str());
        let mut hash = Sha256::new();
        for part in [after, &segment.to_string(), text] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        // Six bytes: a session has thousands of summaries at the very most.
        let digits: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{what}-{digits}")
    }

    fn push(&mut self, entry: Entry) -> u32 {
        let tokens = self.counter.entry(&entry);
        self.entries.push(Arc::new(entry));
        self.tokens.push(tokens);
        tokens
    }

    fn finish(mut self) -> Applied {
        let after = self.tokens.iter().copied().fold(0, u32::saturating_add);
        let before = self.view.tokens();
        for entry in &mut self.entries {
            // Only summaries that were made above are not shared yet.
            let fresh = entry.source.is_empty() && entry.kind == EntryKind::Summary;
            if let Some(compaction) = Arc::get_mut(entry).filter(|_| fresh).and_then(|entry| entry.compaction.as_mut())
            {
                compaction.tokens_before = before;
                compaction.tokens_after = after;
            }
        }
        let view = View::with_tokens(self.entries, self.tokens, self.view.options());
        Applied { view, tally: self.tally }
    }
}
