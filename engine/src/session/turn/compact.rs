//! Compacting: the owner, its successors where it fails, and the commit of the one that succeeded.

use std::time::{Duration, Instant};

use super::Turn;
use crate::compaction::{self, CompactError, CompactOptions, Compacted, Strategist};
use crate::events::EventKind;
use crate::hooks::{CacheState, CompressRequest, Outcome, Trigger, Urgency};
use crate::plan::PlanRefused;
use crate::plugin::{Instance, Plugin};
use crate::session::SessionError;
use crate::session::commit::{Proposal, SessionCompacted};
use crate::session::lease::Held;
use crate::slots::{Binding, NoAnswer, Slot};
use crate::store::{LogBody, LogRecord, StoreError};
use crate::view::View;

/// What is wanted of a compaction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnCompactOptions {
    /// Why it runs.
    pub trigger: Trigger,
    /// [`Urgency::Hard`] refuses a plan that misses the target.
    pub urgency: Urgency,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
    /// Another target than that of the setup, in tokens.
    pub target: Option<u32>,
    /// Input tokens that the provider counted for the last request.
    pub measured: Option<u32>,
    /// What the provider's cache holds.
    pub cache: Option<CacheState>,
}

impl TurnCompactOptions {
    /// Aims at the target of the setup, not urgently.
    pub fn new(trigger: Trigger) -> Self {
        Self { trigger, urgency: Urgency::Soft, focus: None, target: None, measured: None, cache: None }
    }

    /// How badly it is needed.
    #[must_use]
    pub fn with_urgency(mut self, urgency: Urgency) -> Self {
        self.urgency = urgency;
        self
    }

    /// What the person asked to keep in focus.
    #[must_use]
    pub fn with_focus(mut self, focus: impl Into<String>) -> Self {
        self.focus = Some(focus.into());
        self
    }

    /// Another target, in tokens.
    #[must_use]
    pub fn with_target(mut self, tokens: u32) -> Self {
        self.target = Some(tokens);
        self
    }

    /// Input tokens that the provider counted for the last request.
    #[must_use]
    pub fn with_measured(mut self, tokens: u32) -> Self {
        self.measured = Some(tokens);
        self
    }

    /// What the provider's cache holds.
    #[must_use]
    pub fn with_cache(mut self, cache: CacheState) -> Self {
        self.cache = Some(cache);
        self
    }
}

/// What the chain of owners came to.
enum Chosen {
    Unchanged { owner: String, reason: String },
    Plan(Box<Plan>),
}

/// A good plan, and how it came about.
struct Plan {
    proposal: Proposal,
    writer: Plugin,
    passed_over: Vec<Plugin>,
}

impl Turn {
    /// Compacts the session. Entries may be appended meanwhile; they stay behind the result.
    ///
    /// Observers are asked what to remember, then the owner of `compress` for a plan. Where it fails (it declines, a
    /// service that it needs is unavailable, it breaks off, its second plan is refused, too), its successors are asked
    /// in their order, and the record says who was passed over and why. An owner that finds nothing to do has answered.
    ///
    /// The session may begin another turn, under another setup, before the plan is there. The plan then lands only if that
    /// setup would have come to the same writer: it binds it to `compress`, the same component with the same configuration,
    /// limits and grants, and everyone that it binds before it was asked here and failed. So the same owner across a
    /// reload may finish; a former owner may not, nor may another component of the same id.
    ///
    /// # Errors
    ///
    /// [`SessionError::NoOwner`]; [`SessionError::Busy`] while somebody else compacts the session;
    /// [`SessionError::Compact`] with every owner and why it failed; [`SessionError::Superseded`] as above;
    /// [`SessionError::Stale`] if the session changed meanwhile in a way that the result does not fit any more, or the lease
    /// was lost; [`SessionError::Strict`] if the owner failed and the setup wants no substitutions; or the store failed. The
    /// session is as it was then.
    pub async fn compact(&self, options: &TurnCompactOptions) -> Result<SessionCompacted, SessionError> {
        let compacted = self.compact_or_not(options).await;
        match &compacted {
            Ok(SessionCompacted::Done { compaction, .. }) => self.tell_compacted(compaction).await,
            Ok(SessionCompacted::Unchanged { .. }) => {}
            Err(SessionError::Busy(StoreError::Busy { holder, .. })) => {
                self.tell(EventKind::Busy { holder: holder.clone() });
            }
            Err(error) => self.tell(EventKind::CompactionFailed { reason: error.to_string() }),
        }
        compacted
    }

    async fn compact_or_not(&self, options: &TurnCompactOptions) -> Result<SessionCompacted, SessionError> {
        let Some(owner) = self.bindings(Slot::Compress).first() else {
            return Err(SessionError::NoOwner { slot: Slot::Compress });
        };
        let held = Held::acquire(&self.session, owner.id()).await?;
        let started = Instant::now();
        let compacted = match held.keep(self.choose(options)).await {
            Ok(Some(Chosen::Plan(plan))) => self.commit(*plan, &held, started).await,
            Ok(Some(Chosen::Unchanged { owner, reason })) => {
                self.tell(EventKind::Unchanged { owner, reason: reason.clone() });
                Ok(SessionCompacted::Unchanged { reason })
            }
            Ok(None) => Ok(SessionCompacted::Unchanged { reason: "the session has no entries".to_owned() }),
            Err(error) => Err(error),
        };
        held.release().await;
        compacted
    }

