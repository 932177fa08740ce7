//! For those who write a store: what may be appended to a log, the same for every store. Where records stand, what they
//! do to the head, and when a compaction is refused.
//!
//! A store reads the head, calls [`append`] or [`commit`], and writes what comes back, all in one transaction.

use std::collections::HashMap;

use super::lease::LeaseState;
use super::{Appended, CompactionCommit, Head, Leaf, LogBody, LogRecord, NewRecord, RecordKind, Seq, StoreError};
use crate::transcript::{Digest, EntryId, Timestamp};

/// Where a record stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// As [`LogRecord::parent`].
    pub parent: Option<EntryId>,
    /// As [`LogRecord::digest`].
    pub digest: Digest,
    /// As [`LogRecord::depth`].
    pub depth: u64,
    /// What the record is.
    pub kind: RecordKind,
}

impl From<&LogRecord> for Node {
    fn from(record: &LogRecord) -> Self {
        let kind = record.body.kind();
        Self { parent: record.parent.clone(), digest: record.digest, depth: record.depth, kind }
    }
}

/// The records that a log holds already. Each call must cost the same, however long the log is.
pub trait Log {
    /// Where a record stands; `None` if there is none of this id.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn node(&self, id: &EntryId) -> Result<Option<Node>, StoreError>;
    /// A compaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if there is none of this id, and if it cannot be read.
    fn compaction(&self, id: &EntryId) -> Result<CompactionCommit, StoreError>;
}

/// Places the records of a batch behind the head.
///
/// # Errors
///
/// Those of [`Store::append`](super::Store::append).
pub fn append(head: Head, records: Vec<NewRecord>, log: &impl Log) -> Result<(Vec<LogRecord>, Appended), StoreError> {
    let first = head.last_seq.next();
    let mut draft = Draft { head, log, made: Vec::with_capacity(records.len()), by_id: HashMap::new() };
    for record in records {
        draft.push(record)?;
    }
    Ok((draft.made, Appended { first, head: draft.head }))
}

/// Places a compaction behind the head, if that is still what it was when the owner saw it.
///
/// # Errors
///
/// Those of [`Store::commit`](super::Store::commit), in the same order.
pub fn commit(
    head: Head,
    lease: &LeaseState,
    now: Timestamp,
    (id, at): (EntryId, Timestamp),
    commit: CompactionCommit,
    log: &impl Log,
) -> Result<(LogRecord, Head), StoreError> {
    lease.must_be_live(commit.fencing_token, now)?;
    if head.compaction != commit.previous {
        return Err(StoreError::Superseded { expected: commit.previous, found: head.compaction });
    }
    let mut draft = Draft { head, log, made: Vec::with_capacity(1), by_id: HashMap::new() };
    draft.must_be_new(&id)?;
    draft.must_cover_the_branch(&commit)?;
    if let Some(previous) = &commit.previous
        && log.compaction(previous)?.covered.entries > commit.covered.entries
    {
        let reason = format!("it covers less than `{previous}`, on which it is built");
        return Err(StoreError::Invalid { id, reason });
    }
    draft.head.compaction = Some(id.clone());
    let parent = draft.head.leaf.clone();
    let record = draft.place(id, at, parent, LogBody::Compaction(Box::new(commit)));
    Ok((record, draft.head))
}

struct Draft<'a, L> {
    head: Head,
    log: &'a L,
    made: Vec<LogRecord>,
    by_id: HashMap<EntryId, usize>,
}

