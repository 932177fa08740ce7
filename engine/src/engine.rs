//! The host in one value: counts, loads plugins, runs compactions.

use std::path::PathBuf;
use std::sync::Arc;

use crate::compaction::{self, CompactError, CompactOptions, Compacted};
use crate::hooks::Pressure;
use crate::plugin::{LoadError, LoadOptions, Plugin, Runtime, RuntimeError, Services};
use crate::selection::{self, Selection};
use crate::tokens::{EntryCounter, TiktokenCounter, TokenCounter, Vocabulary};
use crate::transcript::Entry;
use crate::view::{View, ViewOptions};

/// The host. Cheap to clone; clones share the plugin runtime and the counted tokens.
#[derive(Debug, Clone)]
pub struct Engine {
    runtime: Runtime,
    counter: EntryCounter,
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
        Ok(Engine { runtime: runtime.build()?, counter })
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
}
