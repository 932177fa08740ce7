//! One call of a plugin under its limits, and what its end means.

use std::future::Future;
use std::time::{Duration, Instant};

use wasmtime::component::Resource;
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::error::CallError;
use super::host::{Activity, HostState};
use super::limits::Limits;
use super::runtime::Runtime;
use crate::view::View;

/// Live handles of a component in one store. A hook holds a view; what more there is comes from WASI.
const MAX_HANDLES: usize = 10_000;

/// How much later than a plugin a host call is ended. A plugin that computes ends by itself and says where; this is
/// for one that waits.
const GRACE: Duration = Duration::from_millis(250);

/// Bytes of a plugin's last words that are shown.
const WORDS: usize = 4 << 10;

/// Frames of a backtrace that are shown.
const FRAMES: usize = 5;

/// What a plugin is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Start,
    Describe,
    Configure,
    ShouldCompress,
    Compress,
    SelectContext,
    Reduce,
    SummarizeBranch,
    OnTurnComplete,
    BeforeCompress,
    AfterCompress,
    Tools,
    RunTool,
}

impl Call {
    pub(super) fn name(self) -> &'static str {
        match self {
            Call::Start => "start",
            Call::Describe => "describe",
            Call::Configure => "configure",
            Call::ShouldCompress => "should-compress",
            Call::Compress => "compress",
            Call::SelectContext => "select-context",
            Call::Reduce => "reduce",
            Call::SummarizeBranch => "summarize-branch",
            Call::OnTurnComplete => "on-turn-complete",
            Call::BeforeCompress => "before-compress",
            Call::AfterCompress => "after-compress",
            Call::Tools => "tools",
            Call::RunTool => "call",
        }
    }

    fn activity(self) -> Activity {
        match self {
            Call::Start | Call::Describe | Call::Configure | Call::Tools => Activity::Setup,
            Call::ShouldCompress => Activity::Decision,
            Call::OnTurnComplete | Call::BeforeCompress | Call::AfterCompress => Activity::Observation,
            Call::Compress | Call::SelectContext | Call::Reduce | Call::SummarizeBranch | Call::RunTool => {
                Activity::Hook
            }
        }
    }

    /// The time it may take, and the key of the configuration that sets it.
    fn time(self, limits: &Limits) -> (Duration, &'static str) {
        match self.activity() {
            Activity::Setup => (limits.setup_time, "setup_time"),
            Activity::Decision => (limits.decision_time, "decision_time"),
            Activity::Observation => (limits.observer_time, "observer_time"),
            Activity::Hook => (limits.time, "time"),
        }
    }
}

/// A store in which a plugin can run for as long as its calls allow.
pub(super) fn new_store(runtime: &Runtime, state: HostState) -> Store<HostState> {
    let mut store = Store::new(runtime.engine(), state);
    store.limiter(|state| &mut state.allowance);
    store.set_max_component_handles(MAX_HANDLES);
    store.epoch_deadline_callback(|store| {
        Ok(if Instant::now() >= store.data().deadline {
            UpdateDeadline::Interrupt
        } else {
            // Lets the other tasks of the thread run. The engine's own way to yield would be first in line again.
            UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))
        })
    });
    store
}

/// The limits of one call. There is one for every call: a deadline that is set once ends only the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    call: Call,
    time: Duration,
    key: &'static str,
    output: u64,
}

/// A call ended without an answer of the plugin.
pub(super) enum Broken {
    Late,
    Error(wasmtime::Error),
}

impl Watch {
    /// Starts the clock and gives back what the last call used.
    pub(super) fn start(store: &mut Store<HostState>, call: Call, limits: &Limits) -> Self {
        let (time, key) = call.time(limits);
        let now = Instant::now();
        // A time that cannot be added is one that nobody will wait for.
        let deadline = now.checked_add(time).unwrap_or_else(|| now + Duration::from_secs(86_400 * 365));
        store.data_mut().begin(call.activity(), deadline);
        store.set_epoch_deadline(1);
        store.set_hostcall_fuel(usize::try_from(limits.output_bytes).unwrap_or(usize::MAX));
        Self { call, time, key, output: limits.output_bytes }
    }

    /// Waits for the call, a little longer than the plugin may run.
    pub(super) async fn wait<R>(self, call: impl Future<Output = wasmtime::Result<R>>) -> Result<R, Broken> {
        match tokio::time::timeout(self.time.saturating_add(GRACE), call).await {
            Ok(result) => result.map_err(Broken::Error),
            Err(_) => Err(Broken::Late),
        }
    }

    /// What a call that broke means for people.
    pub(super) fn explain(self, state: &HostState, broken: Broken) -> CallError {
        let call = self.call.name();
        let late = CallError::TimeLimit { call, limit: self.time, key: self.key };
        let error = match broken {
            Broken::Late => return late,
            Broken::Error(error) => error,
        };
        let trap = error.downcast_ref::<Trap>();
        if trap == Some(&Trap::Interrupt) {
            return late;
        }
        let engine = error.root_cause().to_string();
        // The engine has no public type for it.
        if engine.contains("fuel allocated for hostcalls") {
            return CallError::OutputLimit { call, limit: self.output };
        }
        if let Some(requested) = state.allowance.denied() {
            return CallError::MemoryLimit { call, limit: state.allowance.limit(), requested };
        }
        let aborted = trap == Some(&Trap::UnreachableCodeReached);
        let engine = match (trap, error.downcast_ref::<I32Exit>()) {
            (_, Some(exit)) => format!("it called exit({})", exit.0),
            (Some(Trap::UnreachableCodeReached), _) => "it aborted (unreachable)".to_owned(),
            (Some(Trap::StackOverflow), _) => "it ran out of stack; is there an endless recursion?".to_owned(),
            (Some(Trap::MemoryOutOfBounds), _) => {
                "it reached beyond its memory; in a compiled language that is most often an endless recursion"
                    .to_owned()
            }
            _ => engine,
        };
        let words = state.last_words();
        // A stripped component has only numbers, which say less than any words.
        let backtrace = backtrace(&error, words.is_none());
        let message = match words {
            Some(words) if aborted => end_of(&words).to_owned(),
            Some(words) => format!("{}; {engine}", end_of(&words)),
            None => engine,
        };
        CallError::Trap { call, message, backtrace }
    }

    /// A call that failed on the host's side.
    pub(super) fn internal(self, reason: &wasmtime::Error) -> CallError {
        CallError::Internal { call: self.call.name(), reason: format!("{reason:#}") }
    }
}

fn end_of(words: &str) -> &str {
    &words[words.ceil_char_boundary(words.len().saturating_sub(WORDS))..]
}

/// The innermost functions, each once however often it calls itself. Where no name is known, their numbers, or
/// nothing.
fn backtrace(error: &wasmtime::Error, numbers: bool) -> String {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    if !numbers && frames.iter().all(|frame| frame.func_name().is_none()) {
        return String::new();
    }
    let mut names: Vec<String> = frames
        .iter()
        .map(|frame| frame.func_name().map_or_else(|| format!("function {}", frame.func_index()), str::to_owned))
        .collect();
    names.dedup();
    names.truncate(FRAMES);
    names.join(", called by ")
}

/// Lends a view to a plugin for one call.
pub(super) fn lend(store: &mut Store<HostState>, view: &View) -> wasmtime::Result<Resource<View>> {
    Ok(store.data_mut().table.push(view.clone())?)
}

/// Takes a lent view back.
pub(super) fn take_back(store: &mut Store<HostState>, view: Resource<View>) -> wasmtime::Result<()> {
    store.data_mut().table.delete(view)?;
    Ok(())
}