    /// Asks one after the other until one succeeds. `None` where there is nothing to compact.
    async fn choose(&self, options: &TurnCompactOptions) -> Result<Option<Chosen>, SessionError> {
        let Some(frozen) = self.session.freeze().await? else { return Ok(None) };
        let mut wanted = self.wanted(options, &frozen.view);
        wanted.memory = self.memory(&frozen.view, options.trigger).await;
        let bindings = self.bindings(Slot::Compress);
        let mut tried: Vec<CompactError> = Vec::new();
        let mut passed_over: Vec<Plugin> = Vec::new();
        let mut model_calls = 0;
        for (at, binding) in bindings.iter().enumerate() {
            // Asking would be in vain where what it answers could not land.
            self.permit(Slot::Compress, binding.plugin().clone(), passed_over.clone()).stands()?;
            let mut owner = InTurn { turn: self, binding, model_calls: 0, began: false };
            let attempt = compaction::attempt(&mut owner, &frozen.view, &wanted, self.engine().counter()).await;
            model_calls += owner.model_calls;
            match attempt {
                Ok(Compacted::Unchanged { reason }) => {
                    return Ok(Some(Chosen::Unchanged { owner: binding.id().to_owned(), reason }));
                }
                Ok(Compacted::Done(compaction)) => {
                    let passed = tried.iter().map(CompactError::as_passed_over).collect();
                    let proposal = Proposal { frozen, compaction, passed_over: passed, model_calls };
                    let writer = binding.plugin().clone();
                    return Ok(Some(Chosen::Plan(Box::new(Plan { proposal, writer, passed_over }))));
                }
                Err(error) => {
                    passed_over.push(binding.plugin().clone());
                    if let Some(next) = bindings.get(at + 1) {
                        self.substitute(Slot::Compress, binding.id(), Some(next), error.reason())?;
                    }
                    tried.push(error);
                }
            }
        }
        Err(SessionError::Compact(CompactError::NoneLeft { tried }))
    }

    fn wanted(&self, options: &TurnCompactOptions, view: &View) -> CompactOptions {
        let setup = self.setup();
        let mut pressure = setup.window.pressure(view, options.trigger, self.session.now());
        pressure.measured = options.measured;
        pressure.cache = options.cache;
        let mut wanted = CompactOptions::new(pressure, options.target.unwrap_or_else(|| setup.target()))
            .with_urgency(options.urgency)
            .with_gate(setup.gate.clone());
        wanted.focus.clone_from(&options.focus);
        wanted.keep_recent = setup.keep_recent;
        wanted
    }

    /// Writes a plan to the log, if this turn still may.
    async fn commit(&self, plan: Plan, held: &Held, started: Instant) -> Result<SessionCompacted, SessionError> {
        let Plan { proposal, writer, passed_over } = plan;
        let permit = self.permit(Slot::Compress, writer, passed_over);
        let commit = proposal.commit(held.token(), started.elapsed());
        let (events, scope) = (self.engine().teller().clone(), self.scope());
        let tell = move |record: &LogRecord| {
            if let Some(kind) = committed(record) {
                events.tell(&scope, kind);
            }
        };
        let record = self.session.persist(commit, move || permit.check(), tell).await?;
        Ok(SessionCompacted::Done { record: Box::new(record), compaction: proposal.compaction })
    }
}

/// What is told of a compaction that is recorded.
fn committed(record: &LogRecord) -> Option<EventKind> {
    let LogBody::Compaction(commit) = &record.body else { return None };
    Some(EventKind::Committed {
        record: record.id.clone(),
        owner: commit.owner.clone(),
        trigger: commit.trigger,
        tokens_before: commit.tokens_before,
        tokens_after: commit.tokens_after,
        passed_over: commit.passed_over.clone(),
        model_calls: commit.model_calls,
        duration: Duration::from_millis(commit.duration_ms),
    })
}

/// An owner that is asked in a turn.
struct InTurn<'a> {
    turn: &'a Turn,
    binding: &'a Binding,
    model_calls: u32,
    /// It was asked already in this attempt; what it used of the model goes on counting.
    began: bool,
}

impl Strategist for InTurn<'_> {
    fn plugin(&self) -> &Plugin {
        self.binding.plugin()
    }

    async fn compress(&mut self, view: &View, request: &CompressRequest) -> Result<Outcome, NoAnswer> {
        let calls = &mut self.model_calls;
        let question = async move |instance: &mut Instance| {
            let before = instance.model_use();
            let answer = instance.compress(view, request).await;
            *calls += instance.model_use().since(before).calls;
            answer
        };
        if std::mem::replace(&mut self.began, true) {
            self.turn.ask_again(Slot::Compress, self.binding, "compress", question).await
        } else {
            self.turn.ask(Slot::Compress, self.binding, "compress", question).await
        }
    }

    fn model_calls(&self) -> u32 {
        self.model_calls
    }

    fn refused(&self, defects: &PlanRefused) {
        let defects = defects.defects().iter().map(|defect| defect.kind.name()).collect();
        self.turn.tell(EventKind::PlanRefused { slot: Slot::Compress, plugin: self.binding.id().to_owned(), defects });
    }
}
