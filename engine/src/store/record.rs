//! What a log holds, and how it is written down.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::hooks::Trigger;
use crate::transcript::{Block, Compaction, Digest, Entry, EntryId, EntryKind, Role, SourcePart, Timestamp};

/// Number of a record in its session's log: 1, 2, 3 and so on, without gaps. The store assigns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The number after this one.
    pub fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A record of a log, as the store keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// Its number in the log.
    pub seq: Seq,
    /// Its name, unique in the session.
    pub id: EntryId,
    /// Of an entry: the entry before it on its branch. Of any other record: the last entry of the branch when it was
    /// written. `None` where there was none.
    pub parent: Option<EntryId>,
    /// The branch's digest once the record stands. Only entries and [`LogBody::Leaf`] change it.
    pub digest: Digest,
    /// Entries on the branch once the record stands.
    pub depth: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What it says.
    pub body: LogBody,
}

impl LogRecord {
    /// The entry, if the record is one. `resolve` finds the entries that it replaces; what it does not find is left
    /// out of [`Entry::replaces`].
    pub fn entry(&self, resolve: impl FnMut(&EntryId) -> Option<Arc<Entry>>) -> Option<Entry> {
        match &self.body {
            LogBody::Entry(stored) => Some(stored.clone().into_entry(self.id.clone(), self.parent.clone(), resolve)),
            _ => None,
        }
    }
}

/// A record to be appended. The store adds the number, the digest and the depth.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// Its name, unique in the session.
    pub id: EntryId,
    /// When it is written.
    pub at: Timestamp,
    /// For an entry: the entry that it follows, which must be the last of the branch; `None` where the branch is
    /// empty. To append elsewhere, put a [`LogBody::Leaf`] before it. Other records leave it out.
    pub parent: Option<EntryId>,
    /// What it says.
    pub body: LogBody,
}

impl NewRecord {
    /// An entry, with the id and the parent that it has. Of a tool result that was shortened, which replaces one of its
    /// own id, the whole text is recorded with it: the log has it nowhere else.
    pub fn entry(entry: &Entry, at: Timestamp) -> Self {
        let mut stored = StoredEntry::from(entry);
        if let [whole] = entry.replaces.as_slice()
            && whole.id == entry.id
            && let Some(result) = whole.tool_result()
        {
            stored.original = Some(result.text.clone());
            stored.replaces.clear();
        }
        let body = LogBody::Entry(stored);
        Self { id: entry.id.clone(), at, parent: entry.parent.clone(), body }
    }

    /// Any other record.
    pub fn new(id: impl AsRef<str>, at: Timestamp, body: LogBody) -> Self {
        Self { id: EntryId::new(id), at, parent: None, body }
    }
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LogBody {
    /// A step of the session. Becomes the last entry of the branch.
    Entry(StoredEntry),
    /// From here on the model sees something else. Only [`Store::commit`](super::Store::commit) writes it.
    Compaction(Box<CompactionCommit>),
    /// A branch was summarised when it was left; the entry that says so to the model is a record of its own.
    BranchSummary(BranchSummary),
    /// A name for an entry, or its removal.
    Label(Label),
    /// Settings from here on: a JSON object whose meaning is the agent's.
    Settings(serde_json::Value),
    /// Another branch is in use from here on.
    Leaf(Leaf),
    /// The compaction in force is taken back, and the one before it is in force again.
    Undo(Undo),
}

impl LogBody {
    /// The name of what it is, as in the stored form.
    pub fn kind(&self) -> RecordKind {
        match self {
            LogBody::Entry(_) => RecordKind::Entry,
            LogBody::Compaction(_) => RecordKind::Compaction,
            LogBody::BranchSummary(_) => RecordKind::BranchSummary,
            LogBody::Label(_) => RecordKind::Label,
            LogBody::Settings(_) => RecordKind::Settings,
            LogBody::Leaf(_) => RecordKind::Leaf,
            LogBody::Undo(_) => RecordKind::Undo,
        }
    }

