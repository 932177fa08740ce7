//! The component side: adapters from the generated export traits to the hook traits.
//!
//! [`export!`](crate::export) names one [`Adapter`] per plugin type to the generated export macros. The adapter makes
//! the instance on `configure`, or with `{}` if a hook is called first, and turns borrowed resources into `&dyn View`.

mod host;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Once;

use crate::bindings::imports::contextengine::plugin::log;
use crate::bindings::imports::contextengine::plugin::types::View as AbiView;
use crate::bindings::{branch_summarizer, compressor, observer, plugin, reducer, selector, toolbox};
use crate::hooks::{BranchSummarizer, Compressor, Observer, Plugin, Reducer, Selector, Toolbox};
use crate::types::{
    BranchRequest, Compaction, CompressRequest, Decision, Description, Failure, Outcome, Plan, Pressure, ReduceRequest,
    Reduction, SelectRequest, Summary, Tool, Trigger, Turn,
};

pub use host::GuestHost;

/// Where the one instance of a component lives; implemented by [`export!`](crate::export).
pub trait Instance: Plugin + 'static {
    /// Hands out the cell that holds it.
    fn with_cell<R>(visit: impl FnOnce(&RefCell<Option<Rc<Self>>>) -> R) -> R;
}

/// Implements the generated export traits for a plugin.
#[derive(Debug)]
pub struct Adapter<P>(PhantomData<P>);

const HOST: GuestHost = GuestHost::new();

/// Sends the message and place of a panic to the host's log before the component traps; a trap alone says neither.
fn report_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| HOST.log(log::Level::Error, &panic.to_string())));
    });
}

/// The instance; made with `{}` where the host has not configured one.
fn instance<P: Instance>() -> Result<Rc<P>, String> {
    report_panics();
    // Not under one borrow: `configure` is the author's code and may do anything.
    let made = P::with_cell(|cell| cell.borrow().clone());
    made.map_or_else(|| install::<P>("{}"), Ok)
}

fn install<P: Instance>(config: &str) -> Result<Rc<P>, String> {
    let made = Rc::new(P::configure(config)?);
    P::with_cell(|cell| cell.replace(Some(Rc::clone(&made))));
    Ok(made)
}

fn hook<P: Instance>() -> Result<Rc<P>, Failure> {
    instance().map_err(|error| Failure::Failed(format!("not configured: {error}")))
}

impl<P: Instance> plugin::exports::contextengine::plugin::plugin::Guest for Adapter<P> {
    fn describe() -> Description {
        report_panics();
        P::describe()
    }

    fn configure(config: String) -> Result<(), String> {
        report_panics();
        install::<P>(&config).map(drop)
    }
}

impl<P: Instance + Compressor> compressor::exports::contextengine::plugin::compressor::Guest for Adapter<P> {
    fn should_compress(view: &AbiView, pressure: Pressure) -> Decision {
        match instance::<P>() {
            Ok(plugin) => plugin.should_compress(view, &HOST, &pressure),
            Err(error) => Decision::wait(format!("not configured: {error}")),
        }
    }

    fn compress(view: &AbiView, request: CompressRequest) -> Result<Outcome, Failure> {
        hook::<P>()?.compress(view, &HOST, &request)
    }
}

impl<P: Instance + Selector> selector::exports::contextengine::plugin::selector::Guest for Adapter<P> {
    fn select_context(view: &AbiView, request: SelectRequest) -> Result<Option<Plan>, Failure> {
        hook::<P>()?.select_context(view, &HOST, &request)
    }
}

impl<P: Instance + Reducer> reducer::exports::contextengine::plugin::reducer::Guest for Adapter<P> {
    fn reduce(request: ReduceRequest) -> Result<Reduction, Failure> {
        hook::<P>()?.reduce(&HOST, &request)
    }
}

impl<P: Instance + BranchSummarizer> branch_summarizer::exports::contextengine::plugin::branch_summarizer::Guest
    for Adapter<P>
{
    fn summarize_branch(view: &AbiView, request: BranchRequest) -> Result<Summary, Failure> {
        hook::<P>()?.summarize_branch(view, &HOST, &request)
    }
}

impl<P: Instance + Observer> observer::exports::contextengine::plugin::observer::Guest for Adapter<P> {
    fn on_turn_complete(view: &AbiView, turn: Turn) -> Result<(), Failure> {
        hook::<P>()?.on_turn_complete(view, &HOST, &turn)
    }

    fn before_compress(view: &AbiView, trigger: Trigger) -> Result<Option<String>, Failure> {
        hook::<P>()?.before_compress(view, &HOST, trigger)
    }

    fn after_compress(compaction: Compaction) -> Result<(), Failure> {
        hook::<P>()?.after_compress(&HOST, &compaction)
    }
}

impl<P: Instance + Toolbox> toolbox::exports::contextengine::plugin::toolbox::Guest for Adapter<P> {
    fn tools() -> Vec<Tool> {
        match instance::<P>() {
            Ok(plugin) => plugin.tools(),
            Err(error) => {
                HOST.log(log::Level::Error, &format!("no tools, as the plugin is not configured: {error}"));
                Vec::new()
            }
        }
    }

    fn call(name: String, arguments: String, view: &AbiView) -> Result<String, Failure> {
        hook::<P>()?.call(view, &HOST, &name, &arguments)
    }
}
