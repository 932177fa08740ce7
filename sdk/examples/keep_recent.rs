//! The smallest useful strategy, as a component:
//! `cargo build -p contextengine-sdk --example keep_recent --target wasm32-unknown-unknown --profile component`.

use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Span, Urgency, View,
    config,
};
use serde::Deserialize;

/// Older entries make room, the recent ones stay.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeepRecent {
    /// Tokens of recent entries that stay.
    keep_recent: u32,
}

impl Default for KeepRecent {
    fn default() -> Self {
        Self { keep_recent: 20_000 }
    }
}

impl Plugin for KeepRecent {
    const ID: &'static str = "keep-recent";

    fn describe() -> Description {
        Description::new(Self::ID, env!("CARGO_PKG_VERSION"), "Older entries make room, the recent ones stay.")
            .config_schema(
                r#"{"type":"object","properties":{"keep_recent":{"type":"integer"}},"additionalProperties":false}"#,
            )
    }

    fn configure(json: &str) -> Result<Self, String> {
        config::parse(json)
    }
}

impl Compressor for KeepRecent {
    fn should_compress(&self, _view: &dyn View, _host: &Host, pressure: &Pressure) -> Decision {
        let figures = format!("{} tokens of {}", pressure.entries, pressure.budget);
        if pressure.entries > pressure.budget {
            Decision::compress(Urgency::Hard, figures)
        } else {
            Decision::wait(figures)
        }
    }

    fn compress(&self, view: &dyn View, _host: &Host, _request: &CompressRequest) -> Result<Outcome, Failure> {
        let mut plan = PlanBuilder::new(view);
        let cut = plan.layout().keep_at_least(self.keep_recent);
        let old = plan.layout().foldable(Span::new(0, cut));
        if old.is_empty() {
            return Ok(Outcome::Unchanged("everything is recent".to_owned()));
        }
        let text = format!("[{} older entries were taken out of this conversation.]", old.len());
        plan.fold(old, text)?;
        Ok(Outcome::Compressed(plan.build()))
    }
}

contextengine_sdk::export!(KeepRecent: Compressor);
