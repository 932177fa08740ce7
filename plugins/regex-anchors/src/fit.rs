//! Chooses what of a summary is shown when not all of it fits.
//!
//! Every section has a budget of its own; where their sum is more than the whole may take, the sections give way in a
//! fixed order: names and commands first, then the user's words, and last of all the names without which the host takes
//! no summary. Within a section the newest goes first (or what the focus asks for), and what is chosen is shown in its
//! old order. Tokens are the host's, counted once for each item.

use contextengine_sdk::Host;

use crate::anchors::ALSO;
use crate::config::Budgets;
use crate::summary::{Counted, NameList, OpenKind, Status, Summary, clean_block};
use crate::text::{floor, head_and_tail, mentions};
use crate::words::Words;

/// A part of the summary that has a budget. The order is that in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Anchors,
    Commands,
    Read,
    Errors,
    Decisions,
    State,
    Earlier,
    Open,
    Replaced,
    Modified,
    Notes,
    Focus,
    Messages,
    Constraints,
    Goal,
    /// Names that the host asked for: without them there is no summary at all.
    Demanded,
}

const PARTS: [Part; 16] = [
    Part::Anchors,
    Part::Commands,
    Part::Read,
    Part::Errors,
    Part::Decisions,
    Part::State,
    Part::Earlier,
    Part::Open,
    Part::Replaced,
    Part::Modified,
    Part::Notes,
    Part::Focus,
    Part::Messages,
    Part::Constraints,
    Part::Goal,
    Part::Demanded,
];

/// What an item costs beside its text: the mark, the line end.
const PER_ITEM: u32 = 2;

/// An item of a part, before it is chosen.
struct Item {
    /// What it is worth within its part; the greatest is chosen first.
    rank: (u8, u64),
    tokens: u32,
}

/// A summary whose items are counted and ranked.
pub(crate) struct Fitter {
    full: Summary,
    parts: Vec<Vec<Item>>,
    budgets: Vec<u32>,
}

impl std::fmt::Debug for Fitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fitter").field("budgets", &self.budgets).finish_non_exhaustive()
    }
}

impl Fitter {
    /// Counts and ranks. One call to the host.
    pub(crate) fn new(full: Summary, budgets: &Budgets, focus: &[String], words: &Words, host: &Host) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut ranks: Vec<Vec<(u8, u64)>> = Vec::new();
        let budgets: Vec<u32> = PARTS.iter().map(|part| budget(*part, budgets, !focus.is_empty())).collect();
        for part in PARTS {
            let items = part_items(&full, part, words);
            let order = order_of(part, &full, items.len());
            let ranked = items.iter().zip(order).map(|((text, weight), order)| {
                let focused = !focus.is_empty() && mentions(text, focus);
                (weight + u8::from(focused) * 8, order)
            });
            ranks.push(ranked.collect());
            texts.extend(items.into_iter().map(|(text, _)| text));
        }
        let mut counts = host.count_all(&texts).into_iter();
        let parts = ranks
            .into_iter()
            .map(|ranks| {
                let item = |rank| Item { rank, tokens: counts.next().unwrap_or(0).saturating_add(PER_ITEM) };
                ranks.into_iter().map(item).collect()
            })
            .collect();
        Self { full, parts, budgets }
    }

    /// The summary in at most about `whole` tokens.
    pub(crate) fn fit(&self, whole: u32, host: &Host) -> Summary {
        let mut wants = [0; PARTS.len()];
        for ((want, items), budget) in wants.iter_mut().zip(&self.parts).zip(&self.budgets) {
            let cost = items.iter().map(|item| item.tokens).fold(0, u32::saturating_add);
            *want = cost.min(*budget);
        }
        let grants = allocate(&wants, whole);
        let mut summary = Summary {
            entries: self.full.entries,
            rounds: self.full.rounds,
            messages_left_out: self.full.messages_left_out,
            focus: self.full.focus.clone(),
            ..Summary::default()
        };
        for ((part, items), grant) in PARTS.into_iter().zip(&self.parts).zip(grants) {
            let (chosen, left) = choose(items, grant);
            self.copy(part, &chosen, left, &mut summary, host);
        }
        summary
    }

    fn copy(&self, part: Part, chosen: &[bool], left: u32, into: &mut Summary, host: &Host) {
        let full = &self.full;
        match part {
            Part::Goal => {
                into.goal = pick(full.goal.as_slice(), chosen).pop();
                if let (None, Some(goal)) = (&into.goal, &full.goal) {
                    // Better its head and tail than nothing.
                    into.goal = shortened(goal, left, host);
                }
            }
            Part::Focus => into.focus_notes = pick(&full.focus_notes, chosen),
            Part::Constraints => into.constraints = pick(&full.constraints, chosen),
            Part::Replaced => into.replaced = pick(&full.replaced, chosen),
            Part::Messages => self.copy_messages(chosen, left, into, host),
            Part::Open => into.open = pick(&full.open, chosen),
            Part::State => {
                into.state = pick(&full.state, chosen);
                if let (true, Some(last)) = (into.state.is_empty(), full.state.last()) {
                    into.state.extend(shortened(last, left, host));
                }
            }
            Part::Decisions => into.decisions = pick(&full.decisions, chosen),
            Part::Modified => into.modified = pick(&full.modified, chosen),
            Part::Read => into.read = pick(&full.read, chosen),
            Part::Commands => into.commands = pick(&full.commands, chosen),
            Part::Errors => into.errors = pick(&full.errors, chosen),
            Part::Notes => into.notes = pick(&full.notes, chosen),
            Part::Earlier => {
                into.earlier = pick(&full.earlier, chosen);
                if let (true, Some(last)) = (into.earlier.is_empty(), full.earlier.last()) {
                    into.earlier.extend(shortened(last, left, host));
                }
            }
            Part::Anchors | Part::Demanded => into.anchors.extend(pick_names(&names_of(full, part), chosen)),
        }
    }

    /// The newest message that did not fit is cut to what is left.
    fn copy_messages(&self, chosen: &[bool], left: u32, into: &mut Summary, host: &Host) {
        let straddler = chosen.iter().rposition(|chosen| !chosen);
        for (at, message) in self.full.messages.iter().enumerate() {
            if chosen.get(at) == Some(&true) {
                into.messages.push(message.clone());
            } else if let Some(short) = (straddler == Some(at)).then(|| shortened(message, left, host)).flatten() {
                into.messages.push(short);
            }
        }
        into.messages_left_out += (self.full.messages.len() - into.messages.len()) as u64;
    }
}

