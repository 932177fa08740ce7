//! Which entries stand or fall together.
//!
//! A group is an assistant entry, all its calls and all their results. A result belongs to the *latest* call before it
//! that has its id: ids repeat over turns, results can be displaced by other entries and can come twice. A group
//! need not be contiguous, and a result that no call explains is a group of its own.
//!
//! Where an assistant's reasoning is signed, the signatures are only valid together within their tool loop (everything
//! from one request of the user to the next), so the loop is one group; unless it is longer than `loop_limit`
//! tokens, when it could never be kept whole and falls apart into the groups of its calls.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::transcript::{Block, Entry, EntryKind};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Group of each entry, numbered by first member.
    pub(super) group: Vec<u32>,
    /// Entries of groups that await a result.
    pub(super) in_flight: Vec<bool>,
    /// Name of the tool of each entry: of a result its own, of an assistant entry its only call's.
    pub(super) tool: Vec<Option<Arc<str>>>,
}

/// Groups the entries; `tokens` holds the tokens of each.
pub(super) fn group(entries: &[Arc<Entry>], tokens: &[u32], loop_limit: Option<u32>) -> Groups {
    let mut leaders = pair(entries);
    join_signed_loops(entries, tokens, loop_limit, &mut leaders);
    for at in 0..leaders.len() {
        // Ascending, so the leader's own leader is already the last of its chain.
        leaders[at] = leaders[leaders[at]];
    }
    let awaiting = awaiting(entries, &leaders);
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let group = leaders
        .iter()
        .map(|&leader| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(leader).or_insert(next)
        })
        .collect();
    let in_flight = leaders.iter().map(|&leader| Some(leader) == awaiting).collect();
    Groups { group, in_flight, tool: tools(entries) }
}

/// For each entry the index of the first entry of its group.
fn pair(entries: &[Arc<Entry>]) -> Vec<usize> {
    let mut latest_call: HashMap<&str, usize> = HashMap::new();
    let mut leaders: Vec<usize> = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        for call in entry.tool_calls() {
            latest_call.insert(&call.id, at);
        }
        let leader = entry
            .tool_result()
            .filter(|_| entry.kind == EntryKind::ToolResult)
            .and_then(|result| latest_call.get(result.call_id.as_str()).copied());
        leaders.push(leader.unwrap_or(at));
    }
    leaders
}

/// The leader of the group whose calls have not all been answered yet: only the last assistant entry can be waiting,
/// as a model that spoke again has given its earlier calls up.
fn awaiting(entries: &[Arc<Entry>], leaders: &[usize]) -> Option<usize> {
    let last = entries.iter().rposition(|entry| entry.kind == EntryKind::Assistant)?;
    let answered =
        |id: &str| entries[last..].iter().filter_map(|entry| entry.tool_result()).any(|result| result.call_id == id);
    entries[last].tool_calls().any(|call| !answered(&call.id)).then_some(leaders[last])
}

fn join_signed_loops(entries: &[Arc<Entry>], tokens: &[u32], limit: Option<u32>, leaders: &mut [usize]) {
    let mut start = 0;
    while start < entries.len() {
        let length = entries[start + 1..].iter().take_while(|entry| entry.kind != EntryKind::User).count();
        let end = start + 1 + length;
        join_signed_loop(entries, tokens, limit, leaders, start..end);
        start = end;
    }
}

/// Joins the loop within one turn: the groups of everything from the first signed reasoning on.
fn join_signed_loop(
    entries: &[Arc<Entry>],
    tokens: &[u32],
    limit: Option<u32>,
    leaders: &mut [usize],
    turn: Range<usize>,
) {
    let in_loop = |at: &usize| matches!(entries[*at].kind, EntryKind::Assistant | EntryKind::ToolResult);
    let Some(first) = turn.clone().find(|&at| has_signed_reasoning(&entries[at])) else {
        return;
    };
    let members: Vec<usize> = (first..turn.end).filter(in_loop).collect();
    let size = members.iter().fold(0u32, |sum, &at| sum.saturating_add(tokens[at]));
    if members.len() < 2 || limit.is_some_and(|limit| size > limit) {
        return;
    }
    // A leader leads itself until it joins another; `group` then follows the chain.
    let joined: BTreeSet<usize> = members.iter().map(|&at| resolved(leaders, at)).collect();
    if let Some(&target) = joined.first() {
        for leader in joined {
            leaders[leader] = target;
        }
    }
}

/// The leader of an entry's group. Leaders stand before their members, so the chain ends.
fn resolved(leaders: &[usize], mut at: usize) -> usize {
    while leaders[at] != at {
        at = leaders[at];
    }
    at
}

fn has_signed_reasoning(entry: &Entry) -> bool {
    entry.blocks.iter().any(|block| matches!(block, Block::Reasoning(reasoning) if reasoning.signed))
}

fn tools(entries: &[Arc<Entry>]) -> Vec<Option<Arc<str>>> {
    let mut names: HashMap<&str, Arc<str>> = HashMap::new();
    let mut of_call: HashMap<&str, &str> = HashMap::new();
    let mut tools = Vec::with_capacity(entries.len());
    for entry in entries {
        of_call.extend(entry.tool_calls().map(|call| (call.id.as_str(), call.name.as_str())));
        let name = match entry.kind {
            EntryKind::ToolResult => entry.tool_result().and_then(|result| match result.name.as_str() {
                "" => of_call.get(result.call_id.as_str()).copied(),
                name => Some(name),
            }),
            _ => {
                let mut calls = entry.tool_calls();
                calls.next().filter(|_| calls.next().is_none()).map(|call| call.name.as_str())
            }
        };
        tools.push(name.map(|name| Arc::clone(names.entry(name).or_insert_with(|| Arc::from(name)))));
    }
    tools
}
