//! What a new context is, seen from the one that was read: the first step of every writer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Format, FormatError};
use crate::transcript::{Block, Entry, EntryKind};

/// One entry of the new context.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// The entry at this position of the old context, as it was.
    Kept(usize),
    /// The entry at this position of the old context, with other text.
    Edited(usize, &'a Entry),
    /// A summary that is not in the session yet.
    Summary(&'a Entry),
    /// A note that is not in the session yet.
    Note(&'a Entry),
}

impl Step<'_> {
    /// The position of the old context that it comes from.
    pub(super) fn at(self) -> Option<usize> {
        match self {
            Step::Kept(at) | Step::Edited(at, _) => Some(at),
            Step::Summary(_) | Step::Note(_) => None,
        }
    }
}

/// The new context, step by step.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// Nothing changed.
    pub(super) none: bool,
}

impl<'a> Changes<'a> {
    /// Finds every entry of `new` in `old`. Entries from `old` must be in their order, and no more than once.
    pub(super) fn find(format: Format, old: &[Arc<Entry>], new: &'a [Arc<Entry>]) -> Result<Self, FormatError> {
        let positions: HashMap<&str, usize> = old.iter().enumerate().map(|(at, e)| (e.id.as_str(), at)).collect();
        let refuse = |entry: &Entry, reason: &str| FormatError::Inexpressible {
            format,
            entry: entry.id.to_string(),
            reason: reason.to_owned(),
        };
        let mut steps = Vec::with_capacity(new.len());
        let mut next = 0;
        for entry in new {
            if entry.source.is_empty() {
                steps.push(match entry.kind {
                    EntryKind::Summary => Step::Summary(entry),
                    EntryKind::Note | EntryKind::BranchSummary => Step::Note(entry),
                    _ => {
                        return Err(refuse(entry, "it is not in the session, and neither a summary nor a note"));
                    }
                });
                continue;
            }
            let Some(&at) = positions.get(entry.id.as_str()) else {
                return Err(refuse(entry, "it is not in the context that was read from this session"));
            };
            if at < next {
                return Err(refuse(entry, "it stands twice, or before an entry that it came after"));
            }
            next = at + 1;
            let original = &old[at];
            if Arc::ptr_eq(original, entry) || (original.kind == entry.kind && original.blocks == entry.blocks) {
                steps.push(Step::Kept(at));
            } else if entry.is_edited() && original.kind == entry.kind {
                steps.push(Step::Edited(at, entry));
            } else {
                return Err(refuse(entry, "its content is not what was read, and it does not say what it replaces"));
            }
        }
        let none =
            steps.len() == old.len() && steps.iter().enumerate().all(|(at, s)| matches!(s, Step::Kept(k) if *k == at));
        Ok(Self { steps, none })
    }

    /// Ids of the entries that new summaries stand for.
    pub(super) fn covered(&self) -> HashSet<&str> {
        let mut covered = HashSet::new();
        for step in &self.steps {
            if let Step::Summary(entry) = step {
                covered.extend(entry.replaces.iter().map(|entry| entry.id.as_str()));
            }
        }
        covered
    }

    /// The new context has a summary that the session has not.
    pub(super) fn has_summary(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Summary(_)))
    }
}

/// What an entry says in words: its text blocks, or the text of its tool result.
pub(super) fn words(entry: &Entry) -> String {
    let mut words = Vec::new();
    for block in &entry.blocks {
        match block {
            Block::Text(text) => words.push(text.as_str()),
            Block::ToolResult(result) => words.push(result.text.as_str()),
            _ => {}
        }
    }
    words.join("\n")
}

/// The entry holds something besides words.
pub(super) fn has_more_than_words(entry: &Entry) -> bool {
    entry.blocks.iter().any(|block| !matches!(block, Block::Text(_) | Block::ToolResult(_)))
}
