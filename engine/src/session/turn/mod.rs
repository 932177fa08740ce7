//! One turn of a conversation: who is asked is fixed when it begins, and the same to its end.
//!
//! A [`Turn`] holds the setup that was in force when it began. Another setup that is installed meanwhile takes effect with
//! the next turn. Each plugin runs in one instance for the whole turn, started when it is first asked; where a call
//! broke off or was cancelled, the next one gets a new instance.
//!
//! What happens when a plugin fails is the slot's matter:
//!
//! | slot | then | with `strict` |
//! |---|---|---|
//! | `compress` | the next successor is asked; none left: the history is kept, and the error names all | an error |
//! | `select` | the link is skipped | an error |
//! | `ingest` | the result enters whole | an error |
//! | `branch` | the host lists what was done | an error |
//! | observers | it is told ([`events`](crate::events)), nothing else | the same |
//! | `tools` | the model gets an error result | the same |
//!
//! A plugin that broke off or reached a limit is in [quarantine](crate::slots::Quarantine) from then on.

mod append;
mod ask;
mod compact;
mod decide;
mod leave;
mod observe;
mod select;
mod tools;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use self::ask::Seat;
pub use self::compact::TurnCompactOptions;
pub use self::decide::TurnDecision;
pub use self::leave::{LeaveOptions, LeftBranch};
pub use self::select::SelectOptions;
pub use self::tools::ToolOutcome;
use super::tenure::{self, Era};
use super::{Session, SessionError};
use crate::compaction::Window;
use crate::engine::Engine;
use crate::events::{EventKind, Scope};
use crate::hooks::{Pressure, Trigger, TurnEnd, Usage};
use crate::plugin::{Plugin, Services};
use crate::setup::Setup;
use crate::slots::{Binding, Generation, Slot};

/// One turn of a session: from a request of the user to the end of the model's answer. Made by
/// [`Session::turn`](super::Session::turn).
///
/// Everything can be asked side by side, from several tasks (behind an `Arc`); calls of one plugin wait for each other,
/// as it has one instance. Dropping a turn gives it up; [`complete`](Turn::complete) ends it.
pub struct Turn {
    session: Session,
    number: u32,
    era: Arc<Era>,
    services: Services,
    /// By the plugins' ids.
    seats: Mutex<HashMap<String, Arc<Seat>>>,
    completed: AtomicBool,
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("session", &self.session)
            .field("number", &self.number)
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a turn: the setup in force now decides who is asked in it.
    pub fn turn(&self) -> Turn {
        self.turn_with(self.shared.engine.services())
    }

    /// The same, with takers of log messages and progress. A model that `services` hold goes before that of the setup.
    pub fn turn_with(&self, services: Services) -> Turn {
        let (era, number) = self.shared.tenure.begin(&self.shared.engine);
        let mut services = self.lend(services);
        services.model = services.model.or_else(|| era.in_force().setup.model.clone());
        let turn = Turn {
            session: self.clone(),
            number,
            era,
            services,
            seats: Mutex::default(),
            completed: AtomicBool::new(false),
        };
        turn.tell(EventKind::TurnBegan);
        turn
    }
}

impl Turn {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Its number, from 0: how many turns began before it since the session was made or opened in this process.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The setup that it works by, to its end.
    pub fn setup(&self) -> &Setup {
        &self.era.in_force().setup
    }

    /// Number of that setup.
    pub fn generation(&self) -> Generation {
        self.era.generation()
    }

    /// How much room there is.
    pub fn window(&self) -> Window {
        self.setup().window
    }

    /// The figures of the request that would go out now. Set `measured` to what the provider counted last, with an
    /// estimate of what was appended since, and `cache` to the state of its cache, where they are known.
    pub fn pressure(&self, trigger: Trigger) -> Pressure {
        self.window().pressure(&self.session.view(), trigger, self.session.now())
    }

    /// Ends the turn: observers are told, and its instances are dropped.
    pub async fn complete(self, usage: Option<Usage>, interrupted: bool) {
        let end = TurnEnd { index: self.number, usage, interrupted, at: self.session.now() };
        self.tell_turn_complete(end).await;
        self.completed.store(true, Ordering::Relaxed);
        self.tell(EventKind::TurnEnded { completed: true, interrupted });
    }

