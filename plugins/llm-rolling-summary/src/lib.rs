//! Compaction with a model.
//!
//! The part of a session that is older than what is kept is handed to a model as a transcript, and the model's text
//! stands for it from then on. The next time the model updates that text with what is new. What must not depend on a
//! model's attention is kept by rules: the user's constraints word for word, the files that were touched, failed
//! tools, exact names.
//!
//! It assumes that the operator granted a model and that the session log keeps the originals (the host does). It
//! promises that nothing becomes a summary but a complete answer in the asked form; that what was shortened or set
//! aside on the way to the model is said in the summary; and that no plan is proposed that does not shrink the context.

mod assemble;
mod audit;
mod carried;
mod chunks;
mod compress;
mod config;
mod constraints;
mod corrections;
mod escape;
mod model;
mod names;
mod presets;
mod prompt;
mod record;
mod sections;
mod select;
mod source;
mod trigger;

use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Service, View,
};

pub use config::{Config, Data, FilesStyle, KeepOf, KeepRule, Section, Staging};
pub use presets::{PRESETS, preset};

/// The strategy.
#[derive(Debug)]
pub struct LlmRollingSummary {
    config: Config,
    /// What the model wrote last, for a correction that needs no model.
    last: compress::LastAnswer,
}

contextengine_sdk::export!(LlmRollingSummary: Compressor);

impl Plugin for LlmRollingSummary {
    const ID: &'static str = "llm-rolling-summary";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Folds older entries into a summary that a model writes and updates, with the exact parts kept by rules.",
        )
        .config_schema(Config::schema())
        .needs([Service::Model])
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)?, last: compress::LastAnswer::default() })
    }
}

impl Compressor for LlmRollingSummary {
    fn should_compress(&self, view: &dyn View, _: &Host, pressure: &Pressure) -> Decision {
        trigger::decide(&self.config, view.len(), pressure)
    }

    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure> {
        compress::compress(view, host, request, &self.config, &self.last)
    }
}
