//! Shaping one request: a chain of selectors, each of which sees what the one before made. Nothing is stored.
//!
//! A link that fails, or whose plan is refused, is skipped, and the request goes on unchanged by it. So the worst that
//! a selector can do is nothing.

use crate::hooks::{Pressure, SelectRequest};
use crate::plan::{self, PlanRefused, Rules};
use crate::plugin::{CallError, Plugin, Services};
use crate::tokens::EntryCounter;
use crate::view::View;

/// What one link of the chain did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SelectionStep {
    /// It left the request as it was.
    Unchanged,
    /// It shaped the request.
    Shaped {
        /// Tokens of the request before.
        tokens_before: u32,
        /// Tokens of the request after.
        tokens_after: u32,
    },
    /// It gave no plan.
    Failed(CallError),
    /// Its plan was refused.
    Refused(PlanRefused),
}

/// One request, as the chain made it.
#[derive(Debug, Clone)]
pub struct Selection {
    view: View,
    steps: Vec<(String, SelectionStep)>,
}

impl Selection {
    /// What goes out.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The plugins in their order, by id, and what each did.
    pub fn steps(&self) -> &[(String, SelectionStep)] {
        &self.steps
    }
}

/// Runs the chain over a view.
pub(crate) async fn select(
    chain: &[Plugin],
    view: &View,
    pressure: &Pressure,
    incoming: Option<&str>,
    services: &Services,
    counter: &EntryCounter,
) -> Selection {
    let mut selection = Selection { view: view.clone(), steps: Vec::with_capacity(chain.len()) };
    for plugin in chain {
        let mut pressure = pressure.clone();
        pressure.entries = selection.view.tokens();
        let request = SelectRequest { pressure, incoming: incoming.map(str::to_owned) };
        let step = link(plugin, &mut selection.view, &request, services.clone(), counter).await;
        let id = plugin.description().id.clone();
        if let SelectionStep::Failed(_) | SelectionStep::Refused(_) = &step {
            tracing::warn!(plugin = id, ?step, "selector skipped");
        }
        selection.steps.push((id, step));
    }
    selection
}

/// Runs one link; replaces the view only by one that keeps the rules.
async fn link(
    plugin: &Plugin,
    view: &mut View,
    request: &SelectRequest,
    services: Services,
    counter: &EntryCounter,
) -> SelectionStep {
    let proposed = match plugin.instance(services).await {
        Ok(mut instance) => instance.select_context(view, request).await,
        Err(error) => Err(error),
    };
    let plan = match proposed {
        Ok(Some(plan)) => plan,
        Ok(None) => return SelectionStep::Unchanged,
        Err(error) => return SelectionStep::Failed(error),
    };
    let rules = Rules::for_request(request.pressure.budget());
    match plan::verify(plan, &plugin.description().id, view, &rules, counter) {
        Ok(verified) => {
            let tokens_before = view.tokens();
            *view = verified.apply().view().clone();
            SelectionStep::Shaped { tokens_before, tokens_after: view.tokens() }
        }
        Err(refused) => SelectionStep::Refused(refused),
    }
}
