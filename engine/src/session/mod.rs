//! One conversation, kept in a store: append, see, compact, go back.
//!
//! A [`Session`] joins an engine and a store. Entries are appended to the log and never change. What the model sees is
//! a [`View`] over the branch in use: the context of the compaction in force, and everything appended behind what that
//! compaction covers.
//!
//! A compaction runs in five steps: **freeze** (the view as it is now, and the digest of its branch), **propose** (the
//! strategy, under limits), **verify**, **persist** (a record in the log, by compare-and-swap, under a lease), **apply**.
//! Entries can be appended all the while; they are kept behind the result. A branch switch, an undo or another
//! compaction in between makes the proposal stale, and nothing is changed.

mod branch;
mod commit;
mod context;
mod error;
mod ingest;
mod lease;
mod services;
mod tenure;
mod turn;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use commit::{SessionCompactOptions, SessionCompacted};
pub use error::SessionError;
pub use turn::{LeaveOptions, LeftBranch, SelectOptions, ToolOutcome, Turn, TurnCompactOptions, TurnDecision};

use self::context::Context;
use self::tenure::Tenure;
use crate::compaction::Window;
use crate::engine::Engine;
use crate::format::{self, Format, Written};
use crate::hooks::Trigger;
use crate::plugin::{Plugin, Services};
use crate::selection::Selection;
use crate::slots::{Generation, Quarantine};
use crate::store::{
    Clock, Head, Leaf, LogBody, LogRecord, NewRecord, NewSession, Page, SessionInfo, SessionKey, Store, SystemClock,
    Undo,
};
use crate::transcript::{Digest, Entry, EntryId, Timestamp};
use crate::view::{View, ViewOptions};

/// A conversation in a store. Cheap to clone; clones are the same session.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    store: Arc<dyn Store>,
    key: SessionKey,
    name: String,
    options: ViewOptions,
    state: Mutex<State>,
    /// One writer at a time within this process; other processes are told by the store.
    writing: tokio::sync::Mutex<()>,
    tenure: Tenure,
}

/// What is known of the session without asking the store.
#[derive(Debug, Clone)]
struct State {
    head: Head,
    context: Context,
    /// Made when first asked for. It may lag behind the context, which grows at its end; what it holds was counted.
    view: Option<View>,
}

