//! One compaction: ask the owner, verify its plan, apply it, and say what happened.
//!
//! The owner may be wrong once: a refused plan goes back to it with the defects by name, and what it proposes then
//! counts. Whatever happens, the view that was passed in is as it was.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument;

use crate::hooks::{CompressRequest, Failure, Outcome, Pressure, Trigger, Urgency};
use crate::plan::{self, Applied, PlanRefused, Rules, SummaryGate, Tally, VerifiedPlan};
use crate::plugin::{CallError, Instance, ModelUse, Plugin, Services};
use crate::slots::{NoAnswer, Quarantine};
use crate::store::PassedOver;
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
    /// Tokens of recent entries that the strategy is asked to leave alone, as the wish `keep_recent` of the request.
    pub keep_recent: Option<u32>,
}

impl CompactOptions {
    /// Aims at `target`, not urgently.
    pub fn new(pressure: Pressure, target: u32) -> Self {
        Self { pressure, rules: Rules::new(target), focus: None, memory: Vec::new(), keep_recent: None }
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
            extras: self.keep_recent.iter().map(|tokens| ("keep_recent".to_owned(), tokens.to_string())).collect(),
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
    /// Calls of a model that the plugin made.
    pub model_calls: u32,
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
    /// The plugin was not asked, as it broke off before.
    #[error("strategy `{owner}` was not asked: {cause}")]
    Quarantined {
        /// Id of the plugin.
        owner: String,
        /// The first cause.
        cause: Arc<Quarantine>,
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
    /// The owner failed, and so did all who succeed it. The history is as it was.
    #[error("no strategy could compact the session; its history is as it was: {}", Tried(tried))]
    NoneLeft {
        /// All that were asked, in order, and how each failed.
        tried: Vec<CompactError>,
    },
}

impl CompactError {
    /// Id of the plugin that it is about; of the last one where all failed.
    pub fn owner(&self) -> &str {
        match self {
            CompactError::NoPlan { owner, .. }
            | CompactError::Quarantined { owner, .. }
            | CompactError::Refused { owner, .. }
            | CompactError::GaveUp { owner, .. } => owner,
            CompactError::NoneLeft { tried } => tried.last().map_or("", CompactError::owner),
        }
    }

    /// As a record names those who were asked before its writer.
    pub(crate) fn as_passed_over(&self) -> PassedOver {
        PassedOver { owner: self.owner().to_owned(), reason: self.reason() }
    }

    /// How it failed, without its name.
    pub fn reason(&self) -> String {
        match self {
            CompactError::NoPlan { cause, .. } => cause.to_string(),
            CompactError::Quarantined { cause, .. } => cause.to_string(),
            CompactError::Refused { cause, .. } => cause.to_string(),
            CompactError::GaveUp { cause, reason, .. } => format!("it gave up ({reason}) after a first plan: {cause}"),
            CompactError::NoneLeft { tried } => Tried(tried).to_string(),
        }
    }
}

struct Tried<'a>(&'a [CompactError]);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Somebody who can be asked for a plan.
pub(crate) trait Strategist: Send {
    /// The plugin.
    fn plugin(&self) -> &Plugin;

    /// Asks it.
    fn compress(
        &mut self,
        view: &View,
        request: &CompressRequest,
    ) -> impl Future<Output = Result<Outcome, NoAnswer>> + Send;

    /// Calls of a model that it made in this attempt.
    fn model_calls(&self) -> u32;

    /// Its plan was refused.
    fn refused(&self, defects: &PlanRefused);
}

/// An instance of its own, started when first asked.
pub(crate) struct Alone<'a> {
    plugin: &'a Plugin,
    services: Option<Services>,
    instance: Option<Instance>,
}

impl<'a> Alone<'a> {
    pub(crate) fn new(plugin: &'a Plugin, services: Services) -> Self {
        Self { plugin, services: Some(services), instance: None }
    }

    /// What it used of the model so far.
    pub(crate) fn model_use(&self) -> ModelUse {
        self.instance.as_ref().map_or(ModelUse::default(), Instance::model_use)
    }
}

