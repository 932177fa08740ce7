//! Where sessions are kept: an append-only log each, from which nothing is ever taken away.
//!
//! A log is a sequence of records. Entries form a tree by their parents; one branch of it is in use, and its last entry
//! is the leaf. Every entry is appended at the leaf and becomes it. All other records say something about the tree and
//! leave the branch as it is, except [`LogBody::Leaf`], which switches to another one. What the model sees is decided by
//! the newest compaction in force: its [`CompactionCommit::context`], and everything appended after what it covers.
//!
//! What every [`Store`] promises:
//!
//! - What was acknowledged is there, whatever happens to the process. A batch is there whole or not at all, and so is
//!   a compaction.
//! - Appending costs the same at any length of the log: the digest of the branch is chained, not computed anew.
//! - An entry that does not follow the leaf is refused as [`StoreError::Stale`]. So two programs that append to one
//!   session cannot weave two conversations into one without noticing.
//! - A compaction is committed by compare-and-swap: under a live lease, built on the compaction that is in force, and
//!   speaking of a part of the branch that is still what it was. What was appended behind that part meanwhile is kept.
//! - Damage is named where it is, and what is intact can still be read.
//! - Everything ever said can be searched. Indexing is done apart from appending and can be done anew.
//!
//! [`MemoryStore`] is for agents that keep their own transcript, and for tests; `SqliteStore` is one file. A store of
//! one's own implements [`Store`] with the help of [`rules`] and [`recall`], and passes the tests of `conformance`
//! (feature `store-conformance`).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

#[cfg(feature = "store-conformance")]
pub mod conformance;
mod error;
mod lease;
mod memory;
pub mod recall;
mod record;
pub mod rules;
mod session;
#[cfg(feature = "sqlite")]
mod sqlite;
mod state;

pub use error::StoreError;
pub use lease::{Clock, Lease, LeaseState, SystemClock};
pub use memory::MemoryStore;
pub use recall::{Found, Hit, Indexed, Search};
pub use record::{
    BranchSummary, CompactionCommit, ContextItem, Covered, DroppedEntries, Label, Leaf, LogBody, LogRecord, NewRecord,
    PassedOver, RecordKind, Seq, StoredEntry, Undo,
};
pub use session::{Appended, CheckReport, Head, NewSession, Original, Page, Records, SessionInfo, SessionKey};
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteOptions, SqliteStore, Work};
pub use state::{StateLimits, StateScope};

use crate::transcript::{EntryId, Timestamp};

/// The answer of a store, to be awaited. Nothing is done before it is polled; one that is dropped after that may still
/// be carried out.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A place where sessions are kept. See the [module](self) for what it promises.
///
/// Object-safe: programs hold an `Arc<dyn Store>`. Every method may fail with [`StoreError::Io`], [`StoreError::Full`]
/// (if it writes), [`StoreError::Locked`] and [`StoreError::Corrupt`]; those that take a session with
/// [`StoreError::NotFound`]. What else can go wrong is said at each.
pub trait Store: fmt::Debug + Send + Sync {
    /// Makes a session. [`StoreError::Exists`] if the name is taken.
    fn create(&self, session: NewSession) -> StoreFuture<'_, SessionInfo>;

    /// Finds a session by its name. Costs the same, however long its log is.
    fn open<'a>(&'a self, name: &'a str) -> StoreFuture<'a, SessionInfo>;

    /// All sessions, in the order of their names.
    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>>;

    /// Deletes a session with all that belongs to it. [`StoreError::Busy`] while somebody holds its lease.
    fn delete(&self, session: SessionKey) -> StoreFuture<'_, ()>;

    /// The file that a session was read from, if it was.
    fn original(&self, session: SessionKey) -> StoreFuture<'_, Option<Original>>;

    /// Where a session stands.
    fn head(&self, session: SessionKey) -> StoreFuture<'_, Head>;