    /// The stored form: JSON with its version.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], which only a value that JSON cannot hold can cause.
    pub fn encode(&self) -> Result<String, StoreError> {
        serde_json::to_string(&EnvelopeRef { v: Self::VERSION, body: self })
            .map_err(|error| StoreError::Io { doing: "writing a record as JSON".to_owned(), reason: error.to_string() })
    }

    /// Reads the stored form.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people.
    pub fn decode(json: &str) -> Result<Self, String> {
        match serde_json::from_str::<Envelope>(json) {
            Ok(Envelope { v: Self::VERSION, body }) => Ok(body),
            Ok(Envelope { v, .. }) => Err(newer(v)),
            // A newer version may well not parse: then its number is the better reason.
            Err(error) => match serde_json::from_str::<VersionOnly>(json) {
                Ok(VersionOnly { v }) if v != Self::VERSION => Err(newer(v)),
                _ => Err(format!("not the JSON of a record: {error}")),
            },
        }
    }

    /// Version of the stored form. Fields can be added within one; it grows when old programs would misread.
    pub const VERSION: u32 = 1;
}

fn newer(found: u32) -> String {
    format!("it has version {found}, this program knows {}", LogBody::VERSION)
}

#[derive(Serialize)]
struct EnvelopeRef<'a> {
    v: u32,
    body: &'a LogBody,
}

#[derive(Deserialize)]
struct Envelope {
    v: u32,
    body: LogBody,
}

#[derive(Deserialize)]
struct VersionOnly {
    v: u32,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// [`LogBody::Entry`].
    Entry,
    /// [`LogBody::Compaction`].
    Compaction,
    /// [`LogBody::BranchSummary`].
    BranchSummary,
    /// [`LogBody::Label`].
    Label,
    /// [`LogBody::Settings`].
    Settings,
    /// [`LogBody::Leaf`].
    Leaf,
    /// [`LogBody::Undo`].
    Undo,
}

impl RecordKind {
    /// All of them.
    pub const ALL: [RecordKind; 7] = [
        RecordKind::Entry,
        RecordKind::Compaction,
        RecordKind::BranchSummary,
        RecordKind::Label,
        RecordKind::Settings,
        RecordKind::Leaf,
        RecordKind::Undo,
    ];

    /// Its name, as in the stored form.
    pub fn name(self) -> &'static str {
        match self {
            RecordKind::Entry => "entry",
            RecordKind::Compaction => "compaction",
            RecordKind::BranchSummary => "branch-summary",
            RecordKind::Label => "label",
            RecordKind::Settings => "settings",
            RecordKind::Leaf => "leaf",
            RecordKind::Undo => "undo",
        }
    }
}

/// An entry as a store keeps it: everything but its id and its parent, which the record has. What it replaces is named
/// by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Under which role a provider reads it.
    pub role: Role,
    /// Its parts, in order, images and opaque blocks included.
    pub blocks: Vec<Block>,
    /// When it was written, if the session says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Must survive every compaction verbatim.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pinned: bool,
    /// Where it was read from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourcePart>,
    /// What it stands for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<EntryId>,
    /// For a summary: the compaction that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Box<Compaction>>,
    /// Of a tool result that was shortened before it was appended: its whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !value
}

impl From<&Entry> for StoredEntry {
    fn from(entry: &Entry) -> Self {
        Self {
            kind: entry.kind,
            role: entry.role,
            blocks: entry.blocks.clone(),
            at: entry.at,
            pinned: entry.pinned,
            source: entry.source.clone(),
            replaces: entry.replaces.iter().map(|replaced| replaced.id.clone()).collect(),
            compaction: entry.compaction.clone(),
            original: None,
        }
    }
}

