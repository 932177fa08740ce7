//! Appending in a turn: the owner of `ingest` sees each tool result before it enters the log.

use super::Turn;
use crate::events::EventKind;
use crate::hooks::{ReduceRequest, Reduction};
use crate::plugin::Instance;
use crate::session::SessionError;
use crate::session::ingest::{only_text, shorten};
use crate::slots::{Binding, Slot};
use crate::transcript::Entry;

/// An entry on its way into the log.
struct Incoming {
    whole: Entry,
    /// The same, shortened by the owner of `ingest`.
    short: Option<Entry>,
}

impl Turn {
    /// Appends entries, as [`Session::append`](crate::session::Session::append) does, tool results as the owner of
    /// `ingest` shortens them. The log keeps their whole text, and the shortened one says how to get it.
    ///
    /// Where the owner fails, where what it wrote is empty or saves nothing, or where another one owns the slot by the
    /// time it is written, the result enters whole.
    ///
    /// # Errors
    ///
    /// Those of [`Session::append`](crate::session::Session::append), and [`SessionError::Strict`] if the owner failed
    /// and the setup wants no substitutions. Nothing was appended then.
    pub async fn append(&self, entries: Vec<Entry>) -> Result<(), SessionError> {
        let Some(owner) = self.bindings(Slot::Ingest).first() else { return self.session.append(entries).await };
        let mut incoming = Vec::with_capacity(entries.len());
        for whole in entries {
            let short = self.shortened(owner, &whole).await?;
            incoming.push(Incoming { whole, short });
        }
        if incoming.iter().all(|entry| entry.short.is_none()) {
            return self.session.append(incoming.into_iter().map(|entry| entry.whole).collect()).await;
        }
        let permit = self.permit(Slot::Ingest, owner.plugin().clone(), Vec::new());
        let choose = move || {
            let permitted = permit.check().is_ok();
            let chosen = |entry: Incoming| entry.short.filter(|_| permitted).unwrap_or(entry.whole);
            incoming.into_iter().map(chosen).collect()
        };
        self.session.append_chosen(choose).await
    }

    /// The entry as the owner shortens it; `None` where it stays whole.
    async fn shortened(&self, owner: &Binding, whole: &Entry) -> Result<Option<Entry>, SessionError> {
        let (Some(result), Some(text)) = (whole.tool_result(), only_text(whole)) else { return Ok(None) };
        let counter = self.engine().counter().counter();
        let request =
            ReduceRequest { result: result.clone(), tokens: counter.count(text), window: self.window().tokens };
        let question = async |instance: &mut Instance| instance.reduce(&request).await;
        let reduction = match self.ask(Slot::Ingest, owner, "reduce", question).await {
            Ok(reduction) => reduction,
            Err(error) => {
                self.substitute(Slot::Ingest, owner.id(), None, error)?;
                return Ok(None);
            }
        };
        let Reduction::Replace(text) = reduction else { return Ok(None) };
        match shorten(whole, &text, &**counter) {
            Ok((entry, tokens_after)) => {
                self.tell(EventKind::ResultShortened {
                    plugin: owner.id().to_owned(),
                    entry: entry.id.clone(),
                    tokens_before: request.tokens,
                    tokens_after,
                });
                Ok(Some(entry))
            }
            Err(reason) => {
                self.substitute(Slot::Ingest, owner.id(), None, reason)?;
                Ok(None)
            }
        }
    }
}
