use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use wasmtime::Store;
use wasmtime::component::Resource;

use super::call::{self, Broken, Call, Watch};
use super::convert;
use super::error::{CallError, LoadError};
use super::guests::Guests;
use super::host::{HostState, Services};
use super::load::Plugin;
use crate::hooks::{
    BranchRequest, CompactionNotice, CompressRequest, Decision, Outcome, Pressure, ReduceRequest, Reduction,
    SelectRequest, Trigger, TurnEnd,
};
use crate::plan::{Plan, Summary};
use crate::services::model::Allowance;
use crate::view::View;

/// A running plugin: for one session and one turn.
///
/// Its memory lasts from call to call, as a cache. After a call that did not end well (it broke off, a limit was
/// reached, the caller stopped waiting) the instance is given up, as nothing can be said about what its memory holds;
/// every later call answers [`CallError::Retired`] with the first cause. Make a new one then: it takes some
/// ten microseconds.
pub struct Instance {
    plugin: Plugin,
    guests: Guests,
    allowance: Allowance,
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

/// What a plugin used of the model in one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ModelUse {
    /// Calls.
    pub calls: u32,
    /// Tokens of the prompts, by the provider's count.
    pub input_tokens: u64,
    /// Tokens of the answers, by the provider's count.
    pub output_tokens: u64,
}

impl ModelUse {
    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: ModelUse) -> ModelUse {
        ModelUse {
            calls: self.calls.saturating_sub(earlier.calls),
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
        }
    }
}

/// A call on its way.
struct Run {
    store: Store<HostState>,
    view: Option<Resource<View>>,
    watch: Watch,
}

impl Run {
    /// The view that was lent, to pass on. The handle 0 of a call without one is never looked at.
    fn view(&self) -> Resource<View> {
        Resource::new_borrow(self.view.as_ref().map_or(0, Resource::rep))
    }
}

