//! A compaction of a session: freeze, propose, verify, persist, apply.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::{Context, Depth};
use super::lease::Held;
use super::tenure;
use super::{Session, SessionError};
use crate::compaction::{CompactOptions, Compacted, Compaction, Window};
use crate::hooks::{Trigger, Urgency};
use crate::plan::{Segment, SummaryGate};
use crate::plugin::{Plugin, Services};
use crate::slots::Slot;
use crate::store::{
    CompactionCommit, ContextItem, Covered, DroppedEntries, Head, LogRecord, PassedOver, StoreError, StoredEntry,
};
use crate::transcript::{Entry, EntryId};
use crate::view::View;

/// What is wanted of the compaction of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionCompactOptions {
    /// How much room there is.
    pub window: Window,
    /// Why it runs.
    pub trigger: Trigger,
    /// Tokens that the entries should take afterwards; [`Window::target`] by default.
    pub target: u32,
    /// [`Urgency::Hard`] refuses a plan that misses the target.
    pub urgency: Urgency,
    /// What is asked of summaries; off by default.
    pub gate: SummaryGate,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
    /// What observers saved just before.
    pub memory: Vec<String>,
}

impl SessionCompactOptions {
    /// Aims at the window's default target, not urgently.
    pub fn new(window: Window, trigger: Trigger) -> Self {
        let target = window.target();
        Self {
            window,
            trigger,
            target,
            urgency: Urgency::Soft,
            gate: SummaryGate::default(),
            focus: None,
            memory: Vec::new(),
        }
    }

    /// Another target.
    pub fn with_target(mut self, tokens: u32) -> Self {
        self.target = tokens;
        self
    }

    /// Asks more of summaries.
    pub fn with_gate(mut self, gate: SummaryGate) -> Self {
        self.gate = gate;
        self
    }

    /// What the person asked to keep in focus.
    pub fn with_focus(mut self, focus: impl Into<String>) -> Self {
        self.focus = Some(focus.into());
        self
    }
}

/// How the compaction of a session ended.
#[derive(Debug, Clone)]
pub enum SessionCompacted {
    /// The owner found nothing to do. Not a failure.
    Unchanged {
        /// Why, in the owner's words.
        reason: String,
    },
    /// It is recorded and in force.
    Done {
        /// The record in the log.
        record: Box<LogRecord>,
        /// What it did.
        compaction: Box<Compaction>,
    },
}

/// The session at the moment at which a compaction began.
pub(super) struct Frozen {
    head: Head,
    through: EntryId,
    context: Context,
    pub(super) view: View,
}

/// A compaction that is not recorded yet.
pub(super) struct Proposal {
    pub(super) frozen: Frozen,
    pub(super) compaction: Box<Compaction>,
    /// Who was asked first, and why they have no part in it.
    pub(super) passed_over: Vec<PassedOver>,
    /// Calls of a model that everybody made who was asked.
    pub(super) model_calls: u32,
}

impl Session {
    /// Compacts the session with a plugin of the caller's choice, apart from any turn: for programs that decide everything
    /// by themselves. [`Turn::compact`](super::Turn::compact) is for those that have a setup. Entries may be appended
    /// meanwhile; they stay behind the result.
    ///
    /// # Errors
    ///
    /// [`SessionError::Superseded`] if the setup in force has another owner of `compress`; [`SessionError::Busy`] while
    /// somebody else compacts it, [`SessionError::Stale`] if it changed meanwhile in a way that the result does not fit
    /// any more, [`SessionError::Compact`] if the plugin gave no good plan, or the store failed. The session is as it was
    /// then.
    pub async fn compact(
        &self,
        plugin: &Plugin,
        options: &SessionCompactOptions,
        services: Services,
    ) -> Result<SessionCompacted, SessionError> {
        self.may_be_compacted_by(plugin)?;
        let held = Held::acquire(self, &plugin.description().id).await?;
        let compacted = self.compact_under(&held, plugin, options, services).await;
        held.release().await;
        compacted
    }

    /// Whether nobody else owns `compress`.
    fn may_be_compacted_by(&self, plugin: &Plugin) -> Result<(), SessionError> {
        let in_force = self.shared.engine.in_force();
        match tenure::may_write(in_force.setup.slots.bindings(Slot::Compress), plugin, &[]) {
            Ok(()) | Err(None) => Ok(()),
            Err(Some(by)) => Err(SessionError::Superseded {
                slot: Slot::Compress,
                owner: plugin.description().id.clone(),
                by: Some(by.id().to_owned()),
            }),
        }
    }

    async fn compact_under(
        &self,
        held: &Held,
        plugin: &Plugin,
        options: &SessionCompactOptions,
        services: Services,
    ) -> Result<SessionCompacted, SessionError> {
        let started = Instant::now();
        let proposed = held.keep(async {
            let Some(frozen) = self.freeze().await? else { return Ok(None) };
            let wanted = self.wanted(options, &frozen.view);
            let compacted = self.shared.engine.compact(plugin, &frozen.view, &wanted, services).await?;
            Ok(Some((frozen, compacted)))
        });
        let (frozen, compaction) = match proposed.await? {
            None => return Ok(SessionCompacted::Unchanged { reason: "the session has no entries".to_owned() }),
            Some((_, Compacted::Unchanged { reason })) => return Ok(SessionCompacted::Unchanged { reason }),
            Some((frozen, Compacted::Done(compaction))) => (frozen, compaction),
        };
        let model_calls = compaction.record().model_calls;
        let proposal = Proposal { frozen, compaction, passed_over: Vec::new(), model_calls };
        let commit = proposal.commit(held.token(), started.elapsed());
        let (session, plugin) = (self.clone(), plugin.clone());
        let record = self.persist(commit, move || session.may_be_compacted_by(&plugin), |_| {}).await?;
        Ok(SessionCompacted::Done { record: Box::new(record), compaction: proposal.compaction })
    }

