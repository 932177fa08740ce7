//! Under which setup a session works: that of its newest turn, and whom it left alone since.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::{Engine, InForce};
use crate::plugin::Plugin;
use crate::slots::{Binding, Generation, Slot, Ward};

/// A setup as one session works by it. Another setup is another era, with nobody in quarantine; an era lasts as long as
/// a turn of it does.
#[derive(Debug)]
pub(super) struct Era {
    in_force: Arc<InForce>,
    pub(super) ward: Ward,
}

impl Era {
    pub(super) fn generation(&self) -> Generation {
        self.in_force.generation
    }

    pub(super) fn in_force(&self) -> &InForce {
        &self.in_force
    }
}

/// The newest era of a session, and how many turns it had.
#[derive(Debug)]
pub(super) struct Tenure {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    newest: Arc<Era>,
    turns: u32,
}

impl Tenure {
    pub(super) fn new(engine: &Engine) -> Self {
        let newest = Arc::new(Era { in_force: engine.in_force(), ward: Ward::default() });
        Self { state: Mutex::new(State { newest, turns: 0 }) }
    }

    /// Begins a turn, under the setup that is in force now. Returns its number, from 0.
    pub(super) fn begin(&self, engine: &Engine) -> (Arc<Era>, u32) {
        let mut state = self.lock();
        // Read under the lock: the newest era never gives way to an older one.
        let in_force = engine.in_force();
        if in_force.generation != state.newest.generation() {
            state.newest = Arc::new(Era { in_force, ward: Ward::default() });
        }
        let number = state.turns;
        state.turns = state.turns.saturating_add(1);
        (Arc::clone(&state.newest), number)
    }

    /// The era of the newest turn.
    pub(super) fn newest(&self) -> Arc<Era> {
        Arc::clone(&self.lock().newest)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is complete when it is made.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who stands before a writer in the order of a slot without having been asked: then what it writes is not to land.
///
/// `writer` may write where `bindings` hold it, the same component with the same configuration, limits and grants, and
/// where everyone before it was asked and failed. So a plan that comes late lands only if the newest setup would have
/// come to the same writer.
///
/// # Errors
///
/// The owner that the writer has to give way to; `None` where nobody owns the slot.
pub(super) fn may_write<'a>(
    bindings: &'a [Binding],
    writer: &Plugin,
    passed_over: &[Plugin],
) -> Result<(), Option<&'a Binding>> {
    for binding in bindings {
        if binding.plugin().is_same(writer) {
            return Ok(());
        }
        if !passed_over.iter().any(|passed| passed.is_same(binding.plugin())) {
            return Err(Some(binding));
        }
    }
    Err(None)
}

/// The owners of a slot in the newest era.
pub(super) fn bindings(era: &Era, slot: Slot) -> &[Binding] {
    era.in_force.setup.slots.bindings(slot)
}
