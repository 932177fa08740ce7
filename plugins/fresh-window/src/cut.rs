//! What stays in the new window.
//!
//! What must stay by the host's rules, instructions, the current request and, as far as the target allows, what came
//! after it; then what the configuration keeps before it. Whole groups only, the newest first.

use std::collections::BTreeSet;

use contextengine_sdk::cut::Layout;
use contextengine_sdk::{EntryKind, Position, Span, View};

use crate::config::Config;
use crate::corrections::Corrections;

/// What stays and what goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Positions that go, ascending.
    pub(crate) folded: Vec<Position>,
    pub(crate) folded_tokens: u32,
    pub(crate) kept_tokens: u32,
    /// Folded entries that came after the current request.
    pub(crate) of_this_turn: u32,
}

/// Decides what stays so that it and the text are within the target, where that is possible.
pub(crate) fn cut(view: &dyn View, layout: &Layout, target: u32, config: &Config, corrections: &Corrections) -> Cut {
    let request = layout.latest_request();
    let mut stay: BTreeSet<u32> = BTreeSet::new();
    for at in 0..layout.len() {
        let Some(entry) = layout.entry(at) else { continue };
        let must = layout.is_required(at) || entry.kind == EntryKind::System;
        if must || corrections.keep.contains(&at) {
            stay.insert(entry.group);
        }
    }
    let size_of = |at| -> u64 {
        let members = layout.group(at).iter().filter_map(|&member| layout.entry(member));
        members.map(|entry| u64::from(entry.tokens)).sum()
    };
    let must: u64 = layout.entries().iter().filter(|e| stay.contains(&e.group)).map(|e| u64::from(e.tokens)).sum();
    let text = u64::from(corrections.tighten(config.text_tokens).min(target / 4));
    let mut left = u64::from(target).saturating_sub(must).saturating_sub(text);
    let from = kept_from(layout, request, config, corrections);
    let mut newest = true;
    for at in (from..layout.len()).rev() {
        let Some(entry) = layout.entry(at) else { continue };
        let whole = || layout.group(at).first().is_some_and(|&first| first >= from);
        if stay.contains(&entry.group) {
            // What must stay hides nothing, but is the newest.
            newest &= request == Some(at);
            continue;
        }
        // A summary is merged into the new text, not kept beside it.
        if entry.kind == EntryKind::Summary || !whole() {
            continue;
        }
        let size = size_of(at);
        // The model is about to read it.
        let needed = newest && request.is_none_or(|request| at > request) && !corrections.must_do_with_less();
        newest = false;
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None if needed => left = 0,
            None => break,
        }
        stay.insert(entry.group);
    }
    stay.extend(keep_the_last_word(view, layout, &stay));
    divide(layout, request, &stay)
}

/// The group of the last entry, where the new window would otherwise end with the model's words and did not before:
/// then the model would have nothing to answer, and the host refuses that.
fn keep_the_last_word(view: &dyn View, layout: &Layout, stay: &BTreeSet<u32>) -> Option<u32> {
    let newest_first = (0..layout.len()).rev().filter_map(|at| layout.entry(at).map(|entry| (at, entry)));
    let mut spoken = newest_first.filter(|(at, _)| role(view, layout, *at) != "system");
    let (last, entry) = spoken.next()?;
    if role(view, layout, last) == "assistant" || stay.contains(&entry.group) {
        return None;
    }
    let (kept, _) = spoken.find(|(_, entry)| stay.contains(&entry.group))?;
    (role(view, layout, kept) == "assistant").then_some(entry.group)
}

/// Under which role a provider reads an entry.
fn role(view: &dyn View, layout: &Layout, at: Position) -> String {
    let usual = || match layout.entry(at).map(|entry| entry.kind) {
        Some(EntryKind::System) => "system",
        Some(EntryKind::Assistant) => "assistant",
        Some(EntryKind::ToolResult) => "tool",
        _ => "user",
    };
    view.attribute(at, "role").unwrap_or_else(|| usual().to_owned())
}

fn divide(layout: &Layout, request: Option<Position>, stay: &BTreeSet<u32>) -> Cut {
    let mut cut = Cut { folded: Vec::new(), folded_tokens: 0, kept_tokens: 0, of_this_turn: 0 };
    for (at, entry) in (0..).zip(layout.entries()) {
        if stay.contains(&entry.group) {
            cut.kept_tokens = cut.kept_tokens.saturating_add(entry.tokens);
        } else {
            cut.folded.push(at);
            cut.folded_tokens = cut.folded_tokens.saturating_add(entry.tokens);
            cut.of_this_turn += u32::from(request.is_some_and(|request| at > request));
        }
    }
    cut
}

/// From where on entries stay if there is room.
fn kept_from(layout: &Layout, request: Option<Position>, config: &Config, corrections: &Corrections) -> Position {
    let Some(request) = request else { return layout.snap_back(layout.len().saturating_sub(1)) };
    if corrections.must_do_with_less() {
        return request;
    }
    let mut turns = layout.turns();
    turns.retain(|turn| turn.start < request);
    // Before the first request there are only instructions.
    let current = layout.turns().iter().rev().find(|turn| turn.contains(request)).map_or(request, |turn| turn.start);
    turns.retain(|turn| turn.start < current);
    let by_turns = match config.keep_turns as usize {
        0 => request,
        count => turns.len().checked_sub(count).map_or(0, |index| turns[index].start),
    };
    let mut by_tokens = request;
    let mut left = u64::from(config.keep_tokens);
    while by_tokens > 0 {
        let before = layout.snap_back(by_tokens - 1);
        match left.checked_sub(layout.tokens(Span::new(before, by_tokens))) {
            Some(rest) => left = rest,
            None => break,
        }
        by_tokens = before;
    }
    layout.snap_back(by_turns.min(by_tokens))
}
