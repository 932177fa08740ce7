//! What a decision costs: the provider's prompt cache holds a prefix, and everything after the first change has to be
//! written to it anew.
//!
//! All sums are in prices of one uncached input token, as `pressure.cache` gives them.

use contextengine_sdk::{EntryInfo, EntryKind, Pressure};

use crate::config::{CacheMode, Config};

/// What would be lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cache {
    /// Nothing that is known of.
    Cold(&'static str),
    /// The provider holds so many tokens of the prefix; prices of reading and of writing one.
    Warm { tokens: u64, read: f64, write: f64 },
    /// The provider holds something, and no price is known or none would be right.
    Closed(&'static str),
}

impl Cache {
    pub(crate) fn of(pressure: &Pressure, entries: &[EntryInfo], config: &Config) -> Self {
        if config.cache == CacheMode::Ignore {
            return Self::Cold("the cache is not looked at");
        }
        let now = pressure.now;
        let Some(cache) = pressure.cache else {
            return match (config.cache, is_stale(entries, now, config)) {
                (CacheMode::Expired, Some(false)) => Self::Closed("the last answer is too recent"),
                (CacheMode::Expired, None) => Self::Closed("nothing tells when the last request was"),
                (_, Some(true)) => Self::Cold("the last answer is older than a cache lasts"),
                _ => Self::Cold("no cache is known of"),
            };
        };
        if cache.cached_tokens == 0 {
            return Self::Cold("the cache is empty");
        }
        let expired = cache.expires_at.map_or(is_stale(entries, now, config) == Some(true), |end| now >= end);
        if expired {
            return Self::Cold("the cache has expired");
        }
        if config.cache == CacheMode::Expired {
            return Self::Closed("the cache has not expired");
        }
        // Prices come as 32-bit floats; to six digits they are what the embedder wrote.
        let price = |price: f32| (f64::from(price) * 1e6).round() / 1e6;
        let (read, write) = (price(cache.read_price), price(cache.write_price));
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        if !is_price(read) || !is_price(write) {
            return Self::Closed("the prices of the cache are no numbers");
        }
        Self::Warm { tokens: cache.cached_tokens.into(), read, write }
    }
}

/// Whether the model's last answer is older than a cache lasts; `None` where the session has no times.
fn is_stale(entries: &[EntryInfo], now: f64, config: &Config) -> Option<bool> {
    let answered =
        entries.iter().rev().filter(|entry| entry.kind == EntryKind::Assistant).find_map(|entry| entry.at)?;
    Some(now - answered >= f64::from(config.cache_ttl_seconds) * 1_000.0)
}

/// One change in the order of the request: what stands before it, and what it takes out, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) before: u64,
    pub(crate) gain: u64,
}

/// What to do with a row of changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Make those from this index on; and why that is worth it.
    Act { from: usize, why: String },
    /// Make none; and why not.
    Wait(String),
}

/// Whether the changes are worth it. A change late in the request costs little of the cache, so that those from some
/// place on may pay where all of them would not.
pub(crate) fn judge(steps: &[Step], least: u64, cache: Cache, requests: u32) -> Verdict {
    let total: u64 = steps.iter().map(|step| step.gain).sum();
    if total < least || total == 0 {
        return Verdict::Wait(format!("{total} tokens could go, and a decision takes out at least {least}"));
    }
    let (tokens, read, write) = match cache {
        Cache::Cold(why) => return Verdict::Act { from: 0, why: why.to_owned() },
        Cache::Closed(why) => return Verdict::Wait(format!("{total} tokens could go, and {why}")),
        Cache::Warm { tokens, read, write } => (tokens, read, write),
    };
    // Written anew instead of read: what the cache holds after the first change. Not sent at all: the gain, once at
    // the price of writing and then at the price of reading in every request that follows.
    let cost = |step: &Step| (write - read).max(0.0) * tokens.saturating_sub(step.before) as f64;
    let worth = |gain: u64| gain as f64 * (write + read * f64::from(requests));
    let mut best: Option<(usize, u64, f64)> = None;
    let mut gain = 0;
    for (index, step) in steps.iter().enumerate().rev() {
        gain += step.gain;
        let surplus = worth(gain) - cost(step);
        if gain >= least && best.is_none_or(|(_, _, most)| surplus >= most) {
            best = Some((index, gain, surplus));
        }
    }
    let Some((from, gain, surplus)) = best else {
        return Verdict::Wait(format!("{total} tokens could go, and a decision takes out at least {least}"));
    };
    let rewritten = tokens.saturating_sub(steps[from].before);
    let (cost, worth) = (cost(&steps[from]), worth(gain));
    let figures = format!(
        "{rewritten} cached tokens written anew at {write} instead of read at {read} cost {cost:.0}, and {gain} tokens \
         fewer are worth {worth:.0} over {requests} requests"
    );
    if surplus >= 0.0 { Verdict::Act { from, why: figures } } else { Verdict::Wait(figures) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests")]
    use super::*;

    const ANTHROPIC: (f64, f64) = (0.1, 1.25);

    fn warm(tokens: u64) -> Cache {
        Cache::Warm { tokens, read: ANTHROPIC.0, write: ANTHROPIC.1 }
    }

    fn from(verdict: &Verdict) -> Option<usize> {
        match verdict {
            Verdict::Act { from, .. } => Some(*from),
            Verdict::Wait(_) => None,
        }
    }

    #[test]
    fn a_warm_prefix_is_rewritten_only_for_a_gain_that_pays_for_it() {
        // 100,000 tokens written anew cost 115,000; each token that goes is worth 1.25 + 10 × 0.1.
        let judged = |gain: u64| judge(&[Step { before: 0, gain }], 0, warm(100_000), 10);
        assert_eq!(from(&judged(51_000)), None);
        assert_eq!(from(&judged(51_200)), Some(0));
        let Verdict::Wait(words) = judged(20_000) else { panic!() };
        assert_eq!(
            words,
            "100000 cached tokens written anew at 1.25 instead of read at 0.1 cost 115000, and 20000 tokens fewer are \
             worth 45000 over 10 requests"
        );
    }

    #[test]
    fn what_lies_behind_the_cached_prefix_costs_nothing() {
        assert_eq!(from(&judge(&[Step { before: 100_000, gain: 1 }], 1, warm(100_000), 0)), Some(0));
    }

    #[test]
    fn early_changes_are_left_where_only_the_late_ones_pay() {
        let steps = [Step { before: 1_000, gain: 100 }, Step { before: 95_000, gain: 9_000 }];
        assert_eq!(from(&judge(&steps, 5_000, warm(100_000), 10)), Some(1));
        assert_eq!(from(&judge(&steps, 9_050, warm(100_000), 10)), None, "the least gain would need both");
        assert_eq!(from(&judge(&steps, 9_050, Cache::Cold("expired"), 10)), Some(0));
    }

    #[test]
    fn no_gain_is_never_worth_a_step() {
        assert_eq!(from(&judge(&[], 0, Cache::Cold(""), 10)), None);
        assert_eq!(from(&judge(&[Step { before: 0, gain: 0 }], 0, Cache::Cold(""), 10)), None);
    }
}
