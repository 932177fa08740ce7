//! Takes old tool results out of a request: trimmed to head and tail, or replaced by a pointer to the original.
//!
//! A link in the chain `select`: it shapes one request, and nothing of the session changes. It assumes that the host
//! keeps every original, and promises that
//!
//! - only results of tools are rewritten, never a call, a word, a pinned entry, a call in flight or a result that the
//!   model has not answered yet;
//! - a decision takes out at least the configured gain, and waits for the provider's cache unless the gain pays for
//!   what has to be written anew;
//! - what was pruned once stays pruned in the same words, so that the next request begins with the same bytes;
//! - whether a result goes is decided from `entry-info` alone. Texts are read only where a head and a tail are kept.

mod config;
mod decide;
mod economy;
mod facts;
mod ledger;
mod names;
mod words;

use contextengine_sdk::{Description, Failure, Host, Level, Plan, Plugin, Pressure, SelectRequest, Selector, View};

pub use config::{CacheMode, Config, PRESETS};
use decide::Decision;
use facts::Facts;
use ledger::Ledger;
use names::Names;

/// The strategy.
#[derive(Debug)]
pub struct ToolPrune {
    config: Config,
    names: Names,
}

contextengine_sdk::export!(ToolPrune: Selector);

impl Plugin for ToolPrune {
    const ID: &'static str = "tool-prune";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Takes old tool results out of a request, in steps that pay for the prompt cache that they cost.",
        )
        .config_schema(Config::schema())
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)?, names: Names::default() })
    }
}

impl Selector for ToolPrune {
    fn select_context(&self, view: &dyn View, host: &Host, request: &SelectRequest) -> Result<Option<Plan>, Failure> {
        // A window that is not known has no shares that could be reached.
        let window = if request.pressure.window == 0 { u32::MAX } else { request.pressure.window };
        let mut facts = Facts::read(view, &self.config, window);
        let pressure = Pressure { window, ..request.pressure.clone() };
        if facts.is_idle() {
            return Ok(None);
        }
        self.names.check(view);
        let mut ledger = Ledger::load(host);
        let Decision { actions, words } =
            decide::decide(view, &mut facts, &self.names, &self.config, &mut ledger, &pressure);
        if let Some((level, message)) = words {
            host.log(level, &message);
        }
        if let Err(reason) = ledger.save(host) {
            // What is kept from request to request could not be kept: go on with what was there before.
            host.log(Level::Warn, &format!("cannot remember what was pruned ({reason}); nothing new is pruned"));
            let ledger = Ledger::load(host);
            let kept = decide::sticky(view, &facts, &self.names, &ledger);
            return Ok(words::plan(view, &facts, &self.names, &ledger, &kept));
        }
        Ok(words::plan(view, &facts, &self.names, &ledger, &actions))
    }
}
