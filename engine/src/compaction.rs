//! One compaction: ask the owner, verify its plan, apply it, and say what happened.
//!
//! The owner may be wrong once: a refused plan goes back to it with the defects by name, and what it proposes then
//! counts. Whatever happens, the view that was passed in is as it was.

use std::time::{Duration, Instant};

use tracing::Instrument;

use crate::hooks::{CompressRequest, Failure, Outcome, Pressure, Trigger, Urgency};
use crate::plan::{self, Applied, PlanRefused, Rules, SummaryGate, Tally, VerifiedPlan};
use crate::plugin::{CallError, Instance, Plugin, Services};
use crate::tokens::EntryCounter;
use crate::transcript::Timestamp;
use crate::view::View;

/// Times that a refused plan goes back to its owner, with the defects.
const CORRECTION_ROUNDS: usize = 1;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The model's window, in tokens.
    pub tokens: u32,
    /// Tokens held back for the reply.
    pub reserve: u32,
    /// Tokens of the system prompt and the tool schemas, as far as they are not entries.
    pub overhead: u32,
}

impl Window {
    /// Tokens held back for the reply: 16,384, the default of Pi.
    pub const RESERVE: u32 = 16_384;

    /// A window with the default reserve, or a quarter of the window where that is less.
    pub fn new(tokens: u32) -> Self {
        Self { tokens, reserve: Self::RESERVE.min(tokens / 4), overhead: 0 }
    }

    /// Another reserve.
    pub fn with_reserve(mut self, tokens: u32) -> Self {
        self.reserve = tokens;
        self
    }

    /// What else every request holds.
    pub fn with_overhead(mut self, tokens: u32) -> Self {
        self.overhead = tokens;
        self
    }

    /// What is left for entries.
    pub fn budget(self) -> u32 {
        self.tokens.saturating_sub(self.reserve).saturating_sub(self.overhead)
    }

    /// What a compaction aims at by default: half of what is left for entries. Less would compact again soon, more
    /// would throw away what still fits.
    pub fn target(self) -> u32 {
        self.budget() / 2
    }

    /// The figures of a request that would hold this view.
    pub fn pressure(self, view: &View, trigger: Trigger, now: Timestamp) -> Pressure {
        Pressure {
            trigger,
            window: self.tokens,
            reserve: self.reserve,
            overhead: self.overhead,
            entries: view.tokens(),
            measured: None,
            cache: None,
            now,
            extras: Vec::new(),
        }
    }
}

/// What is wanted of a compaction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactOptions {
    /// Where the session stands.
    pub pressure: Pressure,
    /// Under which rules the plan is verified; their target is what the strategy is told to aim at.
    pub rules: Rules,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
    /// What observers saved just before.
    pub memory: Vec<String>,
}

impl CompactOptions {
    /// Aims at `target`, not urgently.
    pub fn new(pressure: Pressure, target: u32) -> Self {
        Self { pressure, rules: Rules::new(target), focus: None, memory: Vec::new() }
    }

    /// What the person asked to keep in focus.
    pub fn with_focus(mut self, focus: impl Into<String>) -> Self {
        self.focus = Some(focus.into());
        self
    }

    /// Makes the target a condition, or not.
    pub fn with_urgency(mut self, urgency: Urgency) -> Self {
        self.rules = self.rules.with_urgency(urgency);
        self
    }

    /// Asks more of summaries.
    pub fn with_gate(mut self, gate: SummaryGate) -> Self {
        self.rules = self.rules.with_gate(gate);
        self
    }

    fn request(&self, corrections: Vec<String>) -> CompressRequest {
        CompressRequest {
            pressure: self.pressure.clone(),
            target: self.rules.target,
            focus: self.focus.clone(),
            memory: self.memory.clone(),
            corrections,
            extras: Vec::new(),
        }
    }
}

/// Who replaced what by what, and why: enough to answer that a month later.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactionRecord {
    /// Id of the plugin that proposed the plan.
    pub owner: String,
    /// Its version.
    pub owner_version: String,
    /// SHA-256 of its component, in hex.
    pub component_hash: String,
    /// Why it ran.
    pub trigger: Trigger,
    /// Tokens of the entries before, by the host's count.
    pub tokens_before: u32,
    /// Tokens of the entries after, by the host's count.
    pub tokens_after: u32,
    /// What became of the entries.
    pub tally: Tally,
    /// Defects of a first plan that was refused; empty where the first plan was good.
    pub corrections: Vec<String>,
    /// Time that the plugin took, its start included.
    pub proposing: Duration,
    /// Time that verifying and applying took.
    pub verifying: Duration,
}

/// A compaction that was verified and applied.
#[derive(Debug, Clone)]
pub struct Compaction {
    record: CompactionRecord,
    verified: VerifiedPlan,
}

impl Compaction {
    /// What happened.
    pub fn record(&self) -> &CompactionRecord {
        &self.record
    }

    /// The plan and what became of each position.
    pub fn plan(&self) -> &VerifiedPlan {
        &self.verified
    }

