//! The host side of the ABI: what a plugin finds behind its imports.
//!
//! One module per interface. Each implements the generated trait on [`HostState`] and keeps its own state there; a
//! service that is not granted answers so and never traps. Nothing here runs longer than its input is long, or else
//! it is async, so that a call can be ended.

mod files;
mod log;
mod model;
mod recall;
mod state;
mod tokens;
mod view;
mod wasi;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use self::log::Log;
use self::state::Kept;
use self::wasi::Tail;
use super::limits::{Allowance, Limits};
use crate::hooks::Service;
use crate::services::model::{Allowance as ModelAllowance, ModelService};
use crate::services::{Folders, PluginState, Recall};
use crate::tokens::TokenCounter;

/// How much a message of a plugin matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the author of the plugin.
    Debug,
    /// For the curious.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

/// Takes the messages of a plugin.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Takes the progress of a plugin: done, of how many, at what.
pub type ProgressSink = Arc<dyn Fn(u32, u32, &str) + Send + Sync>;

/// What the host lends to one instance of a plugin.
#[derive(Clone)]
#[non_exhaustive]
pub struct Services {
    /// Counts tokens.
    pub counter: Arc<dyn TokenCounter>,
    /// Takes log messages. Default: they become `tracing` events.
    pub log: Option<LogSink>,
    /// Takes progress, at most twenty times a second. Default: nobody does.
    pub progress: Option<ProgressSink>,
    /// The model, for plugins that it is granted to. Default: there is none.
    pub model: Option<ModelService>,
    /// Where plugins keep what they want to remember of this session, and of all. Default: nowhere.
    pub state: Option<Arc<dyn PluginState>>,
    /// Search over this session, for plugins that it is granted to. Default: nothing is found.
    pub recall: Option<Arc<dyn Recall>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("counter", &self.counter)
            .field("log", &self.log.is_some())
            .field("progress", &self.progress.is_some())
            .field("model", &self.model)
            .field("state", &self.state)
            .field("recall", &self.recall)
            .finish()
    }
}

impl Services {
    /// Services that count with this counter.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, log: None, progress: None, model: None, state: None, recall: None }
    }

    /// The same with a taker of log messages.
    #[must_use]
    pub fn with_log(mut self, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(sink));
        self
    }

    /// The same with a taker of progress.
    #[must_use]
    pub fn with_progress(mut self, sink: impl Fn(u32, u32, &str) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(sink));
        self
    }

    /// The same with a model.
    #[must_use]
    pub fn with_model(mut self, model: ModelService) -> Self {
        self.model = Some(model);
        self
    }

    /// The same with a place for what plugins want to remember.
    #[must_use]
    pub fn with_state(mut self, state: Arc<dyn PluginState>) -> Self {
        self.state = Some(state);
        self
    }

    /// The same with search over the session.
    #[must_use]
    pub fn with_recall(mut self, recall: Arc<dyn Recall>) -> Self {
        self.recall = Some(recall);
        self
    }
}

/// Who a plugin is and what was granted to it: the same for all its instances.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) plugin: Arc<str>,
    pub(super) grants: BTreeSet<Service>,
    pub(super) folders: Arc<Folders>,
    /// Services that it asked for although they were not granted; each is told to the operator once.
    pub(super) warned: Arc<Mutex<BTreeSet<Service>>>,
}

impl Access {
    /// Nothing is granted.
    pub(super) fn none(plugin: Arc<str>) -> Self {
        Self { plugin, grants: BTreeSet::new(), folders: Arc::default(), warned: Arc::default() }
    }
}

/// What a plugin is being asked; some services answer differently then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Start-up, `describe`, `configure`: before any session.
    Setup,
    /// A question that must be pure.
    Decision,
    /// An observer is told something.
    Observation,
    /// A hook.
    Hook,
}

/// The data of one store: one instance of one plugin.
pub(super) struct HostState {
    pub(super) allowance: Allowance,
    pub(super) activity: Activity,
    /// When the running call is ended.
    pub(super) deadline: Instant,
    pub(super) table: ResourceTable,
    access: Access,
    counter: Arc<dyn TokenCounter>,
    model: Option<ModelService>,
    model_allowance: ModelAllowance,
    state: Option<Arc<dyn PluginState>>,
    kept: Kept,
    recall: Option<Arc<dyn Recall>>,
    log: Log,
    stderr: Tail,
    wasi: WasiCtx,
}

impl HostState {
    pub(super) fn new(access: Access, services: Services, limits: &Limits) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let stderr = Tail::default();
        Self {
            allowance: Allowance::new(limits.memory_bytes),
            activity: Activity::Setup,
            deadline: Instant::now(),
            table,
            counter: services.counter,
            model: services.model,
            model_allowance: ModelAllowance::new(limits.model_calls, limits.model_tokens),
            state: services.state,
            kept: Kept::new(limits.state_bytes),
            recall: services.recall,
            log: Log::new(Arc::clone(&access.plugin), services.log, services.progress, limits.log_bytes),
            wasi: wasi::nothing_granted(stderr.clone()),
            stderr,
            access,
        }
    }

    pub(super) fn model_allowance(&self) -> &ModelAllowance {
        &self.model_allowance
    }

    /// Gives what a new attempt may use of the model.
    pub(super) fn renew_model_allowance(&mut self, limits: &Limits) -> ModelAllowance {
        self.model_allowance = ModelAllowance::new(limits.model_calls, limits.model_tokens);
        self.model_allowance.clone()
    }

    /// Whether the plugin may use a service. Where it may not, the operator is told the first time that it tries.
    fn granted(&mut self, service: Service) -> bool {
        if self.access.grants.contains(&service) {
            return true;
        }
        let mut warned = self.access.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.activity != Activity::Setup && warned.insert(service);
        drop(warned);
        if first {
            let (plugin, name) = (Arc::clone(&self.access.plugin), service.name());
            self.log.warn(&format!(
                "`{plugin}` asked for the service `{name}`, which is not granted to it; if you trust it with that, add \
                 \"{name}\" to `grant` in [plugins.{plugin}]"
            ));
        }
        false
    }

    /// Before each call: what the last one used is given back.
    pub(super) fn begin(&mut self, activity: Activity, deadline: Instant) {
        self.activity = activity;
        self.deadline = deadline;
        self.allowance.forget();
        self.log.begin();
        self.stderr.clear();
    }

    /// What the plugin last said about itself in this call, before it broke off: the errors that it logged, else
    /// what it wrote to its standard error.
    pub(super) fn last_words(&self) -> Option<String> {
        self.log.last_errors().or_else(|| self.stderr.text())
    }
}

/// Live resources of one store, such as streams of WASI. A view takes one.
const MAX_RESOURCES: usize = 10_000;

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
