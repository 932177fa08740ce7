//! A store in one SQLite file.
//!
//! SQLite runs with a write-ahead log, so that reading and writing do not wait for each other, and many processes can
//! share the file. Every change is one transaction. All of it happens on threads for blocking work of the tokio
//! runtime that polls the future, of either kind.
//!
//! **Durability.** With [`Durability::Power`], the default, the log is synced before an append returns: what was
//! acknowledged survives the loss of power. With [`Durability::Process`] it is handed to the operating system: what was
//! acknowledged survives the end of the process by any means; a loss of power can take the newest appends, never one
//! out of the middle, and leaves no half. Syncing is nearly all that an append costs, so the second is for importing
//! large sessions.
//!
//! **Damage.** SQLite has no checksums, so each record has one. A record that is not what was written is named and
//! skipped; the others are read one by one, so that a broken page hides only what is on it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::Handle;

mod db;
mod log;
mod recall;
mod schema;
mod sessions;

pub use db::Work;
use db::{Db, Failure, WorkCounter};

use super::{
    Appended, CheckReport, Clock, CompactionCommit, Found, Head, Indexed, Lease, LogRecord, NewRecord, NewSession,
    Original, Page, Records, Search, SessionInfo, SessionKey, StateLimits, StateScope, Store, StoreError, StoreFuture,
    SystemClock,
};
use crate::transcript::{EntryId, Timestamp};

/// What an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// The end of the process at any instant, by any means.
    Process,
    /// The loss of power, too.
    #[default]
    Power,
}

/// How a file is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What an append survives; [`Durability::Power`] by default.
    pub durability: Durability,
    /// How long to wait for another process that writes; 5 seconds by default. Writes take milliseconds.
    pub lock_wait: Duration,
    /// Most bytes that the file may have; no limit by default.
    pub max_bytes: Option<u64>,
    /// How much plugins may keep.
    pub state_limits: StateLimits,
    /// The clock by which leases expire; that of the system by default.
    pub clock: Arc<dyn Clock>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            lock_wait: Duration::from_secs(5),
            max_bytes: None,
            state_limits: StateLimits::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl SqliteOptions {
    /// What an append survives.
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long to wait for another process that writes.
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Most bytes that the file may have.
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// How much plugins may keep.
    pub fn with_state_limits(mut self, limits: StateLimits) -> Self {
        self.state_limits = limits;
        self
    }

    /// The clock by which leases expire.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

/// Most records that a search indexes before it looks: about a third of a second.
const SEARCH_INDEXES: u64 = 1_000;

/// Sessions in one SQLite file. A clone is another handle to the same connections.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    place: String,
    options: SqliteOptions,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// Threads that wait for the writer: indexing lets them go first.
    waiting: AtomicU32,
    work: WorkCounter,
}

impl SqliteStore {
    /// Opens a file, makes it if there is none, and brings it to the schema of this version.
    ///
    /// # Errors
    ///
    /// [`StoreError::NewerSchema`] if a newer program wrote it, [`StoreError::NotAStore`] if it is something else, and
    /// what else can go wrong with a file.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        blocking("opening the store", move || {
            let place = path.display().to_string();
            let wait = options.lock_wait;
            let failed = |failure: Failure| failure.explain("opening the store", &path.display().to_string(), wait);
            let writer = Mutex::new(schema::open(&path, &options).map_err(failed)?);
            let reader = Mutex::new(schema::connect(&path, &options).map_err(failed)?);
            let (waiting, work) = (AtomicU32::new(0), WorkCounter::default());
            Ok(Self { shared: Arc::new(Shared { path, place, options, writer, reader, waiting, work }) })
        })
        .await
    }

    /// How much work was done since the file was opened.
    pub fn work(&self) -> Work {
        self.shared.work.read()
    }

    fn read<'a, T: Send + 'static>(
        &'a self,
        doing: &'static str,
        work: impl FnOnce(&Db<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking(doing, move || shared.read(doing, work)))
    }

    fn write<'a, T: Send + 'static>(
        &'a self,
        doing: &'static str,
        work: impl FnOnce(&Db<'_>, &Shared) -> Result<T, Failure> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking(doing, move || shared.write(doing, work)))
    }
}

/// Runs work where it may block.
async fn blocking<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let failed = |reason: String| StoreError::Io { doing: doing.to_owned(), reason };
    let runtime = Handle::try_current()
        .map_err(|_| failed("the SQLite store needs a tokio runtime; await it within one".to_owned()))?;
    runtime.spawn_blocking(work).await.unwrap_or_else(|error| Err(failed(error.to_string())))
}

