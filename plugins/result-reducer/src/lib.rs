//! Shortens a tool result before it enters the context.
//!
//! The owner of the slot `ingest`. It assumes that the host keeps the original and adds how to get it back, so it says
//! only what it left out. It promises that
//!
//! - what it answers is shorter than what it was asked, within the limits, and cut between characters;
//! - a result that it shortened once is left alone when it is asked again;
//! - its time grows with the length of the text and not faster, whatever the text.

mod blob;
mod config;
mod cut;
mod json;
mod limits;
mod notes;
mod repeat;
mod terminal;

use std::borrow::Cow;

use contextengine_sdk::{Description, Failure, Host, Plugin, ReduceRequest, Reducer, Reduction, budget, glob};

pub use config::{Config, JsonStep, Keep, PRESETS, Tier};
use cut::Shape;
use limits::Limits;

/// At most this many passes over one result. Each pass beyond the first saves a share of what is left.
const PASSES: usize = 40;

/// The strategy.
#[derive(Debug)]
pub struct ResultReducer {
    config: Config,
}

contextengine_sdk::export!(ResultReducer: Reducer);

impl Plugin for ResultReducer {
    const ID: &'static str = "result-reducer";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Shortens tool results: noise of terminals, repeated lines, long JSON, the middle of what is too long.",
        )
        .config_schema(Config::schema())
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)? })
    }
}

impl Reducer for ResultReducer {
    fn reduce(&self, host: &Host, request: &ReduceRequest) -> Result<Reduction, Failure> {
        let result = &request.tool_result;
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, &result.name));
        if !any(&self.config.tools) || any(&self.config.exempt_tools) {
            return Ok(Reduction::Keep);
        }
        let limits = Limits::of(&self.config, request.window);
        let own = without_hosts_line(&result.text);
        let mut tokens = if own.len() == result.text.len() { request.tokens } else { host.count(own) };
        let mut text = Cow::Borrowed(own);
        // What one pass leaves can give the next one something to do: lines that were apart stand together now. So the
        // passes go on until one changes nothing, and then another one would not, either.
        for _ in 0..PASSES {
            let pass = Pass { config: &self.config, host, limits, failed: result.failed };
            let Some(shorter) = pass.run(&text, tokens).filter(|shorter| shorter.len() < text.len()) else { break };
            tokens = host.count(&shorter);
            text = Cow::Owned(shorter);
        }
        Ok(match text {
            Cow::Borrowed(_) => Reduction::Keep,
            Cow::Owned(text) => Reduction::Replace(text),
        })
    }
}

/// One look at a text.
struct Pass<'a> {
    config: &'a Config,
    host: &'a Host,
    limits: Limits,
    failed: bool,
}

impl Pass<'_> {
    /// The text shortened; `None` where it is fine.
    fn run(&self, text: &str, tokens: u32) -> Option<String> {
        let over = self.limits.are_exceeded(text, tokens);
        if !over && tokens < self.config.clean_over_tokens {
            return None;
        }
        if self.config.json && json::may_be(text) {
            if let Some(shorter) = self.json(text, over) {
                return shorter;
            }
        }
        let cleaned = self.cleaned(text);
        if !over {
            return self.saves(text, &cleaned).then(|| cleaned.into_owned());
        }
        if self.fits(&cleaned) { Some(cleaned.into_owned()) } else { Some(self.cut(&cleaned)) }
    }

    /// A text that is JSON, still JSON. The outer `None`: it is none, or cannot be made to fit.
    fn json(&self, text: &str, over: bool) -> Option<Option<String>> {
        let blobs = if self.config.blobs { self.config.blob_over_bytes } else { u32::MAX };
        let whole = json::shorten(text, &JsonStep::WHOLE, blobs)?;
        if !over {
            return Some(self.saves(text, &whole).then_some(whole));
        }
        if self.fits(&whole) {
            return Some(Some(whole));
        }
        let steps = self.config.json_steps.iter().filter_map(|step| json::shorten(text, step, blobs));
        // Counting tokens is the dear part, and no step can fit that is too long by its bytes.
        let mut fitting = steps.filter(|shorter| self.limits.bytes_fit(shorter) && self.fits(shorter));
        fitting.next().map(Some)
    }

    /// The text without what says nothing.
    fn cleaned<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let config = self.config;
        let mut text = cut::bounded(text, config.scan_max_bytes as usize);
        if config.terminal {
            text = then(text, terminal::clean);
        }
        if config.blobs {
            text = then(text, |text| blob::replace(text, config.blob_over_bytes as usize));
        }
        if config.repeats {
            text = then(text, |text| repeat::collapse(text, config.repeat_from as usize));
        }
        text
    }

    fn saves(&self, before: &str, after: &str) -> bool {
        let most = before.len() as f64 * (1.0 - self.config.min_saving);
        after.len() < before.len() && after.len() as f64 <= most
    }

    fn fits(&self, text: &str) -> bool {
        self.limits.bytes_fit(text) && self.host.count(text) <= self.limits.tokens
    }

    /// Head, tail and what matters between them.
    fn cut(&self, text: &str) -> String {
        let shape = Shape::of(text, self.config, self.failed);
        let mut bytes = self.limits.bytes.min(text.len());
        let counted = self.host.count(text).max(1);
        if counted > self.limits.tokens {
            bytes = bytes.min(scaled(text.len(), self.limits.tokens, counted));
        }
        // The share of a text that stays can be denser than the whole; then it is cut a little shorter.
        for _ in 0..6 {
            let shorter = cut::cut(text, bytes, self.limits.lines, &shape);
            if self.limits.bytes_fit(&shorter) {
                let tokens = self.host.count(&shorter);
                if tokens <= self.limits.tokens {
                    return shorter;
                }
                bytes = scaled(bytes, self.limits.tokens, tokens);
            } else {
                bytes = bytes / 10 * 9;
            }
        }
        self.cut_anywhere(text, &shape)
    }

    /// For limits too small for whole lines.
    fn cut_anywhere(&self, text: &str, shape: &Shape) -> String {
        let text = cut::first_lines(text, self.limits.lines.saturating_sub(1).max(1));
        let text = budget::ends_bytes(text, self.limits.bytes, shape.head_percent());
        let fitting = self.host.fit(&text, self.limits.tokens) as usize;
        budget::head_bytes(&text, fitting).to_owned()
    }
}

/// The text before the line in which a host says that it was shortened: a result that comes by once more is judged as
/// it was then.
fn without_hosts_line(text: &str) -> &str {
    match text.rsplit_once('\n') {
        Some((own, last)) if last.starts_with("[Shortened from ") && last.ends_with(']') => own,
        _ => text,
    }
}

/// A share of some bytes, and a little less.
fn scaled(bytes: usize, wanted: u32, counted: u32) -> usize {
    let share = f64::from(wanted) / f64::from(counted.max(1));
    // Not negative and no more than `bytes`: what is wanted is less than what was counted.
    (bytes as f64 * share * 0.97) as usize
}

/// Applies a step that may have nothing to do.
fn then<'t>(text: Cow<'t, str>, step: impl FnOnce(&str) -> Option<String>) -> Cow<'t, str> {
    match step(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}
