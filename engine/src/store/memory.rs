//! A store in memory: for agents that keep their own transcript, and for tests. Gone with the process.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::lease::LeaseState;
use super::recall::{self, Query, Scorer};
use super::rules::{self, Log, Node};
use super::{
    Appended, CheckReport, Clock, CompactionCommit, Found, Head, Hit, Indexed, Lease, LogBody, LogRecord, NewRecord,
    NewSession, Original, Page, Records, Search, Seq, SessionInfo, SessionKey, StateLimits, StateScope, Store,
    StoreError, StoreFuture, SystemClock,
};
use crate::transcript::{EntryId, Timestamp};

/// A store in memory. Searching reads all texts each time.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    limits: StateLimits,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The key that was given out last.
    last_key: u64,
    sessions: BTreeMap<SessionKey, Session>,
    by_name: BTreeMap<String, SessionKey>,
    state: BTreeMap<(Option<SessionKey>, String), BTreeMap<String, Vec<u8>>>,
}

#[derive(Debug)]
struct Session {
    info: SessionInfo,
    original: Option<Original>,
    records: Vec<LogRecord>,
    by_id: HashMap<EntryId, usize>,
    lease: LeaseState,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store, with the clock of the system.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store whose leases expire by this clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, limits: StateLimits::default(), inner: Mutex::default() }
    }

    /// Other limits of what plugins may keep.
    pub fn with_state_limits(mut self, limits: StateLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Nothing that runs under the lock can leave the data half changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something when it is polled.
    fn run<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&mut Inner) -> Result<T, StoreError> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move { work(&mut self.lock()) })
    }
}

impl Inner {
    fn session(&mut self, key: SessionKey) -> Result<&mut Session, StoreError> {
        self.sessions.get_mut(&key).ok_or_else(|| StoreError::no_session(&key))
    }

    /// The shelf of a plugin. A session's state needs the session.
    fn shelf(&mut self, plugin: &str, scope: StateScope) -> Result<&mut BTreeMap<String, Vec<u8>>, StoreError> {
        let session = match scope {
            StateScope::Session(key) => Some(self.session(key)?.info.key),
            StateScope::Shared => None,
        };
        Ok(self.state.entry((session, plugin.to_owned())).or_default())
    }
}

impl Log for Session {
    fn node(&self, id: &EntryId) -> Result<Option<Node>, StoreError> {
        Ok(self.record(id).map(Node::from))
    }

    fn compaction(&self, id: &EntryId) -> Result<CompactionCommit, StoreError> {
        match self.record(id).map(|record| &record.body) {
            Some(LogBody::Compaction(commit)) => Ok((**commit).clone()),
            _ => Err(StoreError::no_record(id)),
        }
    }
}

impl Session {
    fn record(&self, id: &EntryId) -> Option<&LogRecord> {
        self.records.get(*self.by_id.get(id)?)
    }

    fn numbered(&self, seq: Seq) -> Option<&LogRecord> {
        self.records.get(usize::try_from(seq.0.checked_sub(1)?).ok()?)
    }

    fn extend(&mut self, records: impl IntoIterator<Item = LogRecord>) {
        for record in records {
            self.by_id.insert(record.id.clone(), self.records.len());
            self.records.push(record);
        }
    }

    fn check(&self) -> CheckReport {
        let node = |id: Option<&EntryId>| id.and_then(|id| self.record(id)).map(Node::from);
        let damage = self.records.iter().filter_map(|record| {
            let switched = match &record.body {
                LogBody::Leaf(leaf) => node(leaf.to.as_ref()),
                _ => None,
            };
            rules::check_record(record, node(record.parent.as_ref()).as_ref(), switched.as_ref())
        });
        CheckReport { records: self.records.len() as u64, damage: damage.collect() }
    }
}