impl<L: Log> Draft<'_, L> {
    fn push(&mut self, new: NewRecord) -> Result<(), StoreError> {
        let NewRecord { id, at, parent, body } = new;
        self.must_be_new(&id)?;
        let before = self.head.leaf.clone();
        match &body {
            LogBody::Entry(entry) => {
                if parent != before {
                    return Err(self.stale(format!("entry `{id}` follows {}", spell(parent.as_ref()))));
                }
                self.head.digest = entry.digest_after(&self.head.digest);
                self.head.depth += 1;
                self.head.leaf = Some(id.clone());
            }
            LogBody::Leaf(leaf) => self.switch(&id, leaf)?,
            LogBody::Undo(undo) => self.undo(&undo.compaction)?,
            LogBody::Label(label) => self.must_be_entry(&id, &label.of).map(drop)?,
            LogBody::BranchSummary(summary) => {
                self.must_be_entry(&id, &summary.left)?;
                self.must_be_entry(&id, &summary.entry)?;
                summary.ancestor.as_ref().map_or(Ok(()), |ancestor| self.must_be_entry(&id, ancestor).map(drop))?;
            }
            LogBody::Settings(_) => must_read_back(&id, &body)?,
            LogBody::Compaction(_) => {
                let reason = "a compaction is not appended but committed, under a lease".to_owned();
                return Err(StoreError::Invalid { id, reason });
            }
        }
        let record = self.place(id, at, before, body);
        self.by_id.insert(record.id.clone(), self.made.len());
        self.made.push(record);
        Ok(())
    }

    fn place(&mut self, id: EntryId, at: Timestamp, parent: Option<EntryId>, body: LogBody) -> LogRecord {
        self.head.last_seq = self.head.last_seq.next();
        let (seq, digest, depth) = (self.head.last_seq, self.head.digest, self.head.depth);
        LogRecord { seq, id, parent, digest, depth, at, body }
    }

    fn switch(&mut self, id: &EntryId, leaf: &Leaf) -> Result<(), StoreError> {
        let (digest, depth) = match &leaf.to {
            Some(to) => self.must_be_entry(id, to).map(|node| (node.digest, node.depth))?,
            None => (Digest::ROOT, 0),
        };
        let head = Head { last_seq: self.head.last_seq, leaf: leaf.to.clone(), digest, depth, compaction: None };
        let before = std::mem::replace(&mut self.head, head);
        if let Some(compaction) = &leaf.compaction {
            let kind = self.node(compaction)?.map(|node| node.kind);
            let covers = kind == Some(RecordKind::Compaction) && {
                let covered = self.log.compaction(compaction)?.covered;
                self.holds(&covered.through, covered.entries)?
            };
            if !covers {
                self.head = before;
                let reason =
                    format!("the branch to `{}` does not hold what `{compaction}` covers", spell(leaf.to.as_ref()));
                return Err(StoreError::Invalid { id: id.clone(), reason });
            }
        }
        self.head.compaction.clone_from(&leaf.compaction);
        Ok(())
    }

    fn undo(&mut self, compaction: &EntryId) -> Result<(), StoreError> {
        if self.head.compaction.as_ref() != Some(compaction) {
            let (expected, found) = (Some(compaction.clone()), self.head.compaction.clone());
            return Err(StoreError::Superseded { expected, found });
        }
        self.head.compaction = self.log.compaction(compaction)?.previous;
        Ok(())
    }

    fn must_cover_the_branch(&self, commit: &CompactionCommit) -> Result<(), StoreError> {
        let covered = &commit.covered;
        let Some(node) = self.node(&covered.through)? else {
            return Err(self.stale(format!("there is no `{}` to cover", covered.through)));
        };
        if (node.kind, node.depth, node.digest) != (RecordKind::Entry, covered.entries, covered.digest) {
            let reason = format!(
                "through `{}` it is not {} entries with digest {}",
                covered.through, covered.entries, covered.digest
            );
            return Err(self.stale(reason));
        }
        if !self.holds(&covered.through, covered.entries)? {
            return Err(self.stale(format!("`{}` is on another branch", covered.through)));
        }
        Ok(())
    }

    /// Whether the branch in use holds the entry. Costs what was appended behind it.
    fn holds(&self, entry: &EntryId, depth: u64) -> Result<bool, StoreError> {
        let mut at = self.head.leaf.clone();
        for _ in depth..self.head.depth {
            let Some(id) = at else { return Ok(false) };
            at = self.node(&id)?.and_then(|node| node.parent);
        }
        Ok(at.as_ref() == Some(entry))
    }

    fn node(&self, id: &EntryId) -> Result<Option<Node>, StoreError> {
        match self.by_id.get(id).and_then(|&at| self.made.get(at)) {
            Some(record) => Ok(Some(record.into())),
            None => self.log.node(id),
        }
    }

    fn must_be_new(&self, id: &EntryId) -> Result<(), StoreError> {
        match self.node(id)? {
            Some(_) => Err(StoreError::Exists { what: "record", name: id.to_string() }),
            None => Ok(()),
        }
    }

    fn must_be_entry(&self, id: &EntryId, named: &EntryId) -> Result<Node, StoreError> {
        match self.node(named)? {
            Some(node) if node.kind == RecordKind::Entry => Ok(node),
            Some(node) => {
                let reason = format!("`{named}` is no entry but a {}", node.kind.name());
                Err(StoreError::Invalid { id: id.clone(), reason })
            }
            None => Err(StoreError::Invalid {
                id: id.clone(),
                reason: format!("there is no entry `{named}` in this session"),
            }),
        }
    }

    fn stale(&self, reason: String) -> StoreError {
        StoreError::Stale { reason, leaf: self.head.leaf.clone(), digest: self.head.digest }
    }
}

