//! Which results go: what went before, and what is worth going now.

use std::sync::Arc;

use contextengine_sdk::{Level, Position, Pressure, View};

use crate::config::{Config, capped, part};
use crate::economy::{self, Cache, Step, Verdict};
use crate::facts::{Facts, Guess};
use crate::ledger::{self, Ledger, Memory, Rule};
use crate::names::Names;
use crate::words::Action;

/// What becomes of the results, and what the operator may want to know of it.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) actions: Vec<Action>,
    pub(crate) words: Option<(Level, String)>,
}

/// A result as it would go out without a new decision.
#[derive(Debug)]
struct Standing {
    at: Position,
    /// Asked of the host only where something was pruned before.
    id: Option<Arc<str>>,
    /// The rule under which it was pruned.
    rule: Option<u16>,
    /// That was decided now.
    is_new: bool,
    /// Tokens of it.
    tokens: u32,
}

/// A result that could go out smaller.
#[derive(Debug, Clone, Copy)]
struct Change {
    /// Index of the result.
    result: usize,
    rule: u16,
    /// Tokens afterwards.
    tokens: u32,
    /// Tokens fewer than before this change.
    gain: u64,
}

/// What was pruned before, and nothing new.
pub(crate) fn sticky(view: &dyn View, facts: &Facts, names: &Names, ledger: &Ledger) -> Vec<Action> {
    actions(view, facts, names, standings(view, facts, names, ledger))
}

/// What was pruned before, and what is worth pruning now. New decisions go into the ledger.
pub(crate) fn decide(
    view: &dyn View,
    facts: &mut Facts,
    names: &Names,
    config: &Config,
    ledger: &mut Ledger,
    pressure: &Pressure,
) -> Decision {
    if ledger.memory() == Memory::None {
        facts.assume_density();
    }
    let mut standings = standings(view, facts, names, ledger);
    let before = sent(facts, &standings, pressure);
    let offers = Offers::of(facts, config, ledger, &standings, before, pressure.window);
    let least = capped(config.min_gain_tokens, config.min_gain_share, pressure.window);
    let (chosen, words) = if ledger.memory() == Memory::None {
        (offers.in_steps_of(least), None)
    } else {
        let room = u64::from(pressure.budget) + u64::from(pressure.overhead);
        let forced = config.force_over_budget && pressure.window != u32::MAX && before > room;
        offers.worth_it(facts, &standings, config, pressure, least, forced)
    };
    let gain: u64 = chosen.iter().map(|change| change.gain).sum();
    for change in &chosen {
        let result = &mut standings[change.result];
        result.rule = Some(change.rule);
        result.is_new = ledger.memory() == Memory::Kept;
    }
    let words = words.map(|why| message(&chosen, gain, ledger, &why));
    remember(view, facts, names, ledger, &mut standings, &chosen);
    Decision { actions: actions(view, facts, names, standings), words }
}

fn standings(view: &dyn View, facts: &Facts, names: &Names, ledger: &Ledger) -> Vec<Standing> {
    let standing = |&at: &Position| {
        let entry = facts.entry(at);
        let id = (!ledger.is_empty()).then(|| names.of(view, facts, at));
        let rule = id.as_ref().and_then(|id| ledger.find(ledger::key(id, facts.tool(at), entry.bytes)));
        let left = rule.and_then(|rule| ledger.rule(rule)).map(|rule| facts.tokens_under(rule, at, Guess::Low));
        Standing { at, id, rule, is_new: false, tokens: left.map_or(entry.tokens, |left| left.min(entry.tokens)) }
    };
    facts.prunable.iter().map(standing).collect()
}

/// Tokens of the request as it would go out.
fn sent(facts: &Facts, standings: &[Standing], pressure: &Pressure) -> u64 {
    let whole: u64 = facts.entries.iter().map(|entry| u64::from(entry.tokens)).sum();
    let fewer: u64 = standings.iter().map(|result| u64::from(facts.entry(result.at).tokens - result.tokens)).sum();
    u64::from(pressure.overhead) + whole - fewer
}

