//! What the model sees of a session, put together from its log.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::{CompactionCommit, ContextItem, Head, LogBody, LogRecord, SessionKey, Store, StoreError};
use crate::transcript::{Entry, EntryId};

/// Records that are read from the store at once.
pub(super) const PAGE: u32 = 512;

/// How much of the log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What the model sees. Summaries stand for entries that are not at hand.
    Seen,
    /// The whole branch, so that the originals behind summaries and shortened results are at hand.
    Whole,
}

/// The entries that the model sees, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    entries: Vec<Arc<Entry>>,
    /// For entries that are not as the log has them: the compaction that wrote them.
    written_by: HashMap<EntryId, EntryId>,
}

impl Context {
    pub(super) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The compaction that wrote this entry, if it is not as the log has it.
    pub(super) fn written_by(&self, id: &EntryId) -> Option<&EntryId> {
        self.written_by.get(id)
    }

    pub(super) fn append(&mut self, entries: impl IntoIterator<Item = Arc<Entry>>) {
        self.entries.extend(entries);
    }

    /// Reads what the model sees of a session that stands at `head`.
    pub(super) async fn load(
        store: &dyn Store,
        session: SessionKey,
        head: &Head,
        depth: Depth,
    ) -> Result<Self, StoreError> {
        let Some(leaf) = &head.leaf else { return Ok(Self::default()) };
        let Some(compaction) = &head.compaction else {
            let entries = branch(store, session, leaf).await?.iter().filter_map(as_logged).collect();
            return Ok(Self { entries, written_by: HashMap::new() });
        };
        let commit = commit(store, session, compaction).await?;
        let mut loader = Loader { store, session, known: HashMap::new(), commits: HashMap::new() };
        let tail = match depth {
            Depth::Seen => loader.tail(leaf, &commit).await?,
            Depth::Whole => loader.whole(leaf, &commit).await?,
        };
        let mut context = Self::default();
        for item in &commit.context {
            loader.add(&mut context, item, compaction, &commit).await?;
        }
        context.append(tail);
        Ok(context)
    }
}

struct Loader<'a> {
    store: &'a dyn Store,
    session: SessionKey,
    /// Entries that were read or made, in the newest form.
    known: HashMap<EntryId, Arc<Entry>>,
    commits: HashMap<EntryId, CompactionCommit>,
}