impl Shared {
    /// A piece of work that was interrupted by a panic was rolled back, so a poisoned lock is as good as any.
    fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
        connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn explain(&self, failure: impl Into<Failure>, doing: &str) -> StoreError {
        failure.into().explain(doing, &self.place, self.options.lock_wait)
    }

    /// All that is read within sees the same state of the file.
    fn read<T>(&self, doing: &str, work: impl FnOnce(&Db<'_>) -> Result<T, Failure>) -> Result<T, StoreError> {
        let conn = Self::lock(&self.reader);
        let result = (|| {
            let transaction = conn.unchecked_transaction()?;
            let value = work(&Db { conn: &transaction, work: &self.work, place: &self.place })?;
            transaction.finish()?;
            Ok(value)
        })();
        result.map_err(|failure: Failure| self.explain(failure, doing))
    }

    /// All that is written within is there in the end, or nothing of it.
    fn write<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Db<'_>, &Shared) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut conn = Self::lock(&self.writer);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.transact(&mut conn, work).map_err(|failure| self.explain(failure, doing))
    }

    fn transact<T>(
        &self,
        conn: &mut Connection,
        work: impl FnOnce(&Db<'_>, &Shared) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Immediate: what was read under the lock is still true when it is written.
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&Db { conn: &transaction, work: &self.work, place: &self.place }, self)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Steps of indexing until `limit` records are done or none is left.
    fn index(&self, session: Option<SessionKey>, limit: u64) -> Result<u64, StoreError> {
        let mut done = 0;
        while done < limit {
            let Some(mut batch) = self.read("indexing", |db| db.next_batch(session, limit - done))? else { break };
            batch.cut();
            while self.waiting.load(Ordering::SeqCst) > 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
            let mut conn = Self::lock(&self.writer);
            let written = self.transact(&mut conn, |db, _| db.write_batch(&batch));
            written.map_err(|failure| self.explain(failure, "indexing"))?;
            done += batch.len();
        }
        Ok(done)
    }

    fn search(&self, search: &Search) -> Result<Found, StoreError> {
        // Nothing pending is the rule; then nothing is locked. Another process that writes is no reason to fail.
        if self.read("searching", |db| db.pending(search.session))? > 0 {
            match self.index(search.session, SEARCH_INDEXES) {
                Ok(_) | Err(StoreError::Locked { .. } | StoreError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.read("searching", |db| db.search(search))
    }

    /// On a connection of its own: it takes seconds for a large file.
    fn check(&self, session: SessionKey) -> Result<CheckReport, StoreError> {
        let doing = "checking a session";
        let conn = schema::connect(&self.path, &self.options).map_err(|failure| self.explain(failure, doing))?;
        let db = Db { conn: &conn, work: &self.work, place: &self.place };
        let mut report = db.check_log(session).map_err(|failure| self.explain(failure, doing))?;
        if let Err(failure) = db.original(session) {
            report.damage.push(self.explain(failure, doing));
        }
        match db.rows("PRAGMA integrity_check(20)", [], |row| row.get::<_, String>(0)) {
            Ok(findings) => {
                let findings = findings.into_iter().filter(|finding| finding != "ok");
                report.damage.extend(findings.map(|what| StoreError::Corrupt {
                    what,
                    place: self.place.clone(),
                    advice: "copy the sessions that are sound to a new store".to_owned(),
                }));
            }
            Err(error) => report.damage.push(self.explain(error, doing)),
        }
        Ok(report)
    }
}

impl Store for SqliteStore {
    fn create(&self, session: NewSession) -> StoreFuture<'_, SessionInfo> {
        self.write("making a session", move |db, shared| db.create(session, shared.options.clock.now()))
    }

    fn open<'a>(&'a self, name: &'a str) -> StoreFuture<'a, SessionInfo> {
        let name = name.to_owned();
        self.read("opening a session", move |db| db.open(&name))
    }

    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method by itself is not general over lifetimes")]
    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.read("listing the sessions", |db| db.list())
    }

    fn delete(&self, session: SessionKey) -> StoreFuture<'_, ()> {
        self.write("deleting a session", move |db, shared| db.delete(session, shared.options.clock.now()))
    }

    fn original(&self, session: SessionKey) -> StoreFuture<'_, Option<Original>> {
        self.read("reading the original of a session", move |db| db.original(session))
    }

