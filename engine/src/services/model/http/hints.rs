//! When a provider wants to be asked again.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{self, HeaderMap};

/// Headers that say when a limit is reset, and those that say what is left of it.
///
/// OpenAI and servers that follow it write a span (`6m0s`), Anthropic a time; OpenRouter one time, in milliseconds.
const LIMITS: [(&str, &str); 7] = [
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
];

/// How long to wait, if the headers say. What is said of this answer counts before what is said of limits.
///
/// Times are taken by the clock of the server where it tells its own (`Date`).
pub(super) fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let now = text(header::DATE.as_str()).and_then(date).unwrap_or(now);
    let milliseconds = text("retry-after-ms").and_then(|value| value.parse().ok());
    if let Some(seconds) = milliseconds.and_then(|value: f64| span_of(value / 1_000.0)) {
        return Some(seconds);
    }
    if let Some(value) = text(header::RETRY_AFTER.as_str()) {
        let wait = value.parse().ok().and_then(span_of).or_else(|| date(value).map(|then| until(then, now)));
        if wait.is_some() {
            return wait;
        }
    }
    let resets = LIMITS.iter().filter_map(|(reset, left)| {
        let wait = text(reset).and_then(|value| moment(value, now))?;
        Some((wait, text(left).and_then(|left| left.parse::<f64>().ok())))
    });
    let resets: Vec<(Duration, Option<f64>)> = resets.collect();
    // A limit that is used up is the one that stopped the request.
    let spent = resets.iter().filter(|(_, left)| left.is_some_and(|left| left <= 0.0)).map(|(wait, _)| *wait).max();
    spent.or_else(|| resets.iter().filter(|(_, left)| left.is_none()).map(|(wait, _)| *wait).max())
}

/// A span such as `1s`, `6m0s`, `20ms`, or a number of seconds; or a time.
fn moment(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(number) = value.parse::<f64>() {
        // Small numbers are spans in seconds; large ones are times since 1970, in seconds or milliseconds.
        return match number {
            n if n < 1e9 => span_of(n),
            n if n < 1e11 => Timestamp::from_second(n as i64).ok().map(|then| until(then, now)),
            n => Timestamp::from_millisecond(n as i64).ok().map(|then| until(then, now)),
        };
    }
    span(value).or_else(|| value.parse::<Timestamp>().ok().or_else(|| date(value)).map(|then| until(then, now)))
}

/// A span as Go writes it: numbers, each with its unit.
fn span(value: &str) -> Option<Duration> {
    let mut rest = value;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = &rest[digits..];
        let (scale, letters) = match unit {
            _ if unit.starts_with("ms") => (0.001, 2),
            _ if unit.starts_with('h') => (3600.0, 1),
            _ if unit.starts_with('m') => (60.0, 1),
            _ if unit.starts_with('s') => (1.0, 1),
            _ if unit.starts_with("us") => (0.000_001, 2),
            _ if unit.starts_with("ns") => (0.000_000_001, 2),
            _ => return None,
        };
        seconds += number * scale;
        rest = &unit[letters..];
    }
    span_of(seconds)
}

/// Seconds that can be waited.
fn span_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// A date as HTTP writes it.
fn date(value: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(value).ok().map(|zoned| zoned.timestamp())
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}
