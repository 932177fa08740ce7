//! What happens in an engine, for those who watch it: a typed stream, `tracing`, and figures to export.
//!
//! Every event is told once and arrives in three places: counted in [`Metrics`], written to `tracing` (target
//! `contextengine::events`; figures and names, never text of a session or words of a plugin), and sent to whoever
//! listens on [`Engine::events`](crate::Engine::events). Listening costs the host nothing: a receiver that is slow misses
//! the oldest events and is told how many.

mod event;
mod log;
mod metrics;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

pub use event::{Event, EventKind, HookOutcome};
pub use metrics::{HookMetrics, MetricKind, Metrics, Sample};

use crate::slots::Generation;
use crate::store::{Clock, SystemClock};

/// Events that are kept for a receiver that is behind. A turn has some ten.
const KEPT: usize = 1_024;

/// Tells events. A clone tells the same listeners.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    metrics: Arc<Mutex<Metrics>>,
}

impl Default for Events {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(KEPT), metrics: Arc::default() }
    }
}

/// Where an event happens.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) session: Option<String>,
    pub(crate) generation: Generation,
    pub(crate) turn: Option<u32>,
}

impl Events {
    pub(crate) fn tell(&self, scope: &Scope, kind: EventKind) {
        let Scope { session, generation, turn } = scope.clone();
        let event = Event { at: SystemClock.now(), session, generation, turn, kind };
        self.metrics().count(&event.kind);
        log::write(&event);
        // Nobody listening is no error.
        let _ = self.sender.send(Arc::new(event));
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }

    pub(crate) fn snapshot(&self) -> Metrics {
        self.metrics().clone()
    }

    /// One more instance runs, until what is returned is dropped.
    pub(crate) fn running(&self) -> Running {
        {
            let mut metrics = self.metrics();
            metrics.instances_started += 1;
            metrics.instances_live += 1;
        }
        Running { metrics: Arc::clone(&self.metrics) }
    }

    fn metrics(&self) -> MutexGuard<'_, Metrics> {
        // Every change is an addition.
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts an instance as long as it lives.
#[derive(Debug)]
pub(crate) struct Running {
    metrics: Arc<Mutex<Metrics>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.instances_live = metrics.instances_live.saturating_sub(1);
    }
}