impl Store for MemoryStore {
    fn create(&self, new: NewSession) -> StoreFuture<'_, SessionInfo> {
        let created = self.clock.now();
        self.run(move |inner| {
            if inner.by_name.contains_key(&new.name) {
                return Err(StoreError::Exists { what: "session", name: new.name });
            }
            inner.last_key += 1;
            let key = SessionKey(inner.last_key);
            let NewSession { name, format, working_dir, title, original } = new;
            inner.by_name.insert(name.clone(), key);
            let info = SessionInfo { key, name, created, format, working_dir, title, head: Head::empty() };
            let session = Session {
                info: info.clone(),
                original,
                records: Vec::new(),
                by_id: HashMap::new(),
                lease: LeaseState::default(),
            };
            inner.sessions.insert(key, session);
            Ok(info)
        })
    }

    fn open<'a>(&'a self, name: &'a str) -> StoreFuture<'a, SessionInfo> {
        self.run(move |inner| {
            let key = *inner.by_name.get(name).ok_or_else(|| StoreError::no_session(name))?;
            Ok(inner.session(key)?.info.clone())
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(|inner| {
            let found = inner.by_name.values().filter_map(|key| inner.sessions.get(key));
            Ok(found.map(|session| session.info.clone()).collect())
        })
    }

    fn delete(&self, key: SessionKey) -> StoreFuture<'_, ()> {
        self.run(move |inner| {
            let session = inner.session(key)?;
            session.lease.must_be_free(self.clock.now())?;
            let name = session.info.name.clone();
            inner.by_name.remove(&name);
            inner.sessions.remove(&key);
            inner.state.retain(|(session, _), _| *session != Some(key));
            Ok(())
        })
    }

    fn original(&self, key: SessionKey) -> StoreFuture<'_, Option<Original>> {
        self.run(move |inner| Ok(inner.session(key)?.original.clone()))
    }

    fn head(&self, key: SessionKey) -> StoreFuture<'_, Head> {
        self.run(move |inner| Ok(inner.session(key)?.info.head.clone()))
    }

    fn append(&self, key: SessionKey, records: Vec<NewRecord>) -> StoreFuture<'_, Appended> {
        self.run(move |inner| {
            let session = inner.session(key)?;
            let (records, appended) = rules::append(session.info.head.clone(), records, &*session)?;
            session.extend(records);
            session.info.head = appended.head.clone();
            Ok(appended)
        })
    }

    fn page(&self, key: SessionKey, page: Page, limit: u32) -> StoreFuture<'_, Records> {
        self.run(move |inner| {
            let session = inner.session(key)?;
            let (numbers, next) = rules::page_bounds(page, limit, session.info.head.last_seq);
            let records = numbers.into_iter().filter_map(|seq| session.numbered(seq).cloned().map(Ok)).collect();
            Ok(Records { records, next })
        })
    }

    fn branch<'a>(&'a self, key: SessionKey, leaf: &'a EntryId, limit: u32) -> StoreFuture<'a, Records> {
        self.run(move |inner| {
            let session = inner.session(key)?;
            let first = session.record(leaf).ok_or_else(|| StoreError::no_record(leaf))?;
            let up = |record: &&LogRecord| session.record(record.parent.as_ref()?);
            let branch = std::iter::successors(Some(first), up).take(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(Records { records: branch.cloned().map(Ok).collect(), next: None })
        })
    }

    fn record<'a>(&'a self, key: SessionKey, id: &'a EntryId) -> StoreFuture<'a, LogRecord> {
        self.run(move |inner| inner.session(key)?.record(id).cloned().ok_or_else(|| StoreError::no_record(id)))
    }

    fn records(&self, key: SessionKey, ids: Vec<EntryId>) -> StoreFuture<'_, Records> {
        self.run(move |inner| {
            let session = inner.session(key)?;
            let find = |id: &EntryId| session.record(id).cloned().ok_or_else(|| StoreError::no_record(id));
            Ok(Records { records: ids.iter().map(find).collect(), next: None })
        })
    }

    fn commit(
        &self,
        key: SessionKey,
        id: EntryId,
        at: Timestamp,
        commit: CompactionCommit,
    ) -> StoreFuture<'_, LogRecord> {
        self.run(move |inner| {
            let now = self.clock.now();
            let session = inner.session(key)?;
            let head = session.info.head.clone();
            let (record, head) = rules::commit(head, &session.lease, now, (id, at), commit, &*session)?;
            session.extend([record.clone()]);
            session.info.head = head;
            Ok(record)
        })
    }

    fn acquire<'a>(&'a self, key: SessionKey, holder: &'a str, ttl: Duration) -> StoreFuture<'a, Lease> {
        self.run(move |inner| inner.session(key)?.lease.acquire(key, holder, ttl, self.clock.now()))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> StoreFuture<'a, Lease> {
        self.run(move |inner| inner.session(lease.session)?.lease.renew(lease, ttl, self.clock.now()))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        self.run(move |inner| {
            inner.session(lease.session)?.lease.release(lease);
            Ok(())
        })
    }

    fn state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        self.run(move |inner| Ok(inner.shelf(plugin, scope)?.get(key).cloned()))
    }

    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        scope: StateScope,
        key: &'a str,
        value: &'a [u8],
    ) -> StoreFuture<'a, ()> {
        self.run(move |inner| {
            self.limits.check_pair(key, value)?;
            let shelf = inner.shelf(plugin, scope)?;
            let others = shelf.iter().filter(|(other, _)| other.as_str() != key);
            let others: u64 = others.map(|(other, value)| (other.len() + value.len()) as u64).sum();
            self.limits.check_total(plugin, others + (key.len() + value.len()) as u64)?;
            shelf.insert(key.to_owned(), value.to_vec());
            Ok(())
        })
    }

    fn delete_state<'a>(&'a self, plugin: &'a str, scope: StateScope, key: &'a str) -> StoreFuture<'a, ()> {
        self.run(move |inner| {
            inner.shelf(plugin, scope)?.remove(key);
            Ok(())
        })
    }

    fn state_keys<'a>(&'a self, plugin: &'a str, scope: StateScope, prefix: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.run(move |inner| {
            let from = (Bound::Included(prefix.to_owned()), Bound::Unbounded);
            let keys = inner.shelf(plugin, scope)?.range(from).map(|(key, _)| key);
            Ok(keys.take_while(|key| key.starts_with(prefix)).cloned().collect())
        })
    }

    /// There is no index.
    fn index_pending(&self, _limit: u32) -> StoreFuture<'_, Indexed> {
        self.run(|_| Ok(Indexed::default()))
    }

    /// There is no index.
    fn reset_index(&self) -> StoreFuture<'_, ()> {
        self.run(|_| Ok(()))
    }

    fn search(&self, search: Search) -> StoreFuture<'_, Found> {
        self.run(move |inner| {
            if let Some(key) = search.session {
                inner.session(key)?;
            }
            let sessions = inner.sessions.values();
            let wanted = sessions.filter(|session| search.session.is_none_or(|key| key == session.info.key));
            let hits = scan(wanted, &search);
            Ok(Found { hits, unindexed: 0 })
        })
    }

    fn check(&self, key: SessionKey) -> StoreFuture<'_, CheckReport> {
        self.run(move |inner| Ok(inner.session(key)?.check()))
    }
}

