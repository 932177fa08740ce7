//! Every well-formed session of up to a given length.
//!
//! A session is made of words of the user, words of the model, calls of the model (one to three at once) and their
//! results in any order. Nothing else stands between a call and its results; at the end of a session results may be
//! missing: the calls are in flight.

use contextengine::transcript::{Block, Entry, EntryKind, ToolCall, ToolResult};

/// A session as letters: `u` words of the user, `a` words of the model, `1` to `3` that many calls at once, `x`, `y`,
/// `z` the result of the first, second and third call.
pub type Layout = Vec<char>;

/// All well-formed layouts of at most `longest` entries, the empty one included.
pub fn all(longest: usize) -> Vec<Layout> {
    let mut found = vec![Vec::new()];
    grow(&mut Vec::new(), &[], longest, &mut found);
    found
}

/// Adds every entry that may come next; `pending` are the results that are still missing.
fn grow(layout: &mut Layout, pending: &[char], longest: usize, found: &mut Vec<Layout>) {
    if layout.len() == longest {
        return;
    }
    let mut follow = |next: char, pending: &[char]| {
        layout.push(next);
        found.push(layout.clone());
        grow(layout, pending, longest, found);
        layout.pop();
    };
    if pending.is_empty() {
        follow('u', &[]);
        follow('a', &[]);
        follow('1', &['x']);
        follow('2', &['x', 'y']);
        follow('3', &['x', 'y', 'z']);
    } else {
        for (index, &result) in pending.iter().enumerate() {
            let mut rest = pending.to_vec();
            rest.remove(index);
            follow(result, &rest);
        }
    }
}

/// The entries of a layout. Ids of calls repeat in every group, as some providers repeat them.
pub fn entries(layout: &[char]) -> Vec<Entry> {
    layout.iter().enumerate().map(|(at, &letter)| entry(at, letter)).collect()
}

fn entry(at: usize, letter: char) -> Entry {
    let words = format!("words of entry {at}, long enough that a summary of it is shorter than it");
    match letter {
        'u' => Entry::text(format!("e{at}"), EntryKind::User, words),
        'a' => Entry::text(format!("e{at}"), EntryKind::Assistant, words),
        '1'..='3' => {
            let calls = "xyz".chars().take(usize::try_from(letter.to_digit(10).unwrap_or(0)).unwrap_or(0));
            let call = |id: char| ToolCall { id: id.into(), name: "read".into(), arguments: words.clone() };
            Entry::new(format!("e{at}"), EntryKind::Assistant, calls.map(call).map(Block::ToolCall).collect())
        }
        result => {
            let result = ToolResult { call_id: result.into(), name: "read".into(), text: words, failed: false };
            Entry::new(format!("e{at}"), EntryKind::ToolResult, vec![Block::ToolResult(result)])
        }
    }
}

/// The group of each entry, read off the letters alone: results belong to the calls before them.
pub fn groups(layout: &[char]) -> Vec<u32> {
    let mut group = 0;
    let mut groups = Vec::with_capacity(layout.len());
    for (at, &letter) in layout.iter().enumerate() {
        if at > 0 && !matches!(letter, 'x' | 'y' | 'z') {
            group += 1;
        }
        groups.push(group);
    }
    groups
}

/// Whether the last group still misses a result.
pub fn is_in_flight(layout: &[char]) -> bool {
    let Some(calls) = layout.iter().rposition(char::is_ascii_digit) else { return false };
    let expected = layout[calls].to_digit(10).unwrap_or(0);
    let after = &layout[calls + 1..];
    let results = after.iter().take_while(|letter| matches!(letter, 'x' | 'y' | 'z')).count();
    results == after.len() && u32::try_from(results).unwrap_or(0) < expected
}