fn actions(view: &dyn View, facts: &Facts, names: &Names, standings: Vec<Standing>) -> Vec<Action> {
    let pruned = |result: Standing| {
        let rule = result.rule?;
        let id = result.id.unwrap_or_else(|| names.of(view, facts, result.at));
        Some(Action { at: result.at, rule, id, is_new: result.is_new })
    };
    standings.into_iter().filter_map(pruned).collect()
}

fn remember(
    view: &dyn View,
    facts: &Facts,
    names: &Names,
    ledger: &mut Ledger,
    standings: &mut [Standing],
    chosen: &[Change],
) {
    if chosen.is_empty() || ledger.memory() == Memory::None {
        return;
    }
    let key = |at: Position, id: &str| ledger::key(id, facts.tool(at), facts.entry(at).bytes);
    let mut new = Vec::with_capacity(chosen.len());
    for change in chosen {
        let result = &mut standings[change.result];
        let id = result.id.get_or_insert_with(|| names.of(view, facts, result.at));
        new.push((key(result.at, id), change.rule));
    }
    let seen = || standings.iter().filter_map(|result| result.id.as_ref().map(|id| key(result.at, id))).collect();
    ledger.add(new, seen);
}

fn message(chosen: &[Change], gain: u64, ledger: &Ledger, why: &str) -> (Level, String) {
    if chosen.is_empty() {
        return (Level::Debug, format!("nothing new pruned: {why}"));
    }
    let cleared = |change: &&Change| matches!(ledger.rule(change.rule), Some(Rule::Clear { .. }));
    let cleared = chosen.iter().filter(cleared).count();
    let trimmed = chosen.len() - cleared;
    (Level::Info, format!("{trimmed} results trimmed and {cleared} cleared, about {gain} tokens fewer: {why}"))
}

/// What could be done.
#[derive(Debug, Default)]
struct Offers {
    /// In the order of the results.
    trims: Vec<Change>,
    /// On top of the trims, in the order of the results; the gain is what is gained beyond trimming.
    clears: Vec<Change>,
}

impl Offers {
    fn of(facts: &Facts, config: &Config, ledger: &mut Ledger, standings: &[Standing], sent: u64, window: u32) -> Self {
        let mut offers = Self::default();
        let old = &standings[..facts.old];
        if old.is_empty() || sent < u64::from(config.start_tokens) || sent < part(config.start_share, window) {
            return offers;
        }
        let mut tokens: Vec<u32> = old.iter().map(|result| result.tokens).collect();
        offers.trim(facts, config, ledger, old, &mut tokens);
        let trimmed = sent - offers.trims.iter().map(|change| change.gain).sum::<u64>();
        let bytes: u64 = old.iter().map(|result| u64::from(facts.entry(result.at).bytes)).sum();
        let wanted = trimmed > part(config.clear_start_share, window) && bytes >= u64::from(config.clear_min_bytes);
        if config.clear && wanted {
            let enough = part(config.clear_stop_share, window);
            offers.clear(facts, config, ledger, old, &tokens, trimmed, enough);
        }
        offers
    }

