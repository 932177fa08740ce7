//! Shaping one request with the chain of the turn.

use super::Turn;
use crate::events::EventKind;
use crate::hooks::{CacheState, Trigger};
use crate::plugin::Instance;
use crate::selection::{Selection, SelectionStep};
use crate::session::SessionError;
use crate::slots::Slot;

/// What is known of the request that is to be shaped.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SelectOptions {
    /// Text that is being answered, for relevance.
    pub incoming: Option<String>,
    /// Input tokens that the provider counted for the last request.
    pub measured: Option<u32>,
    /// What the provider's cache holds.
    pub cache: Option<CacheState>,
}

impl SelectOptions {
    /// Text that is being answered.
    #[must_use]
    pub fn with_incoming(mut self, text: impl Into<String>) -> Self {
        self.incoming = Some(text.into());
        self
    }

    /// Input tokens that the provider counted for the last request.
    #[must_use]
    pub fn with_measured(mut self, tokens: u32) -> Self {
        self.measured = Some(tokens);
        self
    }

    /// What the provider's cache holds.
    #[must_use]
    pub fn with_cache(mut self, cache: CacheState) -> Self {
        self.cache = Some(cache);
        self
    }
}

impl Turn {
    /// What one request should hold: the view, shaped by the chain of `select`. Nothing is stored. A link that fails is
    /// skipped, and the request goes on unchanged by it.
    ///
    /// # Errors
    ///
    /// [`SessionError::Strict`] if a link failed and the setup wants no substitutions.
    pub async fn select(&self, options: &SelectOptions) -> Result<Selection, SessionError> {
        let mut pressure = self.pressure(Trigger::PreTurn);
        pressure.measured = options.measured;
        pressure.cache = options.cache;
        let mut selection = Selection::of(&self.session.view());
        for link in self.bindings(Slot::Select) {
            let request = selection.request(&pressure, options.incoming.as_deref());
            let view = selection.view().clone();
            let question = async |instance: &mut Instance| instance.select_context(&view, &request).await;
            let answer = self.ask(Slot::Select, link, "select-context", question).await;
            let step = selection.take(link.id(), answer, pressure.budget(), self.engine().counter());
            if let SelectionStep::Refused(refused) = step {
                let defects = refused.defects().iter().map(|defect| defect.kind.name()).collect();
                self.tell(EventKind::PlanRefused { slot: Slot::Select, plugin: link.id().to_owned(), defects });
            }
            if let Some(reason) = step.skipped() {
                let plugin = link.id().to_owned();
                if self.setup().slots.strict() {
                    return Err(SessionError::Strict { slot: Slot::Select, plugin, reason });
                }
                self.tell(EventKind::LinkSkipped { plugin, reason });
            }
        }
        Ok(selection)
    }
}
