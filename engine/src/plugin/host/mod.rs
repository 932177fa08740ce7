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

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use self::log::Log;
use self::wasi::Tail;
use super::limits::{Allowance, Limits};
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
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("counter", &self.counter)
            .field("log", &self.log.is_some())
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

impl Services {
    /// Services that count with this counter.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, log: None, progress: None }
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
}

/// What a plugin is being asked; some services answer differently then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Start-up, `describe`, `configure`: before any session.
    Setup,
    /// A question that must be pure.
    Decision,
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
    counter: Arc<dyn TokenCounter>,
    log: Log,
    stderr: Tail,
    wasi: WasiCtx,
}

impl HostState {
    pub(super) fn new(plugin: Arc<str>, services: Services, limits: &Limits) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let stderr = Tail::default();
        Self {
            allowance: Allowance::new(limits.memory_bytes),
            activity: Activity::Setup,
            deadline: Instant::now(),
            table,
            counter: services.counter,
            log: Log::new(plugin, services.log, services.progress, limits.log_bytes),
            wasi: wasi::nothing_granted(stderr.clone()),
            stderr,
        }
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
