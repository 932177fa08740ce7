//! What a plugin implements: [`Plugin`], and one trait for each hook that it wants to own.
//!
//! Every method takes `&self`: the memory of an instance is a cache that the host may drop after any turn. What must
//! last goes to [`Services::state_set`](crate::Services::state_set). A cache within an instance is a `Cell` or a
//! `RefCell` away; a hook is never entered while another one runs.

use crate::host::Host;
use crate::types::{
    BranchRequest, Compaction, CompressRequest, Decision, Description, Failure, Outcome, Plan, Pressure, ReduceRequest,
    Reduction, SelectRequest, Summary, Tool, Trigger, Turn,
};
use crate::view::View;

/// Every plugin is one.
pub trait Plugin: Sized {
    /// The name that configuration uses, `[a-z][a-z0-9-]*`.
    const ID: &'static str;

    /// What the plugin says of itself. Must always answer the same, without calling the host; `id` is [`Self::ID`].
    fn describe() -> Description;

    /// Makes the instance from a JSON object; `{}` where the operator configured nothing.
    ///
    /// The error names the key that is wrong and says what would be right, as
    /// [`config::parse`](crate::config::parse) does.
    fn configure(config: &str) -> Result<Self, String>;
}

/// Slot `compress`: replaces older entries for good.
pub trait Compressor: Plugin {
    /// Should the context be compacted now? Asked several times a turn: must not change state, should not read texts.
    fn should_compress(&self, view: &dyn View, host: &Host, pressure: &Pressure) -> Decision;

    /// How should it be compacted?
    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure>;
}

/// Slot `select`: shapes one request; nothing is stored.
pub trait Selector: Plugin {
    /// `None` leaves the request as it is.
    fn select_context(&self, view: &dyn View, host: &Host, request: &SelectRequest) -> Result<Option<Plan>, Failure>;
}

/// Slot `ingest`: shortens a tool result before it enters the view.
pub trait Reducer: Plugin {
    /// How much of it should the model see?
    fn reduce(&self, host: &Host, request: &ReduceRequest) -> Result<Reduction, Failure>;
}

/// Slot `branch`: summarises the branch that is being left.
pub trait BranchSummarizer: Plugin {
    /// What was done on the branch? The view holds only the entries after the common ancestor.
    fn summarize_branch(&self, view: &dyn View, host: &Host, request: &BranchRequest) -> Result<Summary, Failure>;
}

/// Watches; changes nothing in the context. Every method does nothing unless implemented.
pub trait Observer: Plugin {
    /// A turn ended; the view is what the next request would hold.
    fn on_turn_complete(&self, _view: &dyn View, _host: &Host, _turn: &Turn) -> Result<(), Failure> {
        Ok(())
    }

    /// The last chance to save something; the answer reaches the owner as [`CompressRequest::memory`].
    fn before_compress(&self, _view: &dyn View, _host: &Host, _trigger: Trigger) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// A compaction was recorded and applied.
    fn after_compress(&self, _host: &Host, _compaction: &Compaction) -> Result<(), Failure> {
        Ok(())
    }
}

/// Tools that the agent can offer to its model.
pub trait Toolbox: Plugin {
    /// The tools of this plugin; always the same.
    fn tools(&self) -> Vec<Tool>;

    /// Runs a tool; `arguments` is the JSON object that the model wrote. The answer is the tool's result.
    fn call(&self, view: &dyn View, host: &Host, name: &str, arguments: &str) -> Result<String, Failure>;
}
