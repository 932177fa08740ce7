//! Compacting a view with the owner of `compress`, or with a successor: for programs that keep their own transcript.
//!
//! The same order and the same failures as in a turn of a session ([`crate::session::Turn::compact`]), without what
//! needs a store: no lease, no record, no quarantine.

use std::time::Instant;

use crate::compaction::{self, Alone, CompactError, CompactOptions, Compacted, Strategist};
use crate::engine::Engine;
use crate::events::{EventKind, HookOutcome, Scope};
use crate::hooks::{CompressRequest, Outcome};
use crate::plan::PlanRefused;
use crate::plugin::{Plugin, Services};
use crate::slots::{Binding, NoAnswer, Slot, Slots};
use crate::store::PassedOver;
use crate::view::View;

/// How a compaction by one of several owners ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Succession {
    /// What the last one that was asked did.
    pub compacted: Compacted,
    /// Its id.
    pub owner: String,
    /// Who was asked before it, and why they have no part in it.
    pub passed_over: Vec<PassedOver>,
    /// Calls of a model that all of them made.
    pub model_calls: u32,
}

/// Asks the owner, then its successors.
pub(crate) async fn compact(
    engine: &Engine,
    slots: &Slots,
    view: &View,
    options: &CompactOptions,
    services: &Services,
) -> Result<Succession, CompactError> {
    let scope = Scope { session: None, generation: engine.generation(), turn: None };
    let tell = |kind: EventKind| engine.teller().tell(&scope, kind);
    let bindings = slots.bindings(Slot::Compress);
    let mut tried: Vec<CompactError> = Vec::new();
    let mut model_calls = 0;
    for (at, binding) in bindings.iter().enumerate() {
        let mut owner = Told { alone: Alone::new(binding.plugin(), services.clone()), binding, tell: &tell };
        let owner_id = binding.id().to_owned();
        let attempt = compaction::attempt(&mut owner, view, options, engine.counter()).await;
        model_calls += owner.model_calls();
        match attempt {
            Ok(compacted) => {
                let passed_over = tried.iter().map(CompactError::as_passed_over).collect();
                return Ok(Succession { compacted, owner: owner_id, passed_over, model_calls });
            }
            Err(error) => {
                let next = bindings.get(at + 1).map(|next| next.id().to_owned());
                if slots.strict() {
                    return Err(error);
                }
                if next.is_some() {
                    let reason = error.reason();
                    tell(EventKind::Substituted { slot: Slot::Compress, from: owner_id, to: next, reason });
                }
                tried.push(error);
            }
        }
    }
    Err(CompactError::NoneLeft { tried })
}

/// An owner whose calls are told of.
struct Told<'a, T> {
    alone: Alone<'a>,
    binding: &'a Binding,
    tell: &'a T,
}

impl<T: Fn(EventKind) + Sync> Strategist for Told<'_, T> {
    fn plugin(&self) -> &Plugin {
        self.binding.plugin()
    }

    async fn compress(&mut self, view: &View, request: &CompressRequest) -> Result<Outcome, NoAnswer> {
        let started = Instant::now();
        let before = self.alone.model_use();
        let answer = self.alone.compress(view, request).await;
        (self.tell)(EventKind::HookCalled {
            slot: Slot::Compress,
            hook: "compress",
            plugin: self.binding.id().to_owned(),
            outcome: match &answer {
                Err(NoAnswer::Call(error)) => HookOutcome::of(&Err::<(), _>(error.clone())),
                _ => HookOutcome::Answered,
            },
            duration: started.elapsed(),
            model: self.alone.model_use().since(before),
        });
        answer
    }

    fn model_calls(&self) -> u32 {
        self.alone.model_calls()
    }

    fn refused(&self, defects: &PlanRefused) {
        let defects = defects.defects().iter().map(|defect| defect.kind.name()).collect();
        (self.tell)(EventKind::PlanRefused { slot: Slot::Compress, plugin: self.binding.id().to_owned(), defects });
    }
}