/// How full a session is and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatus {
    /// Its name in the store.
    pub name: String,
    /// Entries that the model sees.
    pub entries: u32,
    /// Their tokens.
    pub tokens: u32,
    /// Entries on the branch in use, also those that compactions replaced.
    pub depth: u64,
    /// The last entry of the branch.
    pub leaf: Option<EntryId>,
    /// The compaction in force.
    pub compaction: Option<EntryId>,
    /// The setup of its newest turn.
    pub generation: Generation,
    /// Plugins that are asked no more, each with the first cause. None of them once another setup is installed.
    pub quarantined: Vec<Quarantine>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("name", &self.shared.name)
            .field("key", &self.shared.key)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Makes a session in a store, without entries.
    ///
    /// # Errors
    ///
    /// The name is taken, or the store failed.
    pub async fn create(
        engine: Engine,
        store: Arc<dyn Store>,
        session: NewSession,
        options: ViewOptions,
    ) -> Result<Self, SessionError> {
        let info = store.create(session).await?;
        Ok(Self::new(engine, store, info, Context::default(), options))
    }

    /// Opens a session of a store. Reads what the model sees, not the whole log.
    ///
    /// # Errors
    ///
    /// There is no such session, what the model sees of it is damaged, or the store failed.
    pub async fn open(
        engine: Engine,
        store: Arc<dyn Store>,
        name: &str,
        options: ViewOptions,
    ) -> Result<Self, SessionError> {
        let info = store.open(name).await?;
        let context = Context::load(&*store, info.key, &info.head, context::Depth::Seen).await?;
        Ok(Self::new(engine, store, info, context, options))
    }

    fn new(engine: Engine, store: Arc<dyn Store>, info: SessionInfo, context: Context, options: ViewOptions) -> Self {
        let state = State { head: info.head, context, view: None };
        let tenure = Tenure::new(&engine);
        let shared = Shared {
            engine,
            store,
            key: info.key,
            name: info.name,
            options,
            state: Mutex::new(state),
            writing: tokio::sync::Mutex::new(()),
            tenure,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Its name in the store.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The store's number of it.
    pub fn key(&self) -> SessionKey {
        self.shared.key
    }

    /// Appends entries behind the last one of the branch in use, all of them or none. They are durable when this
    /// returns. Their parents are set here; their ids have to be new to the session.
    ///
    /// # Errors
    ///
    /// An id is taken; [`SessionError::Stale`] if another process wrote to the session since this one last read it
    /// (see [`Session::refresh`]); or the store failed. Nothing was appended then.
    pub async fn append(&self, entries: Vec<Entry>) -> Result<(), SessionError> {
        self.append_chosen(|| entries).await
    }

    /// The same with entries that are chosen at the moment of writing.
    async fn append_chosen(&self, choose: impl FnOnce() -> Vec<Entry> + Send) -> Result<(), SessionError> {
        let _writing = self.shared.writing.lock().await;
        let mut entries = choose();
        if entries.is_empty() {
            return Ok(());
        }
        let mut parent = self.state().head.leaf.clone();
        let now = self.now();
        let mut records = Vec::with_capacity(entries.len());
        for entry in &mut entries {
            entry.parent = parent.replace(entry.id.clone());
            records.push(NewRecord::entry(entry, entry.at.unwrap_or(now)));
        }
        let appended = self.shared.store.append(self.shared.key, records).await?;
        let mut state = self.state();
        state.head = appended.head;
        state.context.append(entries.into_iter().map(Arc::new));
        Ok(())
    }

    /// Puts another branch in use: the one that ends with `to`, or an empty one. The compaction in force there is the
    /// newest whose covered part the branch holds.
    ///
    /// # Errors
    ///
    /// There is no such entry, or the store failed.
    pub async fn switch(&self, to: Option<EntryId>) -> Result<(), SessionError> {
        let _writing = self.shared.writing.lock().await;
        let compaction = match &to {
            Some(leaf) => self.compaction_on(leaf).await?,
            None => None,
        };
        let now = self.now();
        let id = self.record_id("leaf");
        let body = LogBody::Leaf(Leaf { to, compaction });
        let appended = self.shared.store.append(self.shared.key, vec![NewRecord::new(id, now, body)]).await?;
        self.reload(appended.head).await
    }

    /// The newest compaction that was not taken back and whose covered part is on the branch that ends with `leaf`.
    /// Reads the branch, and the log from its end until it is found.
    async fn compaction_on(&self, leaf: &EntryId) -> Result<Option<EntryId>, SessionError> {
        let (store, key) = (&*self.shared.store, self.shared.key);
        let branch = context::branch(store, key, leaf).await?;
        let digests: HashMap<&EntryId, Digest> = branch.iter().map(|record| (&record.id, record.digest)).collect();
        let mut undone = HashSet::new();
        let mut next = Some(Page::Newest);
        while let Some(page) = next {
            let records = store.page(key, page, context::PAGE).await?;
            next = records.next;
            for record in records.intact()? {
                match record.body {
                    LogBody::Undo(undo) => {
                        undone.insert(undo.compaction);
                    }
                    LogBody::Compaction(commit)
                        if !undone.contains(&record.id)
                            && digests.get(&commit.covered.through) == Some(&commit.covered.digest) =>
                    {
                        return Ok(Some(record.id));
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    /// Takes the compaction in force back: the model sees what it saw before, and what was appended since.
    ///
    /// # Errors
    ///
    /// [`SessionError::NothingToUndo`], or the store failed.
    pub async fn undo(&self) -> Result<EntryId, SessionError> {
        let _writing = self.shared.writing.lock().await;
        let compaction = self.state().head.compaction.clone().ok_or(SessionError::NothingToUndo)?;
        let body = LogBody::Undo(Undo { compaction: compaction.clone() });
        let record = NewRecord::new(self.record_id("undo"), self.now(), body);
        let appended = self.shared.store.append(self.shared.key, vec![record]).await?;
        self.reload(appended.head).await?;
        Ok(compaction)
    }

    /// Reads the session again, as another process may have written to it.
    ///
    /// # Errors
    ///
    /// What the model sees is damaged, or the store failed. The session is as it was then.
    pub async fn refresh(&self) -> Result<(), SessionError> {
        let _writing = self.shared.writing.lock().await;
        let head = self.shared.store.head(self.shared.key).await?;
        self.reload(head).await
    }

    async fn reload(&self, head: Head) -> Result<(), SessionError> {
        let context = Context::load(&*self.shared.store, self.shared.key, &head, context::Depth::Seen).await?;
        *self.state() = State { head, context, view: None };
        Ok(())
    }

    /// What the model sees now.
    pub fn view(&self) -> View {
        let mut state = self.state();
        let entries = state.context.entries();
        let view = match &state.view {
            Some(view) if view.entries().len() == entries.len() => return view.clone(),
            Some(view) => view.renewed(entries.to_vec(), self.shared.engine.counter()),
            None => self.shared.engine.view(entries.to_vec(), self.shared.options),
        };
        state.view = Some(view.clone());
        view
    }

    /// The same view with the originals behind summaries and shortened results at hand, for
    /// [`View::original`](crate::view::View::original). Reads the whole branch.
    ///
    /// # Errors
    ///
    /// A record of the branch is damaged, or the store failed.
    pub async fn whole_view(&self) -> Result<View, SessionError> {
        let head = self.state().head.clone();
        let context = Context::load(&*self.shared.store, self.shared.key, &head, context::Depth::Whole).await?;
        Ok(self.shared.engine.view(context.entries().to_vec(), self.shared.options))
    }

    /// What one request should hold: the view, shaped by a chain of selectors. Nothing is stored, and a link that
    /// fails is skipped.
    pub async fn select(
        &self,
        chain: &[Plugin],
        window: Window,
        incoming: Option<&str>,
        services: &Services,
    ) -> Selection {
        let view = self.view();
        let pressure = window.pressure(&view, Trigger::PreTurn, self.now());
        self.shared.engine.select(chain, &view, &pressure, incoming, services).await
    }

    /// The messages that go out to a provider, as a fresh session of a format. Always a valid one: see
    /// [`format::convert`].
    ///
    /// # Errors
    ///
    /// The format cannot say it.
    pub fn render(&self, to: Format) -> Result<Written, SessionError> {
        Ok(format::convert(self.view().entries(), to)?)
    }

    /// How full it is.
    pub fn status(&self) -> SessionStatus {
        let view = self.view();
        let head = self.state().head.clone();
        let era = self.shared.tenure.newest();
        let in_force = era.generation() == self.shared.engine.generation();
        SessionStatus {
            name: self.shared.name.clone(),
            entries: view.len(),
            tokens: view.tokens(),
            depth: head.depth,
            leaf: head.leaf,
            compaction: head.compaction,
            generation: era.generation(),
            quarantined: if in_force { era.ward.all() } else { Vec::new() },
        }
    }

    /// The compactions that made the context what it is, newest first: each record names who wrote it, and why.
    ///
    /// # Errors
    ///
    /// A record is damaged, or the store failed.
    pub async fn history(&self) -> Result<Vec<LogRecord>, SessionError> {
        let mut history = Vec::new();
        let mut next = self.state().head.compaction.clone();
        while let Some(id) = next {
            let record = self.shared.store.record(self.shared.key, &id).await?;
            next = match &record.body {
                LogBody::Compaction(commit) => commit.previous.clone(),
                _ => None,
            };
            history.push(record);
        }
        Ok(history)
    }

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment or is harmless half-done.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id that no record of the session has: what it is, and the number that it will have.
    fn record_id(&self, what: &str) -> String {
        format!("{what}-{}", self.state().head.last_seq.next())
    }
}
