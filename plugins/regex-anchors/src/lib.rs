//! Compaction without a model.
//!
//! The part of a session that is older than what is kept is folded into one structured summary: the user's words and
//! rules verbatim, what was done and decided, what is open, and an index of exact names. Deterministic: the same input
//! gives the same bytes. A summary of an earlier compaction is read back and merged, so that summaries never pile up.
//!
//! It assumes that the session log keeps the originals (the host does), and promises that nothing the user said is
//! paraphrased, that names are never cut, and that the summary stays within its budget however long the session grows.

mod anchors;
mod calls;
mod config;
mod corrections;
mod deeds;
mod finish;
mod fit;
mod fold;
mod gather;
mod parse;
mod paths;
mod pattern;
mod secrets;
mod shape;
mod skim;
mod summary;
mod supersede;
mod text;
mod words;

use std::cell::OnceCell;

use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Urgency, View,
};

pub use config::{AnchorPattern, Budgets, Config};
use gather::Tools;

/// The strategy.
#[derive(Debug)]
pub struct RegexAnchors {
    config: Config,
    /// Compiled when first needed: `should_compress` never needs it.
    tools: OnceCell<Result<Tools, String>>,
}

contextengine_sdk::export!(RegexAnchors: Compressor);

impl Plugin for RegexAnchors {
    const ID: &'static str = "regex-anchors";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Folds older entries into a structured summary with an index of exact names, without a model.",
        )
        .config_schema(Config::schema())
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)?, tools: OnceCell::new() })
    }
}

impl Compressor for RegexAnchors {
    fn should_compress(&self, _: &dyn View, _: &Host, pressure: &Pressure) -> Decision {
        // What the provider counted includes system prompt and tools; the budget does not.
        let measured = pressure.measured.map_or(0, |measured| measured.saturating_sub(pressure.overhead));
        let used = pressure.entries.max(measured);
        let budget = pressure.budget;
        let figures = format!("the entries take {used} of {budget} tokens");
        if used > budget {
            return Decision::compress(Urgency::Hard, format!("{figures}: the next request does not fit"));
        }
        let soft = f64::from(budget) * self.config.soft_at;
        if f64::from(used) > soft {
            let share = self.config.soft_at * 100.0;
            return Decision::compress(Urgency::Soft, format!("{figures}, more than {share:.0} %"));
        }
        Decision::wait(figures)
    }

    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure> {
        let tools = self.tools.get_or_init(|| Tools::new(&self.config));
        let tools = tools.as_ref().map_err(|error| Failure::failed(format!("a pattern does not compile: {error}")))?;
        fold::compress(view, host, request, &self.config, tools)
    }
}