    fn head(&self, session: SessionKey) -> StoreFuture<'_, Head> {
        self.read("reading the head of a session", move |db| db.head(session))
    }

    fn append(&self, session: SessionKey, records: Vec<NewRecord>) -> StoreFuture<'_, Appended> {
        self.write("appending", move |db, _| db.append(session, records))
    }

    fn page(&self, session: SessionKey, page: Page, limit: u32) -> StoreFuture<'_, Records> {
        self.read("reading a log", move |db| db.page(session, page, limit))
    }

    fn branch<'a>(&'a self, session: SessionKey, leaf: &'a EntryId, limit: u32) -> StoreFuture<'a, Records> {
        let leaf = leaf.clone();
        self.read("reading a branch", move |db| db.branch(session, &leaf, limit))
    }

    fn record<'a>(&'a self, session: SessionKey, id: &'a EntryId) -> StoreFuture<'a, LogRecord> {
        let id = id.clone();
        self.read("reading a record", move |db| db.record(session, &id))
    }

    fn records(&self, session: SessionKey, ids: Vec<EntryId>) -> StoreFuture<'_, Records> {
        self.read("reading records", move |db| db.records(session, &ids))
    }

    fn commit(
        &self,
        session: SessionKey,
        id: EntryId,
        at: Timestamp,
        commit: CompactionCommit,
    ) -> StoreFuture<'_, LogRecord> {
        self.write("committing a compaction", move |db, shared| {
            db.commit(session, (id, at), commit, shared.options.clock.now())
        })
    }

    fn acquire<'a>(&'a self, session: SessionKey, holder: &'a str, ttl: Duration) -> StoreFuture<'a, Lease> {
        let holder = holder.to_owned();
        self.write("acquiring a lease", move |db, shared| {
            let mut state = db.lease(session)?;
            let lease = state.acquire(session, &holder, ttl, shared.options.clock.now())?;
            db.set_lease(session, &state)?;
            Ok(lease)
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> StoreFuture<'a, Lease> {
        let lease = lease.clone();
        self.write("renewing a lease", move |db, shared| {
            let mut state = db.lease(lease.session)?;
            let renewed = state.renew(&lease, ttl, shared.options.clock.now())?;
            db.set_lease(lease.session, &state)?;
            Ok(renewed)
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        let lease = lease.clone();
        self.write("releasing a lease", move |db, _| {
            let mut state = db.lease(lease.session)?;
            state.release(&lease);
            db.set_lease(lease.session, &state)
        })
    }

    fn state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        let (plugin, key) = (plugin.to_owned(), key.to_owned());
        self.read("reading plugin state", move |db| db.state(&plugin, db.shelf(scope)?, &key))
    }

    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        scope: StateScope,
        key: &'a str,
        value: &'a [u8],
    ) -> StoreFuture<'a, ()> {
        let (plugin, key, value) = (plugin.to_owned(), key.to_owned(), value.to_vec());
        self.write("writing plugin state", move |db, shared| {
            db.set_state(&plugin, db.shelf(scope)?, (&key, &value), &shared.options.state_limits)
        })
    }

    fn delete_state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, ()> {
        let (plugin, key) = (plugin.to_owned(), key.to_owned());
        self.write("deleting plugin state", move |db, _| db.delete_state(&plugin, db.shelf(scope)?, &key))
    }

    fn state_keys<'a>(&'a self, plugin: &'a str, scope: StateScope, prefix: &'a str) -> StoreFuture<'a, Vec<String>> {
        let (plugin, prefix) = (plugin.to_owned(), prefix.to_owned());
        self.read("reading plugin state", move |db| db.state_keys(&plugin, db.shelf(scope)?, &prefix))
    }

    fn index_pending(&self, limit: u32) -> StoreFuture<'_, Indexed> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking("indexing", move || {
            let done = shared.index(None, u64::from(limit))?;
            let pending = shared.read("indexing", |db| db.pending(None))?;
            Ok(Indexed { done, pending })
        }))
    }

    fn reset_index(&self) -> StoreFuture<'_, ()> {
        self.write("resetting the index", |db, _| db.reset_index())
    }

    fn search(&self, search: Search) -> StoreFuture<'_, Found> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking("searching", move || shared.search(&search)))
    }

    fn check(&self, session: SessionKey) -> StoreFuture<'_, CheckReport> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking("checking a session", move || shared.check(session)))
    }
}
