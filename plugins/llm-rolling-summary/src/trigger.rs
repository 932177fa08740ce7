//! When to compact, from figures alone.

use contextengine_sdk::{Decision, Pressure, Urgency};

use crate::config::Config;

/// A reserve is at most one part of so many of the window.
const RESERVE_PART: u32 = 4;

/// Hard where the next request does not fit; soft where a configured threshold is passed.
pub(crate) fn decide(config: &Config, entries: u32, pressure: &Pressure) -> Decision {
    // What the provider counted includes system prompt and tools; the entries do not.
    let estimated = pressure.entries.saturating_add(pressure.overhead);
    let used = estimated.max(pressure.measured.unwrap_or(0));
    let fits = pressure.budget.saturating_add(pressure.overhead);
    let window = pressure.window;
    let figures = format!("the request takes {used} of {window} tokens, in {entries} entries");
    if used > fits {
        let urgent = format!("{figures}: more than the {fits} that leave room for the reply");
        return Decision::compress(Urgency::Hard, urgent);
    }
    match passed(config, entries, used, window) {
        Some(why) => Decision::compress(Urgency::Soft, format!("{figures}: {why}")),
        None => Decision::wait(figures),
    }
}

/// The threshold that was passed, in words.
fn passed(config: &Config, entries: u32, used: u32, window: u32) -> Option<String> {
    // A window of 0 is one that nobody knows.
    let known = window > 0;
    // A reserve as large as the window would ask for a compaction before each request. The host caps its own so, too.
    let reserve = config.reserve_tokens.map(|reserve| reserve.min(window / RESERVE_PART));
    if let Some(reserve) = reserve.filter(|&reserve| known && used > window.saturating_sub(reserve)) {
        return Some(format!("less than `reserve_tokens` = {reserve} is left"));
    }
    let share = |percent: &f64| known && f64::from(used) >= f64::from(window) * percent / 100.0;
    if let Some(percent) = config.at_percent.filter(share) {
        return Some(format!("`at_percent` = {percent} is reached"));
    }
    let most = config.max_entries.filter(|&most| entries > most)?;
    Some(format!("more than `max_entries` = {most}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use contextengine_sdk::memory::{MemoryView, pressure};
    use contextengine_sdk::{Urgency, Verdict};

    use super::*;

    fn verdict(config: &str, used: u32, measured: Option<u32>, entries: u32) -> Verdict {
        let mut pressure = pressure(&MemoryView::new(), 100_000);
        pressure.reserve = 10_000;
        pressure.overhead = 5_000;
        pressure.budget = 85_000;
        pressure.entries = used;
        pressure.measured = measured;
        decide(&Config::from_json(config).unwrap(), entries, &pressure).verdict
    }

    #[test]
    fn what_does_not_fit_is_hard_whatever_is_configured() {
        let none = r#"{"reserve_tokens": null}"#;
        assert_eq!(verdict(none, 85_000, None, 1), Verdict::Wait);
        assert_eq!(verdict(none, 85_001, None, 1), Verdict::Compress(Urgency::Hard));
        assert_eq!(verdict(none, 10, Some(90_001), 1), Verdict::Compress(Urgency::Hard));
    }

    #[test]
    fn each_form_of_threshold_is_soft() {
        let reserve = r#"{"reserve_tokens": 20000}"#;
        assert_eq!(verdict(reserve, 75_000, None, 1), Verdict::Wait, "exactly at the reserve is not over it");
        assert_eq!(verdict(reserve, 75_001, None, 1), Verdict::Compress(Urgency::Soft));
        assert_eq!(verdict(r#"{"reserve_tokens": 99000}"#, 70_000, None, 1), Verdict::Wait, "at most a quarter");
        assert_eq!(verdict(r#"{"reserve_tokens": 99000}"#, 70_001, None, 1), Verdict::Compress(Urgency::Soft));
        let percent = r#"{"reserve_tokens": null, "at_percent": 50}"#;
        assert_eq!(verdict(percent, 44_999, None, 1), Verdict::Wait);
        assert_eq!(verdict(percent, 45_000, None, 1), Verdict::Compress(Urgency::Soft));
        let events = r#"{"reserve_tokens": null, "max_entries": 240}"#;
        assert_eq!(verdict(events, 1, None, 240), Verdict::Wait);
        assert_eq!(verdict(events, 1, None, 241), Verdict::Compress(Urgency::Soft));
    }
}
