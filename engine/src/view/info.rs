//! What is known of each entry of a view.

use std::collections::HashMap;
use std::sync::Arc;

use super::ViewOptions;
use super::group::{self, Groups};
use super::text;
use crate::transcript::{Block, Compaction, Entry, EntryKind, Timestamp};

/// What the host knows of an entry beyond its kind. The same marks as in the plugin ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Marks {
    /// Must survive verbatim.
    pub pinned: bool,
    /// A tool result that reports an error or a refusal.
    pub failed: bool,
    /// A tool call whose result has not arrived yet, or a sibling of one.
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
    /// Entries of one group stand or fall together. Numbered by first member.
    pub group: u32,
    /// User turn, from 0; entries before the first user entry are of turn 0.
    pub turn: u32,
    /// Tokens of the whole entry.
    pub tokens: u32,
    /// UTF-8 bytes of its plain text.
    pub bytes: u32,
    /// What else is known.
    pub marks: Marks,
    /// Index into [`View::tools`](super::View::tools).
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

pub(super) fn describe(entries: &[Arc<Entry>], tokens: &[u32], options: ViewOptions) -> (Vec<EntryInfo>, Vec<String>) {
    let Groups { group, in_flight, tool } = group::group(entries, tokens, options.loop_limit);
    let turns = turns(entries);
    let last_turn = entries.iter().any(|entry| entry.kind == EntryKind::User).then(|| turns.last().copied()).flatten();
    let mut tools = Tools::default();
    let infos = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| EntryInfo {
            kind: entry.kind,
            group: group[at],
            turn: turns[at],
            tokens: tokens[at],
            bytes: u32::try_from(text::plain_len(entry)).unwrap_or(u32::MAX),
            marks: Marks {
                pinned: entry.pinned,
                failed: entry.tool_result().is_some_and(|result| result.failed),
                in_flight: in_flight[at],
                current_turn: Some(turns[at]) == last_turn,
                has_image: entry.blocks.iter().any(|block| matches!(block, Block::Image(_))),
                has_reasoning: entry.blocks.iter().any(|block| matches!(block, Block::Reasoning(_))),
                reduced: entry.is_edited(),
            },
            tool: tool[at].as_ref().map(|name| tools.index(name)),
            at: entry.at,
        })
        .collect();
    (infos, tools.names)
}

/// The turn of each entry.
fn turns(entries: &[Arc<Entry>]) -> Vec<u32> {
    let mut users = 0u32;
    entries
        .iter()
        .map(|entry| {
            users = users.saturating_add(u32::from(entry.kind == EntryKind::User));
            users.saturating_sub(1)
        })
        .collect()
}

#[derive(Default)]
struct Tools {
    names: Vec<String>,
    indices: HashMap<Arc<str>, u32>,
}

impl Tools {
    fn index(&mut self, name: &Arc<str>) -> u32 {
        if let Some(&index) = self.indices.get(name) {
            return index;
        }
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_string());
        self.indices.insert(Arc::clone(name), index);
        index
    }
}