impl Strategist for Alone<'_> {
    fn plugin(&self) -> &Plugin {
        self.plugin
    }

    async fn compress(&mut self, view: &View, request: &CompressRequest) -> Result<Outcome, NoAnswer> {
        if let Some(services) = self.services.take() {
            self.instance = Some(self.plugin.instance(services).await?);
        }
        match &mut self.instance {
            Some(instance) => Ok(instance.compress(view, request).await?),
            // Not reached: an attempt ends with its first error.
            None => Err(NoAnswer::Call(CallError::Failed(Failure::Failed("it did not start".to_owned())))),
        }
    }

    fn model_calls(&self) -> u32 {
        self.model_use().calls
    }

    fn refused(&self, defects: &PlanRefused) {
        tracing::warn!(plugin = self.plugin.description().id, defects = defects.defects().len(), "plan refused");
    }
}

/// Runs one compaction of a view, with a plugin that nobody else asks.
pub(crate) async fn compact(
    plugin: &Plugin,
    view: &View,
    options: &CompactOptions,
    services: Services,
    counter: &EntryCounter,
) -> Result<Compacted, CompactError> {
    attempt(&mut Alone::new(plugin, services), view, options, counter).await
}

/// One attempt of one plugin: a plan, and one more if the first is refused.
pub(crate) async fn attempt(
    strategist: &mut impl Strategist,
    view: &View,
    options: &CompactOptions,
    counter: &EntryCounter,
) -> Result<Compacted, CompactError> {
    let owner = strategist.plugin().description().id.clone();
    let span = tracing::info_span!("compact", owner, trigger = ?options.pressure.trigger, before = view.tokens());
    Attempt { strategist, owner, view, options, counter }.run().instrument(span).await
}

struct Attempt<'a, S> {
    strategist: &'a mut S,
    owner: String,
    view: &'a View,
    options: &'a CompactOptions,
    counter: &'a EntryCounter,
}

impl<S: Strategist> Attempt<'_, S> {
    async fn run(mut self) -> Result<Compacted, CompactError> {
        let started = Instant::now();
        let mut verifying = Duration::ZERO;
        let mut refused: Option<PlanRefused> = None;
        for _ in 0..=CORRECTION_ROUNDS {
            let plan = match self.ask(refused.as_ref()).await? {
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
                    self.strategist.refused(&defects);
                    refused = Some(defects);
                }
            }
        }
        Err(match refused {
            Some(cause) => CompactError::Refused { owner: self.owner, cause },
            // Not reached: the loop ends early or leaves a refusal behind.
            None => self.no_plan(NoAnswer::Call(CallError::Failed(Failure::Failed("it was not asked".to_owned())))),
        })
    }

    async fn ask(&mut self, refused: Option<&PlanRefused>) -> Result<Outcome, CompactError> {
        let corrections = refused.map(PlanRefused::corrections).unwrap_or_default();
        let request = self.options.request(corrections);
        let answer = self.strategist.compress(self.view, &request).await;
        answer.map_err(|cause| self.no_plan(cause))
    }

    fn no_plan(&self, cause: NoAnswer) -> CompactError {
        let owner = self.owner.clone();
        match cause {
            NoAnswer::Call(cause) => CompactError::NoPlan { owner, cause },
            NoAnswer::Quarantined(cause) => CompactError::Quarantined { owner, cause },
        }
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
        let plugin = self.strategist.plugin();
        let record = CompactionRecord {
            owner: self.owner,
            owner_version: plugin.description().version.clone(),
            component_hash: plugin.component_hash().to_owned(),
            trigger: self.options.pressure.trigger,
            tokens_before: self.view.tokens(),
            tokens_after: verified.tokens_after(),
            tally: verified.applied().tally(),
            corrections: refused.map(PlanRefused::corrections).unwrap_or_default(),
            proposing,
            verifying,
            model_calls: self.strategist.model_calls(),
        };
        tracing::info!(after = record.tokens_after, ?proposing, ?verifying, "plan accepted");
        Compacted::Done(Box::new(Compaction { record, verified }))
    }
}
