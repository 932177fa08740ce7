//! Shaping one request: a chain of selectors, each of which sees what the one before made. Nothing is stored.
//!
//! A link that fails, or whose plan is refused, is skipped, and the request goes on unchanged by it. So the worst that
//! a selector can do is nothing.

use std::sync::Arc;

use crate::hooks::{Pressure, SelectRequest};
use crate::plan::{self, Plan, PlanRefused, Rules};
use crate::plugin::{CallError, Plugin, Services};
use crate::slots::{NoAnswer, Quarantine};
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
    /// It was not asked, as it broke off before.
    Quarantined(Arc<Quarantine>),
}

impl SelectionStep {
    /// Why the link was skipped, if it was.
    pub fn skipped(&self) -> Option<String> {
        match self {
            SelectionStep::Unchanged | SelectionStep::Shaped { .. } => None,
            SelectionStep::Failed(error) => Some(error.to_string()),
            SelectionStep::Refused(defects) => Some(defects.to_string()),
            SelectionStep::Quarantined(quarantine) => Some(quarantine.to_string()),
        }
    }
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

impl Selection {
    /// Before the first link.
    pub(crate) fn of(view: &View) -> Self {
        Self { view: view.clone(), steps: Vec::new() }
    }

    /// What the next link is asked.
    pub(crate) fn request(&self, pressure: &Pressure, incoming: Option<&str>) -> SelectRequest {
        let mut pressure = pressure.clone();
        pressure.entries = self.view.tokens();
        SelectRequest { pressure, incoming: incoming.map(str::to_owned) }
    }

    /// Takes the answer of a link: the view becomes what it made, if that keeps the rules.
    pub(crate) fn take(
        &mut self,
        plugin: &str,
        answer: Result<Option<Plan>, NoAnswer>,
        budget: u32,
        counter: &EntryCounter,
    ) -> &SelectionStep {
        let step = match answer {
            Ok(Some(plan)) => self.shape(plugin, plan, budget, counter),
            Ok(None) => SelectionStep::Unchanged,
            Err(NoAnswer::Call(error)) => SelectionStep::Failed(error),
            Err(NoAnswer::Quarantined(quarantine)) => SelectionStep::Quarantined(quarantine),
        };
        let at = self.steps.len();
        self.steps.push((plugin.to_owned(), step));
        &self.steps[at].1
    }

    fn shape(&mut self, plugin: &str, plan: Plan, budget: u32, counter: &EntryCounter) -> SelectionStep {
        match plan::verify(plan, plugin, &self.view, &Rules::for_request(budget), counter) {
            Ok(verified) => {
                let tokens_before = self.view.tokens();
                self.view = verified.apply().view().clone();
                SelectionStep::Shaped { tokens_before, tokens_after: self.view.tokens() }
            }
            Err(refused) => SelectionStep::Refused(refused),
        }
    }
}

/// Runs a chain over a view, each link in an instance of its own.
pub(crate) async fn select(
    chain: &[Plugin],
    view: &View,
    pressure: &Pressure,
    incoming: Option<&str>,
    services: &Services,
    counter: &EntryCounter,
) -> Selection {
    let mut selection = Selection::of(view);
    for plugin in chain {
        let request = selection.request(pressure, incoming);
        let answer = match plugin.instance(services.clone()).await {
            Ok(mut instance) => instance.select_context(selection.view(), &request).await,
            Err(error) => Err(error),
        };
        let id = &plugin.description().id;
        let step = selection.take(id, answer.map_err(NoAnswer::Call), pressure.budget(), counter);
        if step.skipped().is_some() {
            tracing::warn!(plugin = id, "selector skipped");
        }
    }
    selection
}
