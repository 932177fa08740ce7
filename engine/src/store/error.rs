use crate::transcript::{Digest, EntryId, Timestamp};

use super::Seq;

/// Why a store did not do what it was asked. Nothing was changed then, unless a variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such thing.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// What was looked for: a session, a record.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The name or the id is taken.
    #[error("{what} `{name}` exists already")]
    Exists {
        /// What was to be made.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Somebody else holds the lease of the session. Not a failure: wait, or leave it to them.
    #[error("`{holder}` is compacting this session, until {} at the latest (milliseconds since 1970)", .until.0)]
    Busy {
        /// Who holds it, in its own words.
        holder: String,
        /// When the lease expires if it is not renewed.
        until: Timestamp,
    },
    /// Another process kept the store to itself for longer than this one waits. Nothing is wrong with either; try again.
    #[error("another process kept the store locked for {waited_ms} ms; try again")]
    Locked {
        /// How long this process waited.
        waited_ms: u64,
    },
    /// The branch is not what the caller took it for: somebody else appended or switched. Read the head again.
    #[error(
        "the branch has changed: {reason}; it now ends with {} (digest {digest})",
        .leaf.as_ref().map_or("nothing".to_owned(), |leaf| format!("`{leaf}`"))
    )]
    Stale {
        /// What does not fit.
        reason: String,
        /// The last entry of the branch now.
        leaf: Option<EntryId>,
        /// Digest of the branch now.
        digest: Digest,
    },
    /// Another compaction, or an undo, came first.
    #[error(
        "another compaction came first: built on {}, in force is {}", name(.expected.as_ref()), name(.found.as_ref())
    )]
    Superseded {
        /// The compaction that this one was built on.
        expected: Option<EntryId>,
        /// The compaction that is in force.
        found: Option<EntryId>,
    },
    /// The lease has expired, or somebody else has it by now.
    #[error("the lease with token {token} is no longer valid: {reason}; acquire a new one and start again")]
    LeaseExpired {
        /// The fencing token of the lease.
        token: u64,
        /// What became of the lease.
        reason: String,
    },
    /// What was asked for cannot be: the record contradicts the log.
    #[error("record `{id}` cannot be appended: {reason}")]
    Invalid {
        /// Id of the record.
        id: EntryId,
        /// What contradicts what.
        reason: String,
    },
    /// Something stored is damaged. What is intact can still be read, page by page.
    #[error("{what} is damaged at {place}; {advice}")]
    Corrupt {
        /// What is damaged and how.
        what: String,
        /// Where.
        place: String,
        /// What to do.
        advice: String,
    },
    /// No room is left on the disk, or in the size that the store may have.
    #[error("the store is full ({detail}); nothing of this was written, everything before it is safe; make room")]
    Full {
        /// The words of the storage.
        detail: String,
    },
    /// A newer program wrote the store.
    #[error("the store has schema {found}, this program knows up to {known}; use the newer program that wrote it")]
    NewerSchema {
        /// The schema of the store.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// The file is something else.
    #[error("`{place}` is not a store: {reason}")]
    NotAStore {
        /// The file.
        place: String,
        /// What it is instead.
        reason: String,
    },
    /// A key or value is longer than the store takes.
    #[error("{what} has {found} bytes, at most {limit} are taken")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size, in bytes.
        found: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The storage failed.
    #[error("{doing} failed: {reason}")]
    Io {
        /// What was being done.
        doing: String,
        /// The words of the storage.
        reason: String,
    },
}

fn name(id: Option<&EntryId>) -> String {
    id.map_or("none".to_owned(), |id| format!("`{id}`"))
}

impl StoreError {
    /// There is no session of this name or key.
    pub fn no_session(name: &(impl ToString + ?Sized)) -> Self {
        Self::NotFound { what: "session", name: name.to_string() }
    }

    /// There is no record of this id.
    pub fn no_record(id: &EntryId) -> Self {
        Self::NotFound { what: "record", name: id.to_string() }
    }

    /// A record that cannot be read.
    pub fn damaged_record(seq: Seq, what: impl Into<String>) -> Self {
        Self::Corrupt {
            what: what.into(),
            place: format!("record {seq}"),
            advice: "the records around it can be read; restore this one from a copy of the store".to_owned(),
        }
    }
}