fn budget(part: Part, budgets: &Budgets, focused: bool) -> u32 {
    // With a focus, what serves it gets more room, at the cost of what gives way first.
    let more = |budget: u32| {
        if focused { budget.saturating_add(budget / 2) } else { budget }
    };
    match part {
        Part::Anchors | Part::Demanded => budgets.anchors,
        Part::Commands => budgets.commands,
        Part::Read => budgets.files / 3,
        Part::Errors => budgets.errors,
        Part::Decisions => more(budgets.decisions),
        Part::State => budgets.state,
        Part::Earlier => budgets.earlier,
        Part::Open => budgets.open,
        Part::Replaced => budgets.replaced,
        Part::Modified => budgets.files - budgets.files / 3,
        Part::Notes => budgets.notes,
        Part::Focus => budgets.focus,
        Part::Messages => more(budgets.messages),
        Part::Constraints => more(budgets.constraints),
        Part::Goal => budgets.goal.saturating_add(budgets.goal / 4),
    }
}

/// The texts of a part with the weight of each; of equal weight the later one goes first.
fn part_items(full: &Summary, part: Part, words: &Words) -> Vec<(String, u8)> {
    let plain = |texts: &[String]| texts.iter().map(|text| (text.clone(), 0)).collect::<Vec<_>>();
    match part {
        Part::Goal => plain(full.goal.as_slice()),
        Part::Focus => plain(&full.focus_notes),
        Part::Constraints => plain(&full.constraints),
        Part::Replaced => full.replaced.iter().map(|it| (it.item(), 0)).collect(),
        Part::Messages => plain(&full.messages),
        Part::Open => full.open.iter().map(|open| (open.item(), u8::from(open.kind != OpenKind::Todo))).collect(),
        Part::State => plain(&full.state),
        Part::Decisions => full.decisions.iter().map(|text| (text.clone(), words.decision(text))).collect(),
        Part::Modified => full.modified.iter().map(|file| (file.item(), 0)).collect(),
        Part::Read => full.read.iter().map(|file| (file.item(), 0)).collect(),
        Part::Commands => full.commands.iter().map(|it| (it.item(), u8::from(it.status == Status::Failed))).collect(),
        Part::Errors => full.errors.iter().map(|error| (error.item(), u8::from(!error.resolved))).collect(),
        Part::Notes => plain(&full.notes),
        Part::Earlier => plain(&full.earlier),
        Part::Anchors | Part::Demanded => {
            let names = names_of(full, part).into_iter().flat_map(|list| list.names);
            names.map(|name| (name.item(), 0)).collect()
        }
    }
}

/// Places of the items within their weight: lists of names begin with the best, everything else ends with the newest.
fn order_of(part: Part, full: &Summary, len: usize) -> Vec<u64> {
    let len = len as u64;
    match part {
        Part::Modified | Part::Read => (0..len).rev().collect(),
        Part::Anchors | Part::Demanded => spread(&names_of(full, part)),
        _ => (0..len).collect(),
    }
}

/// The lists of names of a part: those that the host asked for, or the others.
fn names_of(full: &Summary, part: Part) -> Vec<NameList> {
    let demanded = part == Part::Demanded;
    full.anchors.iter().filter(|list| (list.kind == ALSO) == demanded).cloned().collect()
}