impl Instance {
    /// Starts and configures a plugin.
    pub(super) async fn start(plugin: &Plugin, services: Services) -> Result<Self, CallError> {
        let limits = plugin.limits();
        let state = HostState::new(plugin.access().clone(), services, limits);
        let allowance = state.model_allowance().clone();
        let mut store = call::new_store(plugin.runtime(), state);
        let instance = plugin.instantiate(&mut store).await?;
        // The same component had the right types when it was loaded.
        let internal = |error: LoadError| CallError::Internal { call: Call::Start.name(), reason: error.to_string() };
        let guests = plugin.indices().load(&mut store, &instance).map_err(internal)?;

        let watch = Watch::start(&mut store, Call::Configure, limits);
        let answer = watch.wait(guests.plugin.call_configure(&mut store, plugin.config())).await;
        match answer {
            Ok(Ok(())) => Ok(Self { plugin: plugin.clone(), guests, allowance, store: Some(store), cause: None }),
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

    /// Begins another attempt: the plugin may ask the model again as often as its limits allow.
    pub fn renew_model_allowance(&mut self) {
        if let Some(store) = &mut self.store {
            self.allowance = store.data_mut().renew_model_allowance(self.plugin.limits());
        }
    }

    /// What was used of the model since the start, or since [`renew_model_allowance`](Self::renew_model_allowance).
    pub fn model_use(&self) -> ModelUse {
        let (input_tokens, output_tokens) = self.allowance.tokens_used();
        ModelUse { calls: self.allowance.calls_made(), input_tokens, output_tokens }
    }

    /// Should the context be compacted now? Pure: the plugin can neither change its state nor ask a model.
    pub async fn should_compress(&mut self, view: &View, pressure: &Pressure) -> Result<Decision, CallError> {
        let guest = self.guests.compressor()?;
        let pressure = convert::pressure(pressure);
        let mut run = self.begin(Call::ShouldCompress, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_should_compress(&mut run.store, view, &pressure)).await;
        self.finish(run, answer).map(convert::decision)
    }

    /// How should the context be compacted? The plan can still be anything; see [`crate::plan`].
    pub async fn compress(&mut self, view: &View, request: &CompressRequest) -> Result<Outcome, CallError> {
        let guest = self.guests.compressor()?;
        let request = convert::compress_request(request);
        let mut run = self.begin(Call::Compress, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_compress(&mut run.store, view, &request)).await;
        self.finish(run, answer)?.map(convert::outcome).map_err(failed)
    }

    /// Which of it should this one request hold? `None` leaves it as it is. The plan can still be anything.
    pub async fn select_context(&mut self, view: &View, request: &SelectRequest) -> Result<Option<Plan>, CallError> {
        let guest = self.guests.selector()?;
        let request = convert::select_request(request);
        let mut run = self.begin(Call::SelectContext, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_select_context(&mut run.store, view, &request)).await;
        self.finish(run, answer)?.map(|plan| plan.map(convert::plan)).map_err(failed)
    }

    /// How much of a tool result should enter the view? The text can still be anything.
    pub async fn reduce(&mut self, request: &ReduceRequest) -> Result<Reduction, CallError> {
        let guest = self.guests.reducer()?;
        let request = convert::reduce_request(request);
        let mut run = self.begin(Call::Reduce, None)?;
        let answer = run.watch.wait(guest.call_reduce(&mut run.store, &request)).await;
        self.finish(run, answer)?.map(convert::reduction).map_err(failed)
    }

    /// What was done on the branch whose entries the view holds? The summary can still be anything.
    pub async fn summarize_branch(&mut self, view: &View, request: &BranchRequest) -> Result<Summary, CallError> {
        let guest = self.guests.branch_summarizer()?;
        let request = convert::branch_request(request);
        let mut run = self.begin(Call::SummarizeBranch, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_summarize_branch(&mut run.store, view, &request)).await;
        self.finish(run, answer)?.map(convert::summary).map_err(failed)
    }

    /// Tells an observer that a turn ended; the view is what the next request would hold.
    pub async fn on_turn_complete(&mut self, view: &View, turn: TurnEnd) -> Result<(), CallError> {
        let guest = self.guests.observer()?;
        let mut run = self.begin(Call::OnTurnComplete, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_on_turn_complete(&mut run.store, view, convert::turn(turn))).await;
        self.finish(run, answer)?.map_err(failed)
    }

    /// Gives an observer the last chance to save something of the view, for [`CompressRequest::memory`].
    pub async fn before_compress(&mut self, view: &View, trigger: Trigger) -> Result<Option<String>, CallError> {
        let guest = self.guests.observer()?;
        let mut run = self.begin(Call::BeforeCompress, Some(view))?;
        let view = run.view();
        let trigger = convert::trigger(trigger);
        let answer = run.watch.wait(guest.call_before_compress(&mut run.store, view, trigger)).await;
        self.finish(run, answer)?.map_err(failed)
    }

    /// Tells an observer that a compaction was recorded.
    pub async fn after_compress(&mut self, notice: &CompactionNotice) -> Result<(), CallError> {
        let guest = self.guests.observer()?;
        let notice = convert::compaction_notice(notice);
        let mut run = self.begin(Call::AfterCompress, None)?;
        let answer = run.watch.wait(guest.call_after_compress(&mut run.store, &notice)).await;
        self.finish(run, answer)?.map_err(failed)
    }

    /// Runs a tool. `arguments` is the JSON object that the agent's model wrote, the answer the tool's result.
    pub async fn call_tool(&mut self, name: &str, arguments: &str, view: &View) -> Result<String, CallError> {
        let guest = self.guests.toolbox()?;
        let mut run = self.begin(Call::RunTool, Some(view))?;
        let view = run.view();
        let answer = run.watch.wait(guest.call_call(&mut run.store, name, arguments, view)).await;
        self.finish(run, answer)?.map_err(failed)
    }

    /// Takes the store out. If the call never comes back, because its future is dropped, the store goes with it.
    fn begin(&mut self, call: Call, view: Option<&View>) -> Result<Run, CallError> {
        let Some(mut store) = self.store.take() else {
            let cancelled = || Arc::new(CallError::Cancelled { call: call.name() });
            let cause = Arc::clone(self.cause.get_or_insert_with(cancelled));
            return Err(CallError::Retired { cause });
        };
        self.cause = Some(Arc::new(CallError::Cancelled { call: call.name() }));
        let watch = Watch::start(&mut store, call, self.plugin.limits());
        match view.map(|view| call::lend(&mut store, view)).transpose() {
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
        if let Some(view) = run.view
            && let Err(error) = call::take_back(&mut run.store, view)
        {
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

/// The plugin itself said why there is no answer.
fn failed(failure: super::bindings::contextengine::plugin::types::Failure) -> CallError {
    CallError::Failed(convert::failure(failure))
}