    fn trim(&mut self, facts: &Facts, config: &Config, ledger: &mut Ledger, old: &[Standing], tokens: &mut [u32]) {
        if !config.trim {
            return;
        }
        let (head, tail) = (config.trim_head_bytes, config.trim_tail_bytes);
        let rule = Rule::Trim { head, tail, text: config.trim_text.clone() };
        let Some(index) = ledger.index_of(&rule) else { return };
        for (result, standing) in old.iter().enumerate() {
            let entry = facts.entry(standing.at);
            if standing.rule.is_some() || entry.bytes <= config.trim_over_bytes {
                continue;
            }
            let left = facts.tokens_under(&rule, standing.at, Guess::High);
            if let Some(gain) = gain(standing.tokens, left) {
                tokens[result] = left;
                self.trims.push(Change { result, rule: index, tokens: left, gain });
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one step of `of`, in a function of its own to be read")]
    fn clear(
        &mut self,
        facts: &Facts,
        config: &Config,
        ledger: &mut Ledger,
        old: &[Standing],
        tokens: &[u32],
        mut sent: u64,
        enough: u64,
    ) {
        let rule = Rule::Clear { text: config.clear_text.clone() };
        let Some(index) = ledger.index_of(&rule) else { return };
        for (result, standing) in old.iter().enumerate() {
            if enough > 0 && sent <= enough {
                break;
            }
            let is_cleared = matches!(standing.rule.and_then(|rule| ledger.rule(rule)), Some(Rule::Clear { .. }));
            if is_cleared || facts.entry(standing.at).bytes <= config.clear_over_bytes {
                continue;
            }
            let left = facts.tokens_under(&rule, standing.at, Guess::High);
            if let Some(gain) = gain(tokens[result], left) {
                sent = sent.saturating_sub(gain);
                self.clears.push(Change { result, rule: index, tokens: left, gain });
            }
        }
    }

    /// One change a result, in the order of the results: clearing takes the place of trimming.
    fn together(self, standings: &[Standing]) -> Vec<Change> {
        let mut all: Vec<Change> = self.clears;
        all.extend(self.trims);
        // Clears were put first, and sorting keeps the order of equals.
        all.sort_by_key(|change| change.result);
        all.dedup_by_key(|change| change.result);
        for change in &mut all {
            let before = standings[change.result].tokens;
            change.gain = u64::from(before.saturating_sub(change.tokens));
        }
        all
    }

    /// Without memory: of each kind the oldest, in whole multiples of the least gain. So the row grows only when another
    /// such step is full, and what was pruned stays so, as long as the session only grows.
    fn in_steps_of(self, least: u64) -> Vec<Change> {
        let mut chosen = Self { trims: full_steps(self.trims, least), clears: full_steps(self.clears, least) };
        let mut all = std::mem::take(&mut chosen.clears);
        all.append(&mut chosen.trims);
        all.sort_by_key(|change| change.result);
        all.dedup_by_key(|change| change.result);
        all
    }

    /// With memory: all of it if it is worth it, or what comes late enough.
    fn worth_it(
        self,
        facts: &Facts,
        standings: &[Standing],
        config: &Config,
        pressure: &Pressure,
        least: u64,
        forced: bool,
    ) -> (Vec<Change>, Option<String>) {
        let mut changes = self.together(standings);
        if changes.is_empty() {
            return (changes, None);
        }
        if forced {
            return (changes, Some("the request does not fit its budget".to_owned()));
        }
        let steps = steps(facts, standings, &changes, pressure.overhead);
        let cache = Cache::of(pressure, &facts.entries, config);
        match economy::judge(&steps, least, cache, config.payback_requests) {
            Verdict::Act { from, why } => (changes.split_off(from), Some(why)),
            Verdict::Wait(why) => (Vec::new(), Some(why)),
        }
    }
}

fn gain(before: u32, after: u32) -> Option<u64> {
    before.checked_sub(after).filter(|&gain| gain > 0).map(u64::from)
}

/// The oldest changes that fill whole steps of `least` tokens.
fn full_steps(mut changes: Vec<Change>, least: u64) -> Vec<Change> {
    let total: u64 = changes.iter().map(|change| change.gain).sum();
    let Some(steps) = total.checked_div(least) else { return changes };
    let mut filled = 0;
    changes.retain(|change| {
        let has_room = filled < steps * least;
        filled += change.gain;
        has_room
    });
    changes
}

/// The changes as the cache sees them.
fn steps(facts: &Facts, standings: &[Standing], changes: &[Change], overhead: u32) -> Vec<Step> {
    let mut steps = Vec::with_capacity(changes.len());
    let mut results = standings.iter().peekable();
    let mut waiting = changes.iter().peekable();
    let mut before = u64::from(overhead);
    for (at, entry) in (0..).zip(&facts.entries) {
        if waiting.peek().is_none() {
            break;
        }
        if let Some(change) = waiting.next_if(|change| standings[change.result].at == at) {
            steps.push(Step { before, gain: change.gain });
        }
        let tokens = results.next_if(|result| result.at == at).map_or(entry.tokens, |result| result.tokens);
        before += u64::from(tokens);
    }
    steps
}
