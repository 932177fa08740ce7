//! Asking a plugin: is it left alone, where does it run, how did it end, what is told of it.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tracing::Instrument;

use super::Turn;
use crate::events::{EventKind, HookOutcome, Running};
use crate::plugin::{CallError, Instance, ModelUse};
use crate::slots::{Binding, NoAnswer, Quarantine, Slot};

/// Where a plugin runs in a turn. Whoever asks it waits until the one before has its answer.
pub(super) type Seat = tokio::sync::Mutex<Option<Seated>>;

/// A running plugin, counted as long as it lives.
pub(super) struct Seated {
    instance: Instance,
    _running: Running,
}

impl Turn {
    /// Asks a plugin that is bound to a slot; `hook` names the function, as in `should-compress`. The one way in: it
    /// checks the quarantine, starts or reuses the turn's instance, tells of the call, and quarantines the plugin if it
    /// breaks off. A caller that stops waiting harms nobody: the instance is given up, and the next call gets a new one.
    ///
    /// Each call is an attempt of its own, with a fresh allowance of model calls; see [`ask_again`](Self::ask_again).
    ///
    /// ```ignore
    /// let answer = turn.ask(Slot::Ingest, binding, "reduce", async |instance| instance.reduce(&request).await).await;
    /// ```
    ///
    /// # Errors
    ///
    /// The plugin is in quarantine, or gave no answer. What follows from that is the slot's matter: see
    /// [`Turn::substitute`].
    pub(in crate::session) async fn ask<R>(
        &self,
        slot: Slot,
        binding: &Binding,
        hook: &'static str,
        question: impl AsyncFnOnce(&mut Instance) -> Result<R, CallError>,
    ) -> Result<R, NoAnswer> {
        let fresh = async move |instance: &mut Instance| {
            instance.renew_model_allowance();
            let answer = question(instance).await;
            (answer, instance.model_use())
        };
        self.put(slot, binding, hook, fresh).await
    }

    /// Asks once more in the same attempt: what is left of the allowance of model calls is left.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub(in crate::session) async fn ask_again<R>(
        &self,
        slot: Slot,
        binding: &Binding,
        hook: &'static str,
        question: impl AsyncFnOnce(&mut Instance) -> Result<R, CallError>,
    ) -> Result<R, NoAnswer> {
        let again = async move |instance: &mut Instance| {
            let before = instance.model_use();
            let answer = question(instance).await;
            (answer, instance.model_use().since(before))
        };
        self.put(slot, binding, hook, again).await
    }

    async fn put<R>(
        &self,
        slot: Slot,
        binding: &Binding,
        hook: &'static str,
        question: impl AsyncFnOnce(&mut Instance) -> (Result<R, CallError>, ModelUse),
    ) -> Result<R, NoAnswer> {
        self.not_quarantined(binding)?;
        let seat = self.seat(binding.id());
        let mut seat = seat.lock().await;
        // It may have broken off while this one waited.
        self.not_quarantined(binding)?;
        let mut call = Called::new(self, slot, binding, hook);
        let span = tracing::info_span!("hook", slot = slot.name(), hook, plugin = binding.id(), turn = self.number);
        let answer = self.call(&mut seat, binding, &mut call, question).instrument(span).await;
        call.ended(&answer);
        if let Err(error) = &answer
            && error.is_fault()
        {
            self.quarantine(slot, binding, hook, error);
        }
        Ok(answer?)
    }

    async fn call<R>(
        &self,
        seat: &mut Option<Seated>,
        binding: &Binding,
        call: &mut Called<'_>,
        question: impl AsyncFnOnce(&mut Instance) -> (Result<R, CallError>, ModelUse),
    ) -> Result<R, CallError> {
        // A caller that stopped waiting leaves an instance behind that cannot be used.
        seat.take_if(|seated| seated.instance.retired().is_some());
        let seated = match &mut *seat {
            Some(seated) => seated,
            none => {
                let running = self.engine().teller().running();
                let instance = binding.plugin().instance(self.services.clone()).await?;
                none.insert(Seated { instance, _running: running })
            }
        };
        let (answer, model) = question(&mut seated.instance).await;
        call.model = model;
        seat.take_if(|seated| seated.instance.retired().is_some());
        answer
    }

    fn seat(&self, plugin: &str) -> Arc<Seat> {
        // Every change is one insertion.
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        match seats.entry(plugin.to_owned()) {
            Entry::Occupied(seat) => Arc::clone(seat.get()),
            Entry::Vacant(free) => Arc::clone(free.insert(Arc::default())),
        }
    }

    fn not_quarantined(&self, binding: &Binding) -> Result<(), NoAnswer> {
        match self.era.ward.of(binding.id()) {
            Some(quarantine) => Err(NoAnswer::Quarantined(quarantine)),
            None => Ok(()),
        }
    }

    fn quarantine(&self, slot: Slot, binding: &Binding, hook: &'static str, error: &CallError) {
        let plugin = binding.id().to_owned();
        let first = self.era.ward.admit(Quarantine {
            plugin: plugin.clone(),
            slot,
            hook,
            error: error.clone(),
            at: self.session.now(),
            generation: self.generation(),
        });
        if first {
            self.tell(EventKind::Quarantined { plugin, slot, hook, error: error.to_string() });
        }
    }
}

/// A call that is told of when it ended, also where the caller stopped waiting.
struct Called<'a> {
    turn: &'a Turn,
    slot: Slot,
    plugin: &'a str,
    hook: &'static str,
    started: Instant,
    outcome: HookOutcome,
    model: ModelUse,
}

impl<'a> Called<'a> {
    fn new(turn: &'a Turn, slot: Slot, binding: &'a Binding, hook: &'static str) -> Self {
        let (plugin, outcome) = (binding.id(), HookOutcome::Cancelled);
        Self { turn, slot, plugin, hook, started: Instant::now(), outcome, model: ModelUse::default() }
    }

    fn ended<R>(mut self, answer: &Result<R, CallError>) {
        self.outcome = HookOutcome::of(answer);
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.turn.tell(EventKind::HookCalled {
            slot: self.slot,
            hook: self.hook,
            plugin: self.plugin.to_owned(),
            outcome: self.outcome,
            duration: self.started.elapsed(),
            model: self.model,
        });
    }
}
