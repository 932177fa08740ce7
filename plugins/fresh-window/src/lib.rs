//! Compaction without a summary: a new window.
//!
//! What must stay stays, with the request that is being worked on and what came after it. Everything else leaves the
//! window, and one short text says how much that was, what was asked, which files were touched and how to find it
//! again. No model is called and nothing is retold, so nothing can be retold wrongly.
//!
//! It assumes that the session's log keeps the originals (the host does). It promises that the text stays within its
//! budget over any number of rounds, and that the figures in it are sums over all of them.

mod config;
mod corrections;
mod cut;
mod folded;
mod text;

use contextengine_sdk::cut::Layout;
use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Urgency, View, rules,
};
use serde_json::json;

pub use config::{Config, PRESETS};
use corrections::Corrections;
use cut::Cut;
use folded::Folded;
use text::Beside;

/// The least room for the text that is asked for, in tokens, where the target leaves less: better a little over the
/// target than a window that does not say what is missing from it.
const LEAST_ROOM: u32 = 250;

/// Tokens that the host counts for an entry beside its text: the frame of a message in the provider's format. Some
/// four; what is too many here only makes the text a line shorter.
const ENTRY_FRAME: u32 = 8;

/// The strategy.
#[derive(Debug)]
pub struct FreshWindow {
    config: Config,
}

contextengine_sdk::export!(FreshWindow: Compressor);

impl Plugin for FreshWindow {
    const ID: &'static str = "fresh-window";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Opens a new window with what must stay, and says where the rest is; no summary, no model.",
        )
        .config_schema(Config::schema())
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)? })
    }
}

impl Compressor for FreshWindow {
    fn should_compress(&self, _: &dyn View, _: &Host, pressure: &Pressure) -> Decision {
        let estimated = pressure.overhead.saturating_add(pressure.entries);
        // No provider counts more than the window and answers: such a figure is not of a request.
        let measured = pressure.measured.filter(|&measured| measured <= pressure.window).unwrap_or(0);
        let used = estimated.max(measured);
        let window = pressure.window;
        if window == 0 {
            return Decision::wait("the model's window is not known");
        }
        let figures = format!("{used} of {window} tokens are used, {} of them by entries", pressure.entries);
        if used.saturating_sub(pressure.overhead) > pressure.budget || used >= window {
            return Decision::compress(Urgency::Hard, format!("{figures}: the next request does not fit"));
        }
        // Not above the window, so it fits.
        let share = (f64::from(window) * self.config.compress_at) as u32;
        let limit = self.config.compress_at_tokens.map_or(share, |tokens| tokens.min(share));
        if used >= limit {
            return Decision::compress(Urgency::Soft, format!("{figures}, and the limit is {limit}"));
        }
        Decision::wait(format!("{figures}; the limit is {limit}"))
    }

    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure> {
        let layout = Layout::read(view);
        let corrections = Corrections::read(&request.corrections);
        let cut = cut::cut(view, &layout, request.target, &self.config, &corrections);
        let total = cut.kept_tokens.saturating_add(cut.folded_tokens);
        let least_saving = ((f64::from(total) * self.config.min_saving).ceil() as u32).max(1);
        if cut.folded.is_empty() {
            return Ok(Outcome::Unchanged(format!("nothing can be folded: all {total} tokens have to stay")));
        }
        let folded = Folded::gather(view, &cut.folded, &request.memory, &self.config);
        if folded.fresh == 0 {
            return Ok(Outcome::Unchanged(format!(
                "nothing new can be folded: of {total} tokens all but those of the last text have to stay"
            )));
        }
        let Some(text) = self.text(host, request, &folded, &cut, &corrections, least_saving) else {
            return Ok(Outcome::Unchanged(format!(
                "of {total} tokens {} could be folded; with the text that says so, less than {least_saving} would be saved",
                cut.folded_tokens
            )));
        };
        let mut plan = PlanBuilder::over(layout);
        plan.fold_with(cut.folded, text, Some(details(&folded)))?;
        Ok(Outcome::Compressed(plan.build()))
    }
}

impl FreshWindow {
    /// The text, if it is short enough to be worth it.
    fn text(
        &self,
        host: &Host,
        request: &CompressRequest,
        folded: &Folded,
        cut: &Cut,
        corrections: &Corrections,
        least_saving: u32,
    ) -> Option<String> {
        let left = request.target.saturating_sub(cut.kept_tokens).max(LEAST_ROOM);
        let wanted = corrections.tighten(self.config.text_tokens).max(LEAST_ROOM).min(left);
        // Names that the host misses come on top: what they displaced would be missed next.
        let wanted = wanted.saturating_add(text::names_cost(host, corrections));
        let room = cut.folded_tokens.checked_sub(least_saving)?.min(wanted).checked_sub(ENTRY_FRAME)?;
        let beside = Beside { focus: request.focus.as_deref(), of_this_turn: cut.of_this_turn, corrections };
        text::write(host, folded, &beside, &self.config, room)
    }
}

/// JSON for programs: the sums over all rounds, all files, and the rules that folded summaries stored.
fn details(folded: &Folded) -> String {
    let mut details = json!({
        "entries": folded.entries,
        "turns": folded.turns,
        "tokens": folded.tokens,
        "compactions": folded.compactions,
        "readFiles": folded.files.only_read().collect::<Vec<_>>(),
        "modifiedFiles": folded.files.modified,
    });
    if !folded.rules.is_empty() {
        details[rules::KEY] = json!(folded.rules);
    }
    details.to_string()
}
