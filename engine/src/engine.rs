//! The host in one value: counts, loads plugins, holds the setup in force, runs compactions.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::broadcast;

use crate::compaction::{self, CompactError, CompactOptions, Compacted};
use crate::events::{Event, EventKind, Events, Metrics, Scope};
use crate::hooks::Pressure;
use crate::plugin::{LoadError, LoadOptions, Plugin, Runtime, RuntimeError, Services};
use crate::selection::{self, Selection};
use crate::setup::Setup;
use crate::slots::{self, Generation, Installed, Slots};
use crate::succession::{self, Succession};
use crate::tokens::{EntryCounter, TiktokenCounter, TokenCounter, Vocabulary};
use crate::transcript::Entry;
use crate::view::{View, ViewOptions};

/// The host. Cheap to clone; clones share the plugin runtime, the counted tokens, the setup in force and the events.
#[derive(Debug, Clone)]
pub struct Engine {
    runtime: Runtime,
    counter: EntryCounter,
    in_force: Arc<RwLock<Arc<InForce>>>,
    events: Events,
}

/// A setup and its number.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) generation: Generation,
    pub(crate) setup: Setup,
}

/// Makes an [`Engine`].
#[derive(Debug, Default)]
pub struct EngineBuilder {
    counter: Option<EntryCounter>,
    cache_dir: Option<PathBuf>,
}

impl EngineBuilder {
    /// Counts with another tokenizer. Default: `o200k_base`.
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Some(EntryCounter::new(counter));
        self
    }

    /// Keeps compiled plugins in this folder, which must be the user's own. Default: plugins are compiled anew by
    /// each process. See [`crate::plugin::default_cache_dir`].
    pub fn cache_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(folder.into());
        self
    }

    /// Starts the plugin runtime.
    ///
    /// # Errors
    ///
    /// The cache folder cannot be used, or the machine cannot run compiled WebAssembly.
    pub fn build(self) -> Result<Engine, RuntimeError> {
        let runtime = Runtime::builder();
        let runtime = match self.cache_dir {
            Some(folder) => runtime.cache_dir(folder),
            None => runtime,
        };
        let counter = self.counter.unwrap_or_else(|| EntryCounter::new(TiktokenCounter::new(Vocabulary::default())));
        let in_force = InForce { generation: Generation::default(), setup: Setup::nothing() };
        let in_force = Arc::new(RwLock::new(Arc::new(in_force)));
        Ok(Engine { runtime: runtime.build()?, counter, in_force, events: Events::default() })
    }
}

impl Engine {
    /// Settings for a new engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Loads a plugin from the bytes of a WebAssembly component. It claims nothing by that.
    ///
    /// # Errors
    ///
    /// The bytes are not a plugin that this host can serve, or it does not accept its configuration.
    pub async fn load(&self, component: &[u8], options: LoadOptions) -> Result<Plugin, LoadError> {
        Plugin::load(&self.runtime, component, options).await
    }

    /// Puts a setup in force, as a whole: turns that begin from now on have it. Turns that have begun keep the one that
    /// they began with, but what they still write to a slot is refused where its owner is another one by then; see
    /// [`Turn::compact`](crate::session::Turn::compact). Lifts every quarantine.
    pub fn install(&self, setup: Setup) -> Installed {
        let installed = {
            let mut in_force = self.in_force.write().unwrap_or_else(PoisonError::into_inner);
            let generation = in_force.generation.next();
            let changes = slots::changes(&in_force.setup.slots, &setup.slots);
            *in_force = Arc::new(InForce { generation, setup });
            Installed { generation, changes }
        };
        let scope = Scope { session: None, generation: installed.generation, turn: None };
        self.events.tell(&scope, EventKind::Installed { changes: installed.changes.clone() });
        installed
    }

    /// The setup in force. Before the first [`install`](Self::install) nobody owns anything and the window is as large as
    /// can be, so the host decides nothing by itself.
    pub fn setup(&self) -> Setup {
        self.in_force().setup.clone()
    }

    /// Who owns what, by the setup in force.
    pub fn slots(&self) -> Slots {
        self.in_force().setup.slots.clone()
    }

    /// Number of the setup in force; 0 before the first [`install`](Self::install).
    pub fn generation(&self) -> Generation {
        self.in_force().generation
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What happens from now on, in all sessions of this engine. A receiver that is more than 1,024 events behind misses
    /// the oldest, and is told how many (`RecvError::Lagged`).
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.listen()
    }

    /// What happened so far, in figures.
    pub fn metrics(&self) -> Metrics {
        self.events.snapshot()
    }

    pub(crate) fn teller(&self) -> &Events {
        &self.events
    }

    /// A view of entries, in the order in which the model reads them.
    pub fn view(&self, entries: Vec<Arc<Entry>>, options: ViewOptions) -> View {
        View::new(entries, &self.counter, options)
    }

    /// What counts tokens.
    pub fn counter(&self) -> &EntryCounter {
        &self.counter
    }

    /// What a plugin is lent by default: a counter, and nothing that has to be granted.
    pub fn services(&self) -> Services {
        Services::new(Arc::clone(self.counter.counter()))
    }

    /// Shapes one request with a chain of selectors, in their order. Nothing is stored, and a link that fails is
    /// skipped: see [`Selection::steps`]. `incoming` is the text that is being answered.
    pub async fn select(
        &self,
        chain: &[Plugin],
        view: &View,
        pressure: &Pressure,
        incoming: Option<&str>,
        services: &Services,
    ) -> Selection {
        selection::select(chain, view, pressure, incoming, services, &self.counter).await
    }

    /// Compacts a view with a plugin: it proposes, the plan is verified, then applied. The view stays as it is.
    ///
    /// # Errors
    ///
    /// The plugin gave no plan, or none that keeps the rules.
    pub async fn compact(
        &self,
        plugin: &Plugin,
        view: &View,
        options: &CompactOptions,
        services: Services,
    ) -> Result<Compacted, CompactError> {
        compaction::compact(plugin, view, options, services, &self.counter).await
    }

    /// Compacts a view with the owner of `compress`, or with a successor where it fails: for programs that keep their own
    /// transcript. Those that keep it in a store have [`Turn::compact`](crate::session::Turn::compact).
    ///
    /// # Errors
    ///
    /// [`CompactError::NoneLeft`] with all who were asked, or the owner's failure where `slots` are strict.
    pub async fn compact_by(
        &self,
        slots: &Slots,
        view: &View,
        options: &CompactOptions,
        services: &Services,
    ) -> Result<Succession, CompactError> {
        succession::compact(self, slots, view, options, services).await
    }
}