    /// Who is bound to a slot in this turn, in the order in which they are asked.
    pub(super) fn bindings(&self, slot: Slot) -> &[Binding] {
        tenure::bindings(&self.era, slot)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.session.shared.engine
    }

    /// What is told of this turn.
    pub(super) fn tell(&self, kind: EventKind) {
        self.engine().teller().tell(&self.scope(), kind);
    }

    pub(super) fn scope(&self) -> Scope {
        Scope {
            session: Some(self.session.shared.name.clone()),
            generation: self.generation(),
            turn: Some(self.number),
        }
    }

    /// What has to be checked before an answer of `writer` is written to a slot, when `passed_over` were asked first.
    pub(super) fn permit(&self, slot: Slot, writer: Plugin, passed_over: Vec<Plugin>) -> Permit {
        let (session, scope) = (self.session.clone(), self.scope());
        Permit { session, scope, slot, writer, passed_over }
    }

    /// Notes that another one stands in for a plugin that failed: the next in order, or the host itself.
    ///
    /// # Errors
    ///
    /// [`SessionError::Strict`] where the setup wants no substitutions.
    pub(super) fn substitute(
        &self,
        slot: Slot,
        from: &str,
        to: Option<&Binding>,
        reason: impl fmt::Display,
    ) -> Result<(), SessionError> {
        let (plugin, reason) = (from.to_owned(), reason.to_string());
        if self.setup().slots.strict() {
            return Err(SessionError::Strict { slot, plugin, reason });
        }
        let to = to.map(|binding| binding.id().to_owned());
        self.tell(EventKind::Substituted { slot, from: plugin, to, reason });
        Ok(())
    }
}

/// Whether a turn may still write to a slot.
pub(super) struct Permit {
    session: Session,
    /// The turn.
    scope: Scope,
    slot: Slot,
    writer: Plugin,
    passed_over: Vec<Plugin>,
}

impl Permit {
    /// To be asked at the moment of writing, under the session's lock for writers. Tells of a late answer, and of one that
    /// is refused.
    ///
    /// # Errors
    ///
    /// [`SessionError::Superseded`] if the session has begun a turn under another setup meanwhile, and that one would not
    /// have come to the same writer: see [`Turn::compact`].
    pub(super) fn check(&self) -> Result<(), SessionError> {
        let newest = self.session.shared.tenure.newest().generation();
        if newest == self.scope.generation {
            return Ok(());
        }
        let verdict = self.stands();
        let plugin = self.writer.description().id.clone();
        self.tell(EventKind::LateAnswer { slot: self.slot, plugin, newest, accepted: verdict.is_ok() });
        verdict
    }

    /// The same before the writer is asked, as there is no answer yet that could be late.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check).
    pub(super) fn stands(&self) -> Result<(), SessionError> {
        let newest = self.session.shared.tenure.newest();
        if newest.generation() == self.scope.generation {
            return Ok(());
        }
        let slot = self.slot;
        tenure::may_write(tenure::bindings(&newest, slot), &self.writer, &self.passed_over).map_err(|by| {
            let owner = self.writer.description().id.clone();
            let by = by.map(|binding| binding.id().to_owned());
            self.tell(EventKind::Superseded { slot, owner: owner.clone(), by: by.clone() });
            SessionError::Superseded { slot, owner, by }
        })
    }

    fn tell(&self, kind: EventKind) {
        self.session.shared.engine.teller().tell(&self.scope, kind);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.completed.load(Ordering::Relaxed) {
            self.tell(EventKind::TurnEnded { completed: false, interrupted: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns are used from tasks of a runtime with many threads.
    #[test]
    fn everything_that_a_turn_does_can_go_on_in_a_task() {
        fn task<F: Future + Send>(_: fn(&'static Turn) -> F) {}
        task(|turn| async move {
            let pressure = turn.pressure(Trigger::PreTurn);
            let _ = turn.decide(&pressure).await;
            let _ = turn.select(&SelectOptions::default()).await;
            let _ = turn.compact(&TurnCompactOptions::new(Trigger::Manual)).await;
            let _ = turn.append(Vec::new()).await;
            let _ = turn.leave_branch(None, &LeaveOptions::default()).await;
            turn.call_tool("", "").await
        });
        fn ending<F: Future + Send>(_: fn(Turn) -> F) {}
        ending(|turn| turn.complete(None, false));
    }
}