/// The names of every kind share one budget: the first of each kind, then the second of each, and so on.
fn spread(anchors: &[NameList]) -> Vec<u64> {
    let mut order = Vec::new();
    for (kind, list) in anchors.iter().enumerate() {
        for place in 0..list.names.len() {
            order.push(u64::MAX - ((place as u64) << 16) - kind as u64);
        }
    }
    order
}

/// Which items fit, the best first; and what is left.
fn choose(items: &[Item], budget: u32) -> (Vec<bool>, u32) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(items[at].rank));
    let mut chosen = vec![false; items.len()];
    let mut left = budget;
    for at in order {
        if let Some(rest) = left.checked_sub(items[at].tokens) {
            left = rest;
            chosen[at] = true;
        }
    }
    (chosen, left)
}

fn pick<T: Clone>(items: &[T], chosen: &[bool]) -> Vec<T> {
    items.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(item, _)| item.clone()).collect()
}

fn pick_names(lists: &[NameList], chosen: &[bool]) -> Vec<NameList> {
    let mut chosen = chosen.iter();
    let picked = lists.iter().map(|list| {
        let names: Vec<Counted> =
            list.names.iter().filter(|_| chosen.next().copied().unwrap_or(false)).cloned().collect();
        NameList { kind: list.kind.clone(), names }
    });
    picked.filter(|list| !list.names.is_empty()).collect()
}

/// Head and tail of a text in at most `tokens`; nothing if that is too little to say anything.
fn shortened(text: &str, tokens: u32, host: &Host) -> Option<String> {
    const LEAST: u32 = 60;
    const MARK: u32 = 20;
    if tokens < LEAST {
        return None;
    }
    let bytes = host.fit(text, tokens.saturating_sub(MARK)) as usize;
    if bytes >= text.len() {
        return Some(text.to_owned());
    }
    let bytes = floor(text, bytes).len();
    Some(clean_block(&head_and_tail(text, None, text.len(), bytes)))
}

/// Shares `whole` among the parts: each gets what it wants if that fits. Else they give way in steps: what is not the
/// user's down to a quarter, the messages down to a quarter, then in order down to nothing, rules and goal last.
fn allocate(wants: &[u32; PARTS.len()], whole: u32) -> [u32; PARTS.len()] {
    /// A part that wants no more than this gives all of it or nothing: a quarter would hold no item.
    const SMALL: u32 = 80;
    let users = |part: Part| matches!(part, Part::Messages | Part::Demanded | Part::Constraints | Part::Goal);
    let steps: [(&dyn Fn(Part) -> bool, bool); 4] = [
        (&|part| !users(part), false),
        (&|part| part == Part::Messages, false),
        (&|part| !users(part), true),
        (&users, true),
    ];
    let mut grants = *wants;
    let mut sum: u64 = grants.iter().map(|grant| u64::from(*grant)).sum();
    let whole = u64::from(whole);
    for (gives, all) in steps {
        for ((grant, want), part) in grants.iter_mut().zip(wants).zip(PARTS) {
            if sum <= whole {
                return grants;
            }
            if gives(part) {
                let least = if all { 0 } else { (want / 4).max((*want).min(SMALL)) };
                let give = u64::from(grant.saturating_sub(least)).min(sum - whole);
                *grant -= u32::try_from(give).unwrap_or(*grant);
                sum -= give;
            }
        }
    }
    grants
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(of: &[(Part, u32)]) -> [u32; PARTS.len()] {
        PARTS.map(|part| of.iter().find(|(other, _)| *other == part).map_or(0, |(_, want)| *want))
    }

    #[test]
    fn parts_give_way_in_order_and_never_exceed_the_whole() {
        let full = [(Part::Anchors, 2000), (Part::Open, 400), (Part::Messages, 4000), (Part::Constraints, 1000)];
        for (whole, left) in [
            (9000, [2000, 400, 4000, 1000]),
            (7000, [1600, 400, 4000, 1000]),
            (5000, [500, 100, 3400, 1000]),
            (2500, [400, 100, 1000, 1000]),
            (1500, [0, 0, 500, 1000]),
            (600, [0, 0, 0, 600]),
            (0, [0, 0, 0, 0]),
        ] {
            let parts = [Part::Anchors, Part::Open, Part::Messages, Part::Constraints];
            let expected: Vec<(Part, u32)> = parts.into_iter().zip(left).collect();
            assert_eq!(allocate(&wants(&full), whole), wants(&expected), "{whole}");
        }
    }

    #[test]
    fn a_small_part_is_not_cut_to_a_quarter_and_names_that_the_host_asked_for_go_last() {
        let full = [(Part::Goal, 100), (Part::Constraints, 100), (Part::Demanded, 40)];
        assert_eq!(allocate(&wants(&full), 60), wants(&[(Part::Goal, 20), (Part::Demanded, 40)]));
        let full = [(Part::Anchors, 2000), (Part::Open, 60), (Part::Goal, 20)];
        let left = [(Part::Anchors, 720), (Part::Open, 60), (Part::Goal, 20)];
        assert_eq!(allocate(&wants(&full), 800), wants(&left));
    }
}