/// A text that holds at least one of the terms.
struct Candidate<'a> {
    session: SessionKey,
    record: &'a LogRecord,
    text: String,
    words: usize,
    occurrences: Vec<u32>,
}

fn scan<'a>(sessions: impl Iterator<Item = &'a Session>, search: &Search) -> Vec<Hit> {
    let query = Query::parse(&search.text);
    let (mut texts, mut all_words, mut candidates) = (0, 0, Vec::new());
    let records = sessions.flat_map(|session| session.records.iter().map(|record| (session.info.key, record)));
    for (session, record) in records {
        let LogBody::Entry(entry) = &record.body else { continue };
        let text = recall::searchable(entry);
        let words: Vec<String> = recall::words(&text).map(|word| word.text).collect();
        texts += 1;
        all_words += words.len();
        let occurrences = recall::occurrences(&query, &words);
        if occurrences.iter().any(|&count| count > 0) {
            candidates.push(Candidate { session, record, text, words: words.len(), occurrences });
        }
    }
    let holding = |term| candidates.iter().filter(|candidate| candidate.occurrences[term] > 0).count();
    let holding: Vec<usize> = (0..query.terms.len()).map(holding).collect();
    let scorer = Scorer::new(texts, all_words, &holding);
    let holds_all = |candidate: &Candidate<'_>| candidate.occurrences.iter().all(|&count| count > 0);
    if candidates.iter().any(holds_all) {
        candidates.retain(holds_all);
    }
    let mut scored: Vec<(f32, Candidate<'_>)> = candidates
        .into_iter()
        .map(|candidate| (scorer.score(candidate.words, &candidate.occurrences), candidate))
        .collect();
    // The newer of two equals first.
    scored.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(second.record.seq.cmp(&first.record.seq)));
    scored.truncate(usize::try_from(search.limit).unwrap_or(usize::MAX));
    scored.into_iter().filter_map(|(score, candidate)| hit(&query, score, &candidate)).collect()
}

fn hit(query: &Query, score: f32, candidate: &Candidate<'_>) -> Option<Hit> {
    let LogBody::Entry(entry) = &candidate.record.body else { return None };
    let (seq, id) = (candidate.record.seq, candidate.record.id.clone());
    let snippet = recall::snippet(query, &candidate.text);
    Some(Hit { session: candidate.session, seq, id, kind: entry.kind, snippet, score })
}