    /// Appends records, all of them or none. They are durable when this returns.
    ///
    /// [`StoreError::Stale`] if an entry does not follow the leaf as it is then, [`StoreError::Exists`] if an id is
    /// taken, [`StoreError::Superseded`] if an [`Undo`] is not of the compaction in force, [`StoreError::Invalid`] if a
    /// record names what is not there, and for a compaction, which is written by [`Store::commit`].
    fn append(&self, session: SessionKey, records: Vec<NewRecord>) -> StoreFuture<'_, Appended>;

    /// Records by number, at most `limit`.
    fn page(&self, session: SessionKey, page: Page, limit: u32) -> StoreFuture<'_, Records>;

    /// The branch that ends with an entry: that entry, its parent and so on towards the root, at most `limit`. `next`
    /// is not set: the next part starts at the parent of the last one.
    fn branch<'a>(&'a self, session: SessionKey, leaf: &'a EntryId, limit: u32) -> StoreFuture<'a, Records>;

    /// One record by its id. [`StoreError::NotFound`] if there is none.
    fn record<'a>(&'a self, session: SessionKey, id: &'a EntryId) -> StoreFuture<'a, LogRecord>;

    /// Many records by their ids, in the order asked; `next` is not set. Where there is none of an id, or it is damaged,
    /// the error stands in its place.
    fn records(&self, session: SessionKey, ids: Vec<EntryId>) -> StoreFuture<'_, Records>;

    /// Commits a compaction: it is in force when this returns.
    ///
    /// In this order: [`StoreError::LeaseExpired`] if its token is not that of a live lease of the session;
    /// [`StoreError::Superseded`] if another compaction than the one it was built on is in force;
    /// [`StoreError::Exists`] if the id is taken; [`StoreError::Stale`] if the branch in use does not hold what it
    /// covers, with the same digest; [`StoreError::Invalid`] if it covers less than the one it is built on.
    fn commit(
        &self,
        session: SessionKey,
        id: EntryId,
        at: Timestamp,
        commit: CompactionCommit,
    ) -> StoreFuture<'_, LogRecord>;

    /// Acquires the lease of a session for a while. [`StoreError::Busy`] while anybody holds it, the caller included.
    fn acquire<'a>(&'a self, session: SessionKey, holder: &'a str, ttl: Duration) -> StoreFuture<'a, Lease>;

    /// Prolongs a lease, from now. [`StoreError::LeaseExpired`] if it is not live any more.
    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> StoreFuture<'a, Lease>;

    /// Gives a lease back. One that is not live any more is given back already.
    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()>;

    /// What a plugin keeps under a key.
    fn state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// Lets a plugin keep something, in place of what it kept under that key. [`StoreError::TooLarge`] beyond the
    /// store's [`StateLimits`].
    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        scope: StateScope,
        key: &'a str,
        value: &'a [u8],
    ) -> StoreFuture<'a, ()>;

    /// Forgets what a plugin keeps under a key; not an error if there is nothing.
    fn delete_state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, ()>;

    /// Keys of a plugin that begin with `prefix`, in the order of their bytes.
    fn state_keys<'a>(&'a self, plugin: &'a str, scope: StateScope, prefix: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// Brings at most `limit` records into the index of [`Store::search`], of any session, in small steps between
    /// which others can append.
    fn index_pending(&self, limit: u32) -> StoreFuture<'_, Indexed>;

    /// Throws the index away, to be made anew by [`Store::index_pending`].
    fn reset_index(&self) -> StoreFuture<'_, ()>;

    /// The entries that hold the words, best first; also those that no branch and no context holds any more. Indexes
    /// what is pending first, within a bound.
    fn search(&self, search: Search) -> StoreFuture<'_, Found>;

    /// Reads a whole session and checks it: every record, the digests along the chain, the head, and the storage
    /// itself. Damage is reported, not an error.
    fn check(&self, session: SessionKey) -> StoreFuture<'_, CheckReport>;
}
