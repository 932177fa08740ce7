//! Sessions, their heads, and pages of their logs.

use std::fmt;
use std::sync::Arc;

use super::{LogRecord, Seq, StoreError};
use crate::transcript::{Digest, EntryId, Timestamp};

/// The store's own number of a session. Never given to another one, also after the session was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub u64);

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NewSession {
    /// Its name, unique in the store.
    pub name: String,
    /// Name of the format that its entries were read from.
    pub format: Option<String>,
    /// The folder in which the agent works.
    pub working_dir: Option<String>,
    /// What it is about, for people.
    pub title: Option<String>,
    /// The file that it was read from, so that it can be written exactly.
    pub original: Option<Original>,
}

impl NewSession {
    /// A session of this name, with nothing else known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The file that it was read from; its format becomes the session's.
    pub fn with_original(mut self, original: Original) -> Self {
        self.format = Some(original.format.clone());
        self.original = Some(original);
        self
    }

    /// The folder in which the agent works.
    pub fn with_working_dir(mut self, folder: impl Into<String>) -> Self {
        self.working_dir = Some(folder.into());
        self
    }

    /// What it is about, for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// A file that a session was read from, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// Name of its format.
    pub format: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// A session in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// The store's number of it.
    pub key: SessionKey,
    /// Its name.
    pub name: String,
    /// When it was made, by the store's clock.
    pub created: Timestamp,
    /// Name of the format that its entries were read from.
    pub format: Option<String>,
    /// The folder in which the agent works.
    pub working_dir: Option<String>,
    /// What it is about, for people.
    pub title: Option<String>,
    /// Where it stands.
    pub head: Head,
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the last record; 0 where there is none.
    pub last_seq: Seq,
    /// The last entry of the branch in use; `None` where it has none.
    pub leaf: Option<EntryId>,
    /// The branch's digest.
    pub digest: Digest,
    /// Entries on the branch.
    pub depth: u64,
    /// Id of the compaction in force.
    pub compaction: Option<EntryId>,
}

impl Head {
    /// Of a log without records.
    pub fn empty() -> Self {
        Self { last_seq: Seq(0), leaf: None, digest: Digest::ROOT, depth: 0, compaction: None }
    }
}

impl Default for Head {
    fn default() -> Self {
        Self::empty()
    }
}

/// What an append did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Number of the first record of the batch.
    pub first: Seq,
    /// Where the session stands now; its `last_seq` is the number of the last record of the batch.
    pub head: Head,
}

/// A part of a log to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The records after this number, oldest first. `Seq(0)` starts at the beginning.
    After(Seq),
    /// The records before this number, newest first.
    Before(Seq),
    /// The newest records, newest first.
    Newest,
}

/// Records that were read.
#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    /// One result for each record, in the order of the page. A record that is damaged is an error in its place; it
    /// hides none of the others.
    pub records: Vec<Result<LogRecord, StoreError>>,
    /// Where the next page starts; `None` where there is nothing more.
    pub next: Option<Page>,
}

impl Records {
    /// All records, or the first damage.
    ///
    /// # Errors
    ///
    /// The error of the first record that is damaged.
    pub fn intact(self) -> Result<Vec<LogRecord>, StoreError> {
        self.records.into_iter().collect()
    }
}

/// What a check of a session found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Records that were read.
    pub records: u64,
    /// What is wrong, in the order of the log.
    pub damage: Vec<StoreError>,
}

impl CheckReport {
    /// Nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}
