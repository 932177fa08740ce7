//! What is known of a view without reading any text: which results may go, and what it would gain.

use contextengine_sdk::{EntryInfo, EntryKind, Marks, Position, View, glob};

use crate::config::{Config, capped};
use crate::ledger::Rule;

/// Tokens per byte where no result tells: four bytes a token.
const DENSITY: f64 = 0.25;

/// How a result under a rule is counted. What is left of it is a guess: which bytes stay is known, their tokens are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    /// On the high side, for what a decision would leave.
    High,
    /// On the low side, for what an earlier decision left. Between the two no gain is overrated.
    Low,
}

impl Guess {
    /// What the kept part counts, as a multiple of its share of the tokens. It may be denser or thinner than the whole,
    /// and shorter by up to a fifth, as it ends with a line.
    fn of_kept(self) -> f64 {
        match self {
            Self::High => 1.25,
            Self::Low => 0.6,
        }
    }

    /// What our words count, as a multiple of the density of the results: names and ids take more tokens than prose.
    fn of_words(self) -> f64 {
        match self {
            Self::High => 1.5,
            Self::Low => 0.5,
        }
    }
}

/// The entries, and the results among them that may go.
#[derive(Debug)]
pub(crate) struct Facts {
    /// All entries of the view.
    pub(crate) entries: Vec<EntryInfo>,
    /// Names of the tools.
    pub(crate) tools: Vec<String>,
    /// Results that nothing but their age could protect, ascending.
    pub(crate) prunable: Vec<Position>,
    /// How many of `prunable`, from the front, are old enough.
    pub(crate) old: usize,
    density: f64,
}

impl Facts {
    pub(crate) fn read(view: &dyn View, config: &Config, window: u32) -> Self {
        let entries = view.all();
        let tools = view.tools();
        let allowed: Vec<bool> = tools.iter().map(|tool| may_go(tool, config)).collect();
        let unnamed = may_go("", config);
        let first_user = entries.iter().position(|entry| entry.kind == EntryKind::User).unwrap_or(entries.len());
        let from = if config.keep_before_first_user { first_user } else { 0 };
        let may = |entry: &EntryInfo| {
            let allowed = entry.tool.map_or(unnamed, |tool| allowed.get(tool as usize).copied().unwrap_or(unnamed));
            entry.kind == EntryKind::ToolResult
                && !entry.marks.intersects(Marks::PINNED | Marks::IN_FLIGHT)
                && !(config.exempt_failed && entry.marks.contains(Marks::FAILED))
                && allowed
        };
        let prunable: Vec<Position> =
            (0..).zip(&entries).skip(from).filter(|(_, entry)| may(entry)).map(|(at, _)| at).collect();
        let frontier = frontier(&entries, config);
        let mut old = prunable.partition_point(|&at| (at as usize) < frontier);
        if !config.prune_current_turn {
            let current = |at: &Position| entries[*at as usize].marks.contains(Marks::CURRENT_TURN);
            old = prunable[..old].iter().position(current).unwrap_or(old);
        }
        // The newest tokens before the frontier stay. The result that crosses the line goes.
        let keep = capped(config.keep_tokens, config.keep_share, window);
        let mut kept = 0;
        while old > 0 {
            kept += u64::from(entries[prunable[old - 1] as usize].tokens);
            if kept > keep {
                break;
            }
            old -= 1;
        }
        let density = density(&entries);
        Self { entries, tools, prunable, old, density }
    }

    /// No result could be pruned or could have been.
    pub(crate) fn is_idle(&self) -> bool {
        self.prunable.is_empty()
    }

    pub(crate) fn entry(&self, at: Position) -> &EntryInfo {
        &self.entries[at as usize]
    }

    pub(crate) fn tool(&self, at: Position) -> &str {
        self.entry(at).tool.and_then(|tool| self.tools.get(tool as usize)).map_or("", String::as_str)
    }

    /// Without memory a guess has to be the same in every request, whatever else is in the view by then.
    pub(crate) fn assume_density(&mut self) {
        self.density = DENSITY;
    }

    /// Tokens that are left of a result under a rule. Images stay: a rewrite changes text only.
    pub(crate) fn tokens_under(&self, rule: &Rule, at: Position, guess: Guess) -> u32 {
        let (kept, words) = match rule {
            Rule::Trim { head, tail, text } => (head.saturating_add(*tail), text.bytes()),
            Rule::Clear { text } => (0, text.bytes()),
        };
        let entry = self.entry(at);
        let bytes = f64::from(entry.bytes.max(1));
        let tokens = f64::from(entry.tokens);
        let of_text = if entry.marks.contains(Marks::HAS_IMAGE) { tokens.min(bytes * self.density) } else { tokens };
        let of_rest = tokens - of_text;
        let of_kept = of_text * (f64::from(kept) / bytes * guess.of_kept()).min(1.0);
        let of_words = words as f64 * self.density * guess.of_words();
        // A sum of figures that fit 32 bits, none of them negative; the conversion saturates.
        (of_rest + of_kept + of_words).ceil() as u32
    }
}

fn may_go(tool: &str, config: &Config) -> bool {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, tool));
    any(&config.tools) && !any(&config.exempt_tools)
}

/// The position from which on everything stays because it is recent.
fn frontier(entries: &[EntryInfo], config: &Config) -> usize {
    // What stands after the model's last words it has not seen yet.
    let unseen = entries.iter().rposition(|entry| entry.kind == EntryKind::Assistant).unwrap_or(0);
    let of_kind = |kind: EntryKind, count: u32| nth_last(entries, count, |entry| entry.kind == kind);
    [
        unseen,
        last_turns(entries, config.keep_turns),
        of_kind(EntryKind::Assistant, config.keep_assistants),
        of_kind(EntryKind::ToolResult, config.keep_results),
        nth_last(entries, config.keep_entries, |_| true),
    ]
    .into_iter()
    .min()
    .unwrap_or(0)
}

/// Position of the `count`-th last entry that is meant; 0 where there are fewer, the end for a count of 0.
fn nth_last(entries: &[EntryInfo], count: u32, is_meant: impl Fn(&EntryInfo) -> bool) -> usize {
    let Some(before) = count.checked_sub(1) else { return entries.len() };
    let mut meant = (0..entries.len()).rev().filter(|&at| is_meant(&entries[at]));
    meant.nth(before as usize).unwrap_or(0)
}

/// Where the last `count` turns begin; 0 where there are fewer, the end for a count of 0.
fn last_turns(entries: &[EntryInfo], count: u32) -> usize {
    let Some(mut left) = count.checked_sub(1) else { return entries.len() };
    for at in (1..entries.len()).rev() {
        if entries[at].turn != entries[at - 1].turn {
            match left.checked_sub(1) {
                None => return at,
                Some(less) => left = less,
            }
        }
    }
    0
}

/// Tokens per byte of the results in this view, by the host's own count.
fn density(entries: &[EntryInfo]) -> f64 {
    let plain = |entry: &&EntryInfo| entry.kind == EntryKind::ToolResult && !entry.marks.contains(Marks::HAS_IMAGE);
    let (mut tokens, mut bytes) = (0.0, 0.0);
    for entry in entries.iter().filter(plain) {
        tokens += f64::from(entry.tokens);
        bytes += f64::from(entry.bytes);
    }
    if bytes > 0.0 && tokens > 0.0 { tokens / bytes } else { DENSITY }
}
