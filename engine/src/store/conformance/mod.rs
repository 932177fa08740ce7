//! The tests that every store must pass; a store of one's own runs them, too.
//!
//! ```
//! use std::sync::Arc;
//! use contextengine::store::{MemoryStore, Store, conformance};
//!
//! # fn main() -> std::io::Result<()> {
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     for case in conformance::cases() {
//!         let clock = Arc::new(conformance::ManualClock::default());
//!         let store: Arc<dyn Store> = Arc::new(MemoryStore::with_clock(clock.clone()));
//!         case.run(store, clock).await;
//!     }
//! });
//! # Ok(()) }
//! ```
//!
//! Each case gets a new, empty store that expires leases by the clock given, and has the default [`StateLimits`]. A
//! case that fails panics and says what it expected. What only a store itself can test is left to it: what a killed
//! process, a full disk or a damaged file does.
//!
//! [`StateLimits`]: super::StateLimits
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

mod commit;
mod leases;
mod log;
mod recall;
mod sessions;
mod state;

use super::{
    Clock, CompactionCommit, ContextItem, Covered, Head, Lease, LogBody, NewRecord, NewSession, SessionKey, Store,
    StoreError, StoredEntry,
};
use crate::hooks::Trigger;
use crate::transcript::{Entry, EntryId, EntryKind, Timestamp};

/// A clock that goes when it is told to.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    /// Stands at some day in 2026.
    fn default() -> Self {
        Self(AtomicI64::new(1_790_000_000_000))
    }
}

impl ManualClock {
    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

type CaseFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One behaviour that every store must show.
#[derive(Clone, Copy)]
pub struct Case {
    /// The behaviour, as a sentence.
    pub name: &'static str,
    body: fn(Fixture) -> CaseFuture,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name, f)
    }
}

impl Case {
    /// Runs the case on a new, empty store that expires leases by `clock`.
    ///
    /// # Panics
    ///
    /// If the store behaves differently.
    pub async fn run(&self, store: Arc<dyn Store>, clock: Arc<ManualClock>) {
        (self.body)(Fixture { store, clock }).await;
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    [sessions::CASES, log::CASES, commit::CASES, leases::CASES, state::CASES, recall::CASES].concat()
}

/// What a case works on.
#[derive(Debug, Clone)]
struct Fixture {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
}

const TTL: Duration = Duration::from_secs(60);

impl Fixture {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn session(&self, name: &str) -> SessionKey {
        self.store.create(NewSession::named(name)).await.unwrap().key
    }

    async fn head(&self, session: SessionKey) -> Head {
        self.store.head(session).await.unwrap()
    }

    /// A record of a user's words after `parent`.
    fn says(&self, id: &str, parent: Option<&str>, text: &str) -> NewRecord {
        let mut entry = Entry::text(id, EntryKind::User, text);
        entry.parent = parent.map(EntryId::new);
        NewRecord::entry(&entry, self.now())
    }

    /// A record that is no entry.
    fn other(&self, id: &str, body: LogBody) -> NewRecord {
        NewRecord::new(id, self.now(), body)
    }

    /// Appends `e1`, `e2` and so on, each after the one before, behind what is there.
    async fn fill(&self, session: SessionKey, count: u64) {
        let head = self.head(session).await;
        let mut parent = head.leaf.map(|leaf| leaf.to_string());
        let mut records = Vec::new();
        for number in head.last_seq.0 + 1..=head.last_seq.0 + count {
            let id = format!("e{number}");
            records.push(self.says(&id, parent.as_deref(), &format!("entry number {number}")));
            parent = Some(id);
        }
        self.store.append(session, records).await.unwrap();
    }

    async fn lease(&self, session: SessionKey) -> Lease {
        self.store.acquire(session, "tester", TTL).await.unwrap()
    }

    /// A compaction of the whole branch as it is now.
    async fn compaction(&self, session: SessionKey, lease: &Lease) -> CompactionCommit {
        let head = self.head(session).await;
        let through = head.leaf.unwrap();
        let mut summary = Entry::text("s", EntryKind::Summary, "what was said so far");
        summary.replaces = vec![Arc::new(Entry::text("e1", EntryKind::User, "gone"))];
        CompactionCommit {
            owner: "tester".to_owned(),
            owner_version: "1.0.0".to_owned(),
            component_hash: "00".repeat(32),
            passed_over: Vec::new(),
            trigger: Trigger::PreTurn,
            covered: Covered { through: through.clone(), digest: head.digest, entries: head.depth },
            previous: head.compaction,
            context: vec![
                ContextItem::Written { id: summary.id.clone(), entry: StoredEntry::from(&summary), reason: None },
                ContextItem::Kept(vec![through]),
            ],
            dropped: Vec::new(),
            tokens_before: 100,
            tokens_after: 10,
            details: Some(r#"{"a":1}"#.to_owned()),
            duration_ms: 5,
            model_calls: 1,
            corrections: vec!["split-group at 3".to_owned()],
            fencing_token: lease.token,
        }
    }

    async fn commit(&self, session: SessionKey, id: &str, commit: CompactionCommit) -> Result<(), StoreError> {
        self.store.commit(session, EntryId::new(id), self.now(), commit).await.map(drop)
    }
}

fn ids<'a>(records: impl IntoIterator<Item = &'a super::LogRecord>) -> Vec<&'a str> {
    records.into_iter().map(|record| record.id.as_str()).collect()
}