    /// The new context.
    pub fn view(&self) -> &View {
        self.verified.applied().view()
    }

    /// The new context and its tally.
    pub fn into_applied(self) -> Applied {
        self.verified.apply()
    }
}

/// How a compaction ended.
#[derive(Debug, Clone)]
pub enum Compacted {
    /// The owner found nothing to do. Not a failure.
    Unchanged {
        /// Why, in the owner's words.
        reason: String,
    },
    /// There is a new context.
    Done(Box<Compaction>),
}

/// Why there is no new context although one was wanted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The plugin gave no plan.
    #[error("strategy `{owner}` gave no plan: {cause}")]
    NoPlan {
        /// Id of the plugin.
        owner: String,
        /// Why.
        cause: CallError,
    },
    /// The plugin's plan was refused, and so was its second one.
    #[error("strategy `{owner}`: {cause}")]
    Refused {
        /// Id of the plugin.
        owner: String,
        /// What is wrong with the last plan.
        cause: PlanRefused,
    },
    /// After a refused plan the plugin found nothing to do.
    #[error("strategy `{owner}` gave up ({reason}) after a first plan: {cause}")]
    GaveUp {
        /// Id of the plugin.
        owner: String,
        /// What was wrong with its plan.
        cause: PlanRefused,
        /// What it said then.
        reason: String,
    },
}

/// Runs one compaction of a view.
pub(crate) async fn compact(
    plugin: &Plugin,
    view: &View,
    options: &CompactOptions,
    services: Services,
    counter: &EntryCounter,
) -> Result<Compacted, CompactError> {
    let owner = plugin.description().id.clone();
    let span = tracing::info_span!("compact", owner, trigger = ?options.pressure.trigger, before = view.tokens());
    Attempt { plugin, owner, view, options, counter }.run(services).instrument(span).await
}

struct Attempt<'a> {
    plugin: &'a Plugin,
    owner: String,
    view: &'a View,
    options: &'a CompactOptions,
    counter: &'a EntryCounter,
}

impl Attempt<'_> {
    async fn run(self, services: Services) -> Result<Compacted, CompactError> {
        let started = Instant::now();
        let mut verifying = Duration::ZERO;
        let mut instance = self.plugin.instance(services).await.map_err(|cause| self.no_plan(cause))?;
        let mut refused: Option<PlanRefused> = None;
        for round in 0..=CORRECTION_ROUNDS {
            let plan = match self.ask(&mut instance, refused.as_ref()).await? {
                Outcome::Compressed(plan) => plan,
                Outcome::Unchanged(reason) => return self.nothing(reason, refused),
            };
            let proposed = Instant::now();
            let verdict = plan::verify(plan, &self.owner, self.view, &self.options.rules, self.counter);
            verifying += proposed.elapsed();
            match verdict {
                Ok(verified) => {
                    let proposing = started.elapsed().saturating_sub(verifying);
                    return Ok(self.done(verified, refused.as_ref(), proposing, verifying));
                }
                Err(defects) => {
                    tracing::warn!(round, %defects, "plan refused");
                    refused = Some(defects);
                }
            }
        }
        Err(match refused {
            Some(cause) => CompactError::Refused { owner: self.owner, cause },
            // Not reached: the loop ends early or leaves a refusal behind.
            None => self.no_plan(CallError::Failed(Failure::Failed("no plan was asked for".to_owned()))),
        })
    }

    async fn ask(&self, instance: &mut Instance, refused: Option<&PlanRefused>) -> Result<Outcome, CompactError> {
        let corrections = refused.map(PlanRefused::corrections).unwrap_or_default();
        let request = self.options.request(corrections);
        instance.compress(self.view, &request).await.map_err(|cause| self.no_plan(cause))
    }

    fn no_plan(&self, cause: CallError) -> CompactError {
        CompactError::NoPlan { owner: self.owner.clone(), cause }
    }

    fn nothing(self, reason: String, refused: Option<PlanRefused>) -> Result<Compacted, CompactError> {
        match refused {
            None => Ok(Compacted::Unchanged { reason }),
            Some(cause) => Err(CompactError::GaveUp { owner: self.owner, cause, reason }),
        }
    }

    fn done(
        self,
        verified: VerifiedPlan,
        refused: Option<&PlanRefused>,
        proposing: Duration,
        verifying: Duration,
    ) -> Compacted {
        let record = CompactionRecord {
            owner: self.owner,
            owner_version: self.plugin.description().version.clone(),
            component_hash: self.plugin.component_hash().to_owned(),
            trigger: self.options.pressure.trigger,
            tokens_before: self.view.tokens(),
            tokens_after: verified.tokens_after(),
            tally: verified.applied().tally(),
            corrections: refused.map(PlanRefused::corrections).unwrap_or_default(),
            proposing,
            verifying,
        };
        tracing::info!(after = record.tokens_after, ?proposing, ?verifying, "compacted");
        Compacted::Done(Box::new(Compaction { record, verified }))
    }
}