    /// Commits a compaction, if `permitted` at that moment, tells that it is `committed`, and reads what the model sees
    /// now. Goes on in a task of its own: a caller that stops waiting does not leave the session behind its log.
    pub(super) async fn persist(
        &self,
        commit: CompactionCommit,
        permitted: impl FnOnce() -> Result<(), SessionError> + Send + 'static,
        committed: impl FnOnce(&LogRecord) + Send + 'static,
    ) -> Result<LogRecord, SessionError> {
        let session = self.clone();
        let written = tokio::spawn(async move {
            let _writing = session.shared.writing.lock().await;
            permitted()?;
            let id = EntryId::new(format!("compaction-{}", commit.fencing_token));
            let (store, key) = (&session.shared.store, session.shared.key);
            let record = store.commit(key, id, session.now(), commit).await?;
            committed(&record);
            let head = store.head(key).await?;
            session.reload(head).await?;
            Ok(record)
        });
        written.await.unwrap_or_else(|error| {
            let doing = "committing a compaction".to_owned();
            Err(SessionError::Store(StoreError::Io { doing, reason: error.to_string() }))
        })
    }

    /// The session as the store has it now, with the originals behind summaries at hand.
    pub(super) async fn freeze(&self) -> Result<Option<Frozen>, SessionError> {
        let head = {
            let _writing = self.shared.writing.lock().await;
            self.shared.store.head(self.shared.key).await?
        };
        let Some(through) = head.leaf.clone() else { return Ok(None) };
        let context = Context::load(&*self.shared.store, self.shared.key, &head, Depth::Whole).await?;
        let view = self.shared.engine.view(context.entries().to_vec(), self.shared.options);
        Ok(Some(Frozen { head, through, context, view }))
    }

    fn wanted(&self, options: &SessionCompactOptions, view: &View) -> CompactOptions {
        let pressure = options.window.pressure(view, options.trigger, self.now());
        let mut wanted =
            CompactOptions::new(pressure, options.target).with_urgency(options.urgency).with_gate(options.gate.clone());
        wanted.focus.clone_from(&options.focus);
        wanted.memory.clone_from(&options.memory);
        wanted
    }
}

impl Proposal {
    /// What is recorded of it, under a fencing token, after so long.
    pub(super) fn commit(&self, token: u64, duration: Duration) -> CompactionCommit {
        let (frozen, compaction) = (&self.frozen, &*self.compaction);
        let record = compaction.record();
        CompactionCommit {
            owner: record.owner.clone(),
            owner_version: record.owner_version.clone(),
            component_hash: record.component_hash.clone(),
            passed_over: self.passed_over.clone(),
            trigger: record.trigger,
            covered: Covered {
                through: frozen.through.clone(),
                digest: frozen.head.digest,
                entries: frozen.head.depth,
            },
            previous: frozen.head.compaction.clone(),
            context: items(frozen, compaction),
            dropped: dropped(frozen, compaction),
            tokens_before: record.tokens_before,
            tokens_after: record.tokens_after,
            details: details(compaction),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            model_calls: self.model_calls,
            corrections: record.corrections.clone(),
            fencing_token: token,
        }
    }
}

/// The new context, each entry by where it comes from.
fn items(frozen: &Frozen, compaction: &Compaction) -> Vec<ContextItem> {
    let seen: HashSet<*const Entry> = frozen.context.entries().iter().map(Arc::as_ptr).collect();
    let reasons = rewrite_reasons(frozen, compaction);
    let mut items: Vec<ContextItem> = Vec::new();
    for entry in compaction.view().entries() {
        let id = entry.id.clone();
        if !seen.contains(&Arc::as_ptr(entry)) {
            let reason = reasons.get(&id).cloned();
            items.push(ContextItem::Written { id, entry: StoredEntry::from(&**entry), reason });
        } else if let Some(from) = frozen.context.written_by(&id) {
            items.push(ContextItem::Carried { id, from: from.clone() });
        } else if let Some(ContextItem::Kept(ids)) = items.last_mut() {
            ids.push(id);
        } else {
            items.push(ContextItem::Kept(vec![id]));
        }
    }
    items
}

fn rewrite_reasons(frozen: &Frozen, compaction: &Compaction) -> HashMap<EntryId, String> {
    let segments = compaction.plan().plan().segments.iter();
    segments
        .filter_map(|segment| match segment {
            Segment::Rewrite(rewrite) => {
                frozen.view.entry(rewrite.at).map(|entry| (entry.id.clone(), rewrite.reason.clone()))
            }
            _ => None,
        })
        .collect()
}

fn dropped(frozen: &Frozen, compaction: &Compaction) -> Vec<DroppedEntries> {
    let segments = compaction.plan().plan().segments.iter();
    segments
        .filter_map(|segment| match segment {
            Segment::Drop(dropped) => {
                let positions = dropped.range.start..dropped.range.end;
                let ids = positions.filter_map(|at| frozen.view.entry(at)).map(|entry| entry.id.clone()).collect();
                Some(DroppedEntries { ids, reason: dropped.reason.clone() })
            }
            _ => None,
        })
        .collect()
}

/// What the owner stored with its first summary that stores anything.
fn details(compaction: &Compaction) -> Option<String> {
    compaction.plan().plan().segments.iter().find_map(|segment| match segment {
        Segment::Summary(summary) => summary.details.clone(),
        _ => None,
    })
}
