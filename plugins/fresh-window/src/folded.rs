//! What was taken out so far, over all rounds.
//!
//! The text of an earlier round is read back and its figures are added up, so that there is one text, of bounded size,
//! however often the window is renewed. Everything that a later round needs stands in the text, as some formats have no
//! place for details; only the files that the text has no room for stand in the details alone.

use contextengine_sdk::files::{self, Operations};
use contextengine_sdk::transcript::{one_line, quotable};
use contextengine_sdk::{EntryKind, Position, Span, View, rules};

use crate::config::Config;
use crate::text;

/// Sums and lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folded {
    pub(crate) entries: u64,
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    pub(crate) compactions: u64,
    /// Requests of the user, a line each, oldest first; those that a text had no room for are gone from here.
    pub(crate) requests: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Summaries by others.
    pub(crate) earlier: String,
    pub(crate) files: Operations,
    /// Rules of the user that folded summaries stored, oldest first: nothing that is read here, but what a strategy that
    /// comes after this one may know.
    pub(crate) rules: Vec<String>,
    /// The latest folded words of the model.
    pub(crate) last_words: String,
    /// Entries that are folded for the first time.
    pub(crate) fresh: u64,
}

impl Folded {
    /// Reads what is folded now, and what an earlier text tells of before.
    pub(crate) fn gather(view: &dyn View, positions: &[Position], memory: &[String], config: &Config) -> Self {
        let mut folded = Self { compactions: 1, ..Self::default() };
        for span in Span::over(positions.iter().copied()) {
            for (at, entry) in (span.start..).zip(view.entries(span)) {
                match entry.kind {
                    EntryKind::Summary if folded.merge(view, at) => continue,
                    EntryKind::Summary | EntryKind::BranchSummary => folded.carry(view, at),
                    EntryKind::User => folded.request(view, at, config),
                    EntryKind::Assistant => folded.answer(view, at),
                    EntryKind::System | EntryKind::ToolResult | EntryKind::Note => {}
                }
                folded.fresh += 1;
                folded.entries += 1;
                folded.tokens += u64::from(entry.tokens);
            }
        }
        track(view, positions, &mut folded.files);
        for note in memory {
            let line = format!("- {}", one_line(&quotable(note), config.line_bytes.saturating_mul(4)));
            if !folded.notes.contains(&line) {
                folded.notes.push(line);
            }
        }
        folded
    }

    /// Adds an earlier text of this strategy up; false if it is none.
    fn merge(&mut self, view: &dyn View, at: Position) -> bool {
        let Some(before) = text::read(&view.text(at, None)) else { return false };
        self.entries = self.entries.saturating_add(before.entries);
        self.turns = self.turns.saturating_add(before.turns);
        self.tokens = self.tokens.saturating_add(before.tokens);
        self.compactions = self.compactions.saturating_add(before.compactions);
        self.requests.extend(before.requests);
        self.notes.extend(before.notes);
        self.carry_text(&before.earlier);
        self.record(view, at);
        true
    }

    fn carry(&mut self, view: &dyn View, at: Position) {
        self.record(view, at);
        self.carry_text(&quotable(view.text(at, None).trim()));
    }

    fn record(&mut self, view: &dyn View, at: Position) {
        self.files.extend(files::recorded(view, at));
        let known = rules::recorded(view, at).into_iter().filter(|rule| !self.rules.contains(rule));
        let new: Vec<String> = known.collect();
        self.rules.extend(new);
    }

    fn carry_text(&mut self, text: &str) {
        if !text.is_empty() && !self.earlier.is_empty() {
            self.earlier.push_str("\n\n");
        }
        self.earlier.push_str(text);
    }

    fn request(&mut self, view: &dyn View, at: Position, config: &Config) {
        self.turns += 1;
        let words = one_line(&quotable(&view.text(at, Some(READ))), config.line_bytes);
        // A command to the agent program alone, like `/mode`, asks the model for nothing.
        if words.is_empty() || words.starts_with('/') && !words.contains(' ') && !words[1..].contains('/') {
            return;
        }
        // By its id the entry is found again where recall knows ids.
        let id =
            view.attribute(at, "id").filter(|id| !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(['\n', ']']));
        self.requests.push(id.map_or_else(|| format!("- {words}"), |id| format!("- [{id}] {words}")));
    }

    fn answer(&mut self, view: &dyn View, at: Position) {
        let words = view.text(at, Some(READ));
        if !words.trim().is_empty() {
            self.last_words = quotable(words.trim());
        }
    }
}

/// Bytes of an entry that are read for a line of it.
const READ: u32 = 8 * 1024;

/// Longer ids are not worth their tokens: UUIDs have 36 bytes.
const LONGEST_ID: usize = 40;

fn track(view: &dyn View, positions: &[Position], into: &mut Operations) {
    for span in Span::over(positions.iter().copied()) {
        let mut found = files::track(view, span, &files::Rules::default());
        // What was run is not listed.
        found.commands.clear();
        into.extend(found);
    }
}
