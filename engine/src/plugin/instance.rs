use std::fmt;
use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Resource;

use super::bindings::exports::contextengine::plugin::{compressor, selector};
use super::call::{self, Broken, Call, Watch};
use super::convert;
use super::error::CallError;
use super::host::{HostState, Services};
use super::load::Plugin;
use crate::hooks::{CompressRequest, Decision, Hook, Outcome, Pressure, SelectRequest};
use crate::plan::Plan;
use crate::view::View;

/// A running plugin: for one session and one turn.
///
/// Its memory lasts from call to call, as a cache. After a call that did not end well (it broke off, a limit was
/// reached, the caller stopped waiting) the instance is given up, as nothing can be said about what its memory holds;
/// every later call answers [`CallError::Retired`] with the first cause. Make a new one then: it takes some
/// ten microseconds.
pub struct Instance {
    plugin: Plugin,
    compressor: Option<compressor::Guest>,
    selector: Option<selector::Guest>,
    /// Taken out while a call runs, and put back only when it ended well.
    store: Option<Store<HostState>>,
    /// Why there is no store.
    cause: Option<Arc<CallError>>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("plugin", &self.plugin).field("cause", &self.cause).finish_non_exhaustive()
    }
}

/// A call on its way.
struct Run {
    store: Store<HostState>,
    view: Resource<View>,
    watch: Watch,
}

impl Instance {
    /// Starts and configures a plugin.
    pub(super) async fn start(plugin: &Plugin, services: Services) -> Result<Self, CallError> {
        let limits = plugin.limits();
        let id = Arc::from(plugin.description().id.as_str());
        let mut store = call::new_store(plugin.runtime(), HostState::new(id, services, limits));
        let instance = plugin.instantiate(&mut store).await?;
        let internal =
            |error: wasmtime::Error| CallError::Internal { call: Call::Start.name(), reason: format!("{error:#}") };
        let guest = plugin.indices().plugin.load(&mut store, &instance).map_err(internal)?;
        let compressor = plugin.indices().compressor.as_ref();
        let compressor = compressor.map(|indices| indices.load(&mut store, &instance)).transpose().map_err(internal)?;
        let selector = plugin.indices().selector.as_ref();
        let selector = selector.map(|indices| indices.load(&mut store, &instance)).transpose().map_err(internal)?;

        let watch = Watch::start(&mut store, Call::Configure, limits);
        let answer = watch.wait(guest.call_configure(&mut store, plugin.config())).await;
        match answer {
            Ok(Ok(())) => Ok(Self { plugin: plugin.clone(), compressor, selector, store: Some(store), cause: None }),
            Ok(Err(reason)) => Err(CallError::Config { reason }),
            Err(broken) => Err(watch.explain(store.data(), broken)),
        }
    }

    /// The plugin that runs here.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Why the instance was given up, if it was.
    pub fn retired(&self) -> Option<&CallError> {
        self.cause.as_deref()
    }

    /// Should the context be compacted now? Pure: the plugin can neither change its state nor ask a model.
    pub async fn should_compress(&mut self, view: &View, pressure: &Pressure) -> Result<Decision, CallError> {
        let guest = self.compressor()?;
        let pressure = convert::pressure(pressure);
        let mut run = self.begin(Call::ShouldCompress, view)?;
        let view = Resource::new_borrow(run.view.rep());
        let answer = run.watch.wait(guest.call_should_compress(&mut run.store, view, &pressure)).await;
        self.finish(run, answer).map(convert::decision)
    }

    /// How should the context be compacted? The plan can still be anything; see [`crate::plan`].
    pub async fn compress(&mut self, view: &View, request: &CompressRequest) -> Result<Outcome, CallError> {
        let guest = self.compressor()?;
        let request = convert::compress_request(request);
        let mut run = self.begin(Call::Compress, view)?;
        let view = Resource::new_borrow(run.view.rep());
        let answer = run.watch.wait(guest.call_compress(&mut run.store, view, &request)).await;
        self.finish(run, answer)?.map(convert::outcome).map_err(|failure| CallError::Failed(convert::failure(failure)))
    }

    /// Which of it should this one request hold? `None` leaves it as it is. The plan can still be anything.
    pub async fn select_context(&mut self, view: &View, request: &SelectRequest) -> Result<Option<Plan>, CallError> {
        let guest = self.selector.clone().ok_or(CallError::NoSuchHook { hook: Hook::Selector })?;
        let request = convert::select_request(request);
        let mut run = self.begin(Call::SelectContext, view)?;
        let view = Resource::new_borrow(run.view.rep());
        let answer = run.watch.wait(guest.call_select_context(&mut run.store, view, &request)).await;
        self.finish(run, answer)?
            .map(|plan| plan.map(convert::plan))
            .map_err(|failure| CallError::Failed(convert::failure(failure)))
    }

    fn compressor(&self) -> Result<compressor::Guest, CallError> {
        self.compressor.clone().ok_or(CallError::NoSuchHook { hook: Hook::Compressor })
    }

    /// Takes the store out. If the call never comes back, because its future is dropped, the store goes with it.
    fn begin(&mut self, call: Call, view: &View) -> Result<Run, CallError> {
        let Some(mut store) = self.store.take() else {
            let cancelled = || Arc::new(CallError::Cancelled { call: call.name() });
            let cause = Arc::clone(self.cause.get_or_insert_with(cancelled));
            return Err(CallError::Retired { cause });
        };
        self.cause = Some(Arc::new(CallError::Cancelled { call: call.name() }));
        let watch = Watch::start(&mut store, call, self.plugin.limits());
        match call::lend(&mut store, view) {
            Ok(view) => Ok(Run { store, view, watch }),
            Err(error) => Err(self.give_up(watch.internal(&error))),
        }
    }

    /// Puts the store back if the call ended well, and gives the instance up if not.
    fn finish<R>(&mut self, mut run: Run, answer: Result<R, Broken>) -> Result<R, CallError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(broken) => return Err(self.give_up(run.watch.explain(run.store.data(), broken))),
        };
        if let Err(error) = call::take_back(&mut run.store, run.view) {
            return Err(self.give_up(run.watch.internal(&error)));
        }
        self.store = Some(run.store);
        self.cause = None;
        Ok(answer)
    }

    fn give_up(&mut self, error: CallError) -> CallError {
        self.cause = Some(Arc::new(error.clone()));
        error
    }
}