impl Loader<'_> {
    /// The entries behind what a compaction covers; also remembers the covered ones next to them, as what is kept
    /// mostly stands there.
    async fn tail(&mut self, leaf: &EntryId, commit: &CompactionCommit) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut tail = Vec::new();
        let mut next = Some(leaf.clone());
        while let Some(from) = next.take() {
            let records = self.store.branch(self.session, &from, PAGE).await?.intact()?;
            for record in &records {
                let Some(entry) = as_logged(record) else { continue };
                if record.depth > commit.covered.entries {
                    tail.push(entry);
                } else {
                    self.known.insert(record.id.clone(), entry);
                }
            }
            next = records.last().filter(|last| last.depth > commit.covered.entries + 1).and_then(|r| r.parent.clone());
        }
        tail.reverse();
        Ok(tail)
    }

    /// The same, with the whole branch and everything that older compactions wrote at hand.
    async fn whole(&mut self, leaf: &EntryId, newest: &CompactionCommit) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut tail = Vec::new();
        for record in branch(self.store, self.session, leaf).await? {
            let Some(entry) = as_logged(&record) else { continue };
            if record.depth > newest.covered.entries {
                tail.push(entry);
            } else {
                self.known.insert(record.id.clone(), entry);
            }
        }
        let mut chain = Vec::new();
        let mut previous = newest.previous.clone();
        while let Some(id) = previous {
            let commit = commit(self.store, self.session, &id).await?;
            previous = commit.previous.clone();
            chain.push((id, commit));
        }
        // Oldest first: a summary may stand for an older one. A shortened result stands for the entry of the log, whose
        // id it has, so it must not take that entry's place here.
        for (id, commit) in chain.into_iter().rev() {
            for item in &commit.context {
                if let ContextItem::Written { id: written, entry, .. } = item
                    && !self.known.contains_key(written)
                {
                    let entry = entry.clone().into_entry(written.clone(), None, |id| self.known.get(id).cloned());
                    self.known.insert(written.clone(), Arc::new(entry));
                }
            }
            self.commits.insert(id, commit);
        }
        Ok(tail)
    }

    async fn add(
        &mut self,
        context: &mut Context,
        item: &ContextItem,
        compaction: &EntryId,
        commit: &CompactionCommit,
    ) -> Result<(), StoreError> {
        match item {
            ContextItem::Kept(ids) => {
                for id in ids {
                    let entry = self.logged(id).await?;
                    context.entries.push(entry);
                }
            }
            ContextItem::Carried { id, from } => {
                let entry = self.written(id, from).await?;
                context.written_by.insert(id.clone(), from.clone());
                context.entries.push(entry);
            }
            ContextItem::Written { id, .. } => {
                let entry = self.find_written(id, compaction, commit)?;
                context.written_by.insert(id.clone(), compaction.clone());
                context.entries.push(entry);
            }
        }
        Ok(())
    }

    /// An entry as the log has it.
    async fn logged(&mut self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        if let Some(entry) = self.known.get(id) {
            return Ok(Arc::clone(entry));
        }
        let record = self.store.record(self.session, id).await?;
        let entry = as_logged(&record).ok_or_else(|| misplaced(id, "is not an entry"))?;
        self.known.insert(id.clone(), Arc::clone(&entry));
        Ok(entry)
    }

    /// An entry in the form that a compaction wrote.
    async fn written(&mut self, id: &EntryId, from: &EntryId) -> Result<Arc<Entry>, StoreError> {
        if !self.commits.contains_key(from) {
            let commit = commit(self.store, self.session, from).await?;
            self.commits.insert(from.clone(), commit);
        }
        match self.commits.get(from) {
            Some(commit) => self.find_written(id, from, commit),
            None => Err(misplaced(id, "was lost")),
        }
    }

    fn find_written(
        &self,
        id: &EntryId,
        compaction: &EntryId,
        commit: &CompactionCommit,
    ) -> Result<Arc<Entry>, StoreError> {
        let stored = commit.context.iter().find_map(|item| match item {
            ContextItem::Written { id: written, entry, .. } if written == id => Some(entry),
            _ => None,
        });
        let stored = stored.ok_or_else(|| misplaced(id, &format!("was not written by compaction `{compaction}`")))?;
        let entry = stored.clone().into_entry(id.clone(), None, |id| self.known.get(id).cloned());
        Ok(Arc::new(entry))
    }
}

/// A whole branch, oldest entry first.
pub(super) async fn branch(
    store: &dyn Store,
    session: SessionKey,
    leaf: &EntryId,
) -> Result<Vec<LogRecord>, StoreError> {
    let mut branch = Vec::new();
    let mut next = Some(leaf.clone());
    while let Some(from) = next.take() {
        let records = store.branch(session, &from, PAGE).await?.intact()?;
        next = records.last().and_then(|last| last.parent.clone());
        branch.extend(records);
    }
    branch.reverse();
    Ok(branch)
}

/// The compaction with this id.
pub(super) async fn commit(
    store: &dyn Store,
    session: SessionKey,
    id: &EntryId,
) -> Result<CompactionCommit, StoreError> {
    match store.record(session, id).await?.body {
        LogBody::Compaction(commit) => Ok(*commit),
        _ => Err(misplaced(id, "is not a compaction")),
    }
}

/// The entry of a record as it was appended.
pub(super) fn as_logged(record: &LogRecord) -> Option<Arc<Entry>> {
    record.entry(|_| None).map(Arc::new)
}

/// The log contradicts itself: something else wrote to it.
fn misplaced(id: &EntryId, what: &str) -> StoreError {
    StoreError::Corrupt {
        what: "the log".to_owned(),
        place: format!("record `{id}`: it {what}, although a compaction names it"),
        advice: "undo that compaction, or export what is intact".to_owned(),
    }
}
