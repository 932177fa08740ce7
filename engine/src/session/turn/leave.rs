//! Leaving a branch in a turn: its owner says what was done there, or else the host does.

use super::Turn;
use crate::events::EventKind;
use crate::hooks::BranchRequest;
use crate::plan::Summary;
use crate::plugin::Instance;
use crate::session::SessionError;
use crate::session::branch::{Author, Departure, Farewell, plain_list};
use crate::slots::{Binding, HOST_BRANCH_LIST, Slot};
use crate::transcript::EntryId;
use crate::view::View;

/// What is wanted of the summary of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaveOptions {
    /// The longest summary, in tokens. Default 4,000: a few pages, and a fortieth of what a window of 200,000 tokens
    /// leaves for entries.
    pub budget: u32,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
}

impl Default for LeaveOptions {
    fn default() -> Self {
        Self { budget: 4_000, focus: None }
    }
}

impl LeaveOptions {
    /// Another longest summary, in tokens.
    #[must_use]
    pub fn with_budget(mut self, tokens: u32) -> Self {
        self.budget = tokens;
        self
    }

    /// What the person asked to keep in focus.
    #[must_use]
    pub fn with_focus(mut self, focus: impl Into<String>) -> Self {
        self.focus = Some(focus.into());
        self
    }
}

/// How a branch was left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftBranch {
    /// The entry that says what was done there, now the last one of the branch in use; `None` where nothing was done, or
    /// where the budget is too small for a word.
    pub summary: Option<EntryId>,
    /// Who wrote it: the id of a plugin, or [`HOST_BRANCH_LIST`].
    pub owner: Option<String>,
}

impl Turn {
    /// Puts another branch in use, as [`Session::switch`](crate::session::Session::switch) does, and appends to it what
    /// was done on the one that is left: in the words of the owner of `branch`, or, where there is none or it failed, as
    /// the host's own list. The branch that is left stays in the log.
    ///
    /// # Errors
    ///
    /// There is no such entry; [`SessionError::Superseded`] if another one owns the slot by the time it is written;
    /// [`SessionError::Strict`] if the owner failed and the setup wants no substitutions; or the store failed. The branch
    /// in use is as it was then.
    pub async fn leave_branch(&self, to: Option<EntryId>, options: &LeaveOptions) -> Result<LeftBranch, SessionError> {
        let Some(departure) = self.session.departure(to.as_ref()).await? else {
            self.session.switch(to).await?;
            return Ok(LeftBranch { summary: None, owner: None });
        };
        let view = self.engine().view(departure.entries.clone(), self.session.shared.options);
        let owner = self.bindings(Slot::Branch).first();
        let written = match owner {
            Some(owner) => self.summarised(owner, &view, options).await?.map(|summary| (owner, summary)),
            None => None,
        };
        let Some((owner, summary)) = written else { return self.listed(to, departure, &view, options).await };
        let author = Author {
            owner: owner.id().to_owned(),
            version: owner.plugin().description().version.clone(),
            component_hash: owner.plugin().component_hash().to_owned(),
        };
        let farewell = Farewell { text: summary.text, details: summary.details, author };
        let permit = self.permit(Slot::Branch, owner.plugin().clone(), Vec::new());
        let entry = self.session.depart(to, departure, farewell, || permit.check()).await?;
        Ok(self.left(entry, owner.id()))
    }

    /// The summary of the owner, if it is one.
    async fn summarised(
        &self,
        owner: &Binding,
        view: &View,
        options: &LeaveOptions,
    ) -> Result<Option<Summary>, SessionError> {
        let request = BranchRequest { budget: options.budget, focus: options.focus.clone() };
        let question = async |instance: &mut Instance| instance.summarize_branch(view, &request).await;
        let wrong = match self.ask(Slot::Branch, owner, "summarize-branch", question).await {
            Ok(summary) => match self.defect(&summary, view, options.budget) {
                None => return Ok(Some(summary)),
                Some(defect) => defect,
            },
            Err(error) => error.to_string(),
        };
        self.substitute(Slot::Branch, owner.id(), None, wrong)?;
        Ok(None)
    }

    /// Why a summary is not taken, if so.
    fn defect(&self, summary: &Summary, view: &View, budget: u32) -> Option<String> {
        if summary.text.trim().is_empty() {
            return Some("its summary is empty".to_owned());
        }
        let tokens = self.engine().counter().counter().count(&summary.text);
        if tokens > budget {
            return Some(format!("its summary takes {tokens} tokens, and {budget} were wanted"));
        }
        let mut next = 0;
        for span in &summary.covers {
            if span.start != next || span.end < span.start {
                break;
            }
            next = span.end;
        }
        (next != view.len()).then(|| {
            let all = view.len();
            format!("its summary has to cover the whole branch, positions 0 to {all}, in order; at {next} it does not")
        })
    }

    /// Leaves the branch with the host's own list.
    async fn listed(
        &self,
        to: Option<EntryId>,
        departure: Departure,
        view: &View,
        options: &LeaveOptions,
    ) -> Result<LeftBranch, SessionError> {
        let Some(text) = plain_list(view, options.budget, &**self.engine().counter().counter()) else {
            self.session.switch(to).await?;
            return Ok(LeftBranch { summary: None, owner: None });
        };
        let author = Author {
            owner: HOST_BRANCH_LIST.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            component_hash: String::new(),
        };
        let farewell = Farewell { text, details: None, author };
        let entry = self.session.depart(to, departure, farewell, || Ok(())).await?;
        Ok(self.left(entry, HOST_BRANCH_LIST))
    }

    fn left(&self, entry: EntryId, owner: &str) -> LeftBranch {
        self.tell(EventKind::BranchLeft { owner: owner.to_owned(), entry: entry.clone() });
        LeftBranch { summary: Some(entry), owner: Some(owner.to_owned()) }
    }
}