impl StoredEntry {
    /// The entry again. `resolve` finds the entries that it replaces; what it does not find is left out.
    pub fn into_entry(
        self,
        id: EntryId,
        parent: Option<EntryId>,
        resolve: impl FnMut(&EntryId) -> Option<Arc<Entry>>,
    ) -> Entry {
        let mut entry = Entry::new("", self.kind, self.blocks);
        entry.id = id;
        entry.parent = parent;
        entry.role = self.role;
        entry.at = self.at;
        entry.pinned = self.pinned;
        entry.source = self.source;
        entry.replaces = self.replaces.iter().filter_map(resolve).collect();
        entry.compaction = self.compaction;
        if let Some(text) = self.original {
            let mut whole = entry.clone();
            whole.replace_text(&text);
            entry.replaces.push(Arc::new(whole));
        }
        entry
    }

    /// The digest of a branch with this entry behind it.
    pub fn digest_after(&self, before: &Digest) -> Digest {
        before.then_visible(self.role, &self.blocks)
    }
}

/// A compaction that was verified: what the model sees from here on, who says so and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionCommit {
    /// Id of the plugin that proposed it.
    pub owner: String,
    /// Its version.
    pub owner_version: String,
    /// SHA-256 of its component, in hex.
    pub component_hash: String,
    /// Owners that were asked first, in order, and why they have no part in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOver>,
    /// Why it ran.
    pub trigger: Trigger,
    /// The part of the branch that it speaks of.
    pub covered: Covered,
    /// The compaction that was in force before.
    pub previous: Option<EntryId>,
    /// What the model sees instead of the covered part, in order. What was appended after it follows.
    pub context: Vec<ContextItem>,
    /// Entries that are gone from the context with nothing in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedEntries>,
    /// Tokens of the entries before, by the host's count.
    pub tokens_before: u32,
    /// Tokens of the entries after, by the host's count.
    pub tokens_after: u32,
    /// JSON that the owner stored with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Milliseconds that it took, from the freeze to the commit.
    pub duration_ms: u64,
    /// Calls of a model that it took.
    pub model_calls: u32,
    /// Defects of a first plan that was refused; empty where the first plan was good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<String>,
    /// Token of the lease under which it is written.
    pub fencing_token: u64,
}

/// The part of a branch that a compaction speaks of: from its first entry through the last that the owner saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The last entry of it.
    pub through: EntryId,
    /// The branch's digest there.
    pub digest: Digest,
    /// How many entries it has, [`LogRecord::depth`] of the last one.
    pub entries: u64,
}

/// An owner that was asked before the one that wrote the compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Id of the plugin.
    pub owner: String,
    /// Why it has no part in it.
    pub reason: String,
}

/// Entries that left the context with nothing in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedEntries {
    /// Which.
    pub ids: Vec<EntryId>,
    /// Why, in the owner's words.
    pub reason: String,
}

/// A part of what the model sees after a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContextItem {
    /// Entries of the log as they were recorded, in this order.
    Kept(Vec<EntryId>),
    /// An entry in the form that an earlier compaction wrote: its summary, its note, or its shorter text of a result.
    Carried {
        /// Id of the entry.
        id: EntryId,
        /// Id of the compaction's record.
        from: EntryId,
    },
    /// An entry that this compaction writes: a summary, a note, or an entry of the log with another text, under that
    /// entry's id.
    Written {
        /// Id of the entry.
        id: EntryId,
        /// The entry.
        entry: StoredEntry,
        /// Why, in the owner's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A branch that was summarised when it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchSummary {
    /// The last entry of the branch that was left.
    pub left: EntryId,
    /// The last entry that both branches share; `None` where they share none.
    pub ancestor: Option<EntryId>,
    /// The entry that says it to the model.
    pub entry: EntryId,
    /// Id of the plugin that wrote it.
    pub owner: String,
    /// Its version.
    pub owner_version: String,
    /// SHA-256 of its component, in hex.
    pub component_hash: String,
    /// JSON that the plugin stored with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// A name for an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The entry.
    pub of: EntryId,
    /// Its name from here on; `None` takes the name away.
    pub label: Option<String>,
}

/// A switch to another branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// The entry that the branch ends with now; `None` starts a new root.
    pub to: Option<EntryId>,
    /// The compaction that is in force there: one whose covered part the branch holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<EntryId>,
}

/// A compaction that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The compaction in force.
    pub compaction: EntryId,
}