/// JSON can be nested deeper than it can be read.
fn must_read_back(id: &EntryId, body: &LogBody) -> Result<(), StoreError> {
    let reason = match LogBody::decode(&body.encode()?) {
        Ok(_) => return Ok(()),
        Err(reason) => format!("its values cannot be read back: {reason}"),
    };
    Err(StoreError::Invalid { id: id.clone(), reason })
}

fn spell(id: Option<&EntryId>) -> String {
    id.map_or("nothing".to_owned(), |id| format!("`{id}`"))
}

/// Whether a record read back is what [`append`] and [`commit`] would have made of it: the digests along the chain.
/// `parent` is the node of its parent, `switched_to` that of the entry that a [`Leaf`] switches to.
pub fn check_record(record: &LogRecord, parent: Option<&Node>, switched_to: Option<&Node>) -> Option<StoreError> {
    let before = parent.map_or((Digest::ROOT, 0), |node| (node.digest, node.depth));
    let expected = match &record.body {
        LogBody::Entry(entry) => (entry.digest_after(&before.0), before.1 + 1),
        LogBody::Leaf(Leaf { to: None, .. }) => (Digest::ROOT, 0),
        LogBody::Leaf(Leaf { to: Some(_), .. }) => {
            switched_to.map_or((Digest::ROOT, 0), |node| (node.digest, node.depth))
        }
        _ => before,
    };
    if expected == (record.digest, record.depth) {
        return None;
    }
    let what = format!(
        "record `{}` (digest {} at depth {}, but its content and its parent give {} at {})",
        record.id, record.digest, record.depth, expected.0, expected.1
    );
    Some(StoreError::damaged_record(record.seq, what))
}

/// The numbers of a page, in its order, and where the next one starts.
pub fn page_bounds(page: super::Page, limit: u32, last: Seq) -> (Vec<Seq>, Option<super::Page>) {
    use super::Page;
    let limit = u64::from(limit);
    match page {
        Page::After(after) => {
            let first = after.0.saturating_add(1);
            let end = last.0.min(after.0.saturating_add(limit));
            let next = (end < last.0 && limit > 0).then_some(Page::After(Seq(end)));
            ((first..=end).map(Seq).collect(), next)
        }
        Page::Newest => page_bounds(Page::Before(last.next()), u32::try_from(limit).unwrap_or(u32::MAX), last),
        Page::Before(before) => {
            let newest = before.0.saturating_sub(1).min(last.0);
            let oldest = newest.saturating_sub(limit) + 1;
            let next = (oldest > 1 && limit > 0).then_some(Page::Before(Seq(oldest)));
            ((oldest..=newest).rev().map(Seq).collect(), next)
        }
    }
}
